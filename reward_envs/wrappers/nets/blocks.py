"""Feature networks for vectors and images, and how they are made reproducibly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import nn

_T = TypeVar("_T")


def made_with(seed: int, make: Callable[[], _T]) -> _T:
    """What `make` builds under this seed; the global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def mlp(width_in: int, hidden: Sequence[int], width_out: int) -> nn.Sequential:
    """Linear layers with leaky ReLU between them, orthogonal weights (gain √2), zero biases."""
    sizes = [width_in, *hidden, width_out]
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes):
        layers += [_orthogonal(nn.Linear(a, b)), nn.LeakyReLU()]
    return nn.Sequential(*layers[:-1])


def cnn(channels: int, height: int, width: int, hidden: Sequence[int], width_out: int) -> nn.Sequential:
    """The convolutions of Mnih et al. 2015 (8/4, 4/2, 3/1), then an MLP, on images [N, channels, height, width]."""
    shapes = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
    layers: list[nn.Module] = []
    for filters, kernel, stride in shapes:
        layers += [_orthogonal(nn.Conv2d(channels, filters, kernel, stride)), nn.LeakyReLU()]
        channels, height, width = filters, (height - kernel) // stride + 1, (width - kernel) // stride + 1
    return nn.Sequential(*layers, nn.Flatten(), *mlp(channels * height * width, hidden, width_out))


def _orthogonal(layer: nn.Linear | nn.Conv2d) -> nn.Module:
    nn.init.orthogonal_(layer.weight, math.sqrt(2.0))
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
