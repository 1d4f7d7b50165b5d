"""The pair of networks behind random network distillation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from reward_envs.wrappers.nets.blocks import cnn, made_with, mlp


class Distillation:
    """A frozen random target f, a predictor of the same inputs with two more layers, and the predictor's optimiser.

    `shape` is (D,) for vectors or (channels, height, width) for images; everything lives on `device`.
    """

    def __init__(
        self, shape: tuple[int, ...], width: int, outputs: int, learning_rate: float, seed: int, device: str
    ) -> None:
        self.device = torch.device(device)

        def pair() -> tuple[nn.Module, nn.Module]:
            if len(shape) == 3:
                return cnn(*shape, [], outputs), cnn(*shape, [width, width], outputs)
            return mlp(shape[0], [width], outputs), mlp(shape[0], [width, width, width], outputs)

        target, predictor = made_with(seed, pair)
        self.target = target.to(self.device).requires_grad_(False)
        self.predictor = predictor.to(self.device)
        self.optimizer = torch.optim.Adam(self.predictor.parameters(), lr=learning_rate)

    def _errors(self, inputs: NDArray[np.float32]) -> torch.Tensor:
        x = torch.as_tensor(inputs, device=self.device)
        with torch.no_grad():
            goal = self.target(x)
        errors: torch.Tensor = (self.predictor(x) - goal).square().mean(dim=1)
        return errors

    def errors(self, inputs: NDArray[np.float32]) -> NDArray[np.float64]:
        """float64[N]: mean over the outputs of the squared difference."""
        with torch.no_grad():
            return self._errors(inputs).double().cpu().numpy()

    def fit(self, inputs: NDArray[np.float32]) -> float:
        """One gradient step on these rows; the loss before it."""
        loss = self._errors(inputs).mean()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return float(loss.detach())

    def _parts(self) -> Iterator[tuple[str, nn.Module | torch.optim.Optimizer]]:
        yield from (("target", self.target), ("predictor", self.predictor), ("optimizer", self.optimizer))

    def state_dict(self) -> dict[str, object]:
        """Weights of both networks and the optimiser's state."""
        return {name: part.state_dict() for name, part in self._parts()}

    def load_state_dict(self, saved: dict[str, object]) -> None:
        """Put saved weights in place."""
        for name, part in self._parts():
            part.load_state_dict(saved[name])  # type: ignore[arg-type]
