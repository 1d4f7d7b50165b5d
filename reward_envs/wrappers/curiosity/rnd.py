"""Random network distillation: a bonus for observations that a predictor has not learnt yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reward_envs.wrappers.batch import Batch, Float
from reward_envs.wrappers.core import Method, Spec
from reward_envs.wrappers.encode import features
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register
from reward_envs.wrappers.transform.normalise import ReturnScale

SMALLEST_IMAGE = 36  # pixels that the three convolutions need


class _Nets:
    """Both networks, and the running mean and variance of what they are fed (float64[D])."""

    def __init__(self, distillation: Any, space: Any, image: bool, size: int) -> None:
        self.distillation, self.space, self.image = distillation, space, image
        self.count, self.mean, self.var = 0.0, np.zeros(size), np.ones(size)

    def state_dict(self) -> dict[str, Any]:
        moments = {"count": self.count, "mean": self.mean.copy(), "var": self.var.copy()}
        return {"nets": self.distillation.state_dict(), **moments}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        self.distillation.load_state_dict(saved["nets"])
        self.count, self.mean, self.var = saved["count"], np.array(saved["mean"]), np.array(saved["var"])


@dataclass(frozen=True, repr=False)
class DistillationError(Method):
    """The raw error of RND, `mean_k (f̂_k(x) - f_k(x))²`, of the normalised successor x; `RND` scales it."""

    gradient: ClassVar[bool] = True

    width: int = 256
    outputs: int = 128
    learning_rate: float = 1e-4
    clip: float = 5.0
    device: str = "cpu"

    def init(self, spec: Spec, rng: np.random.Generator) -> _Nets:
        from reward_envs.wrappers.nets.distillation import Distillation

        space = spec.observation_space
        if space is None:
            raise RewardError("rnd builds networks: hand Spec(observation_space=...) to the runner or to relabel.")
        image = _is_image(space)
        shape = _channels_first(_one_row(space.sample())).shape[1:] if image else _width(space)
        nets = Distillation(shape, self.width, self.outputs, self.learning_rate, int(rng.integers(2**31)), self.device)
        return _Nets(nets, space, image, int(np.prod(shape)))

    def score(self, state: _Nets, carry: Any, batch: Batch) -> tuple[Float, Any]:
        if not len(batch):
            return np.zeros(0), None
        return state.distillation.errors(self._inputs(state, batch)), None

    def observe(self, state: _Nets, batch: Batch, *r: Float) -> None:
        rows, n = self._flat(state, batch).astype(np.float64), len(batch)
        if not n:
            return
        # Chan et al.'s update of mean and variance by a batch
        total, gap = state.count + n, rows.mean(axis=0) - state.mean
        state.mean = state.mean + gap * (n / total)
        state.var = (state.var * state.count + rows.var(axis=0) * n) / total + gap**2 * (state.count * n / total**2)
        state.count = total

    def learn(self, state: _Nets, batch: Batch, scores: Float) -> Mapping[str, float]:
        return {"loss": state.distillation.fit(self._inputs(state, batch))}

    def _flat(self, state: _Nets, batch: Batch) -> NDArray[np.float32]:
        if state.image:
            return _channels_first(batch.next_obs).reshape(len(batch), -1).astype(np.float32)
        return features(batch.next_obs, state.space)

    def _inputs(self, state: _Nets, batch: Batch) -> NDArray[np.float32]:
        flat = (self._flat(state, batch) - state.mean) / np.sqrt(state.var + 1e-8)
        clipped = np.clip(flat, -self.clip, self.clip).astype(np.float32)
        return clipped.reshape(len(batch), *_channels_first(batch.next_obs).shape[1:]) if state.image else clipped


@dataclass
class _Bonus:
    """Running scale of the error's returns, and the rows of training so far."""

    scale: ReturnScale
    rows: int = 0


@register(
    "rnd",
    example="rnd(width=16, outputs=8, warmup=8)",
    source="burda2019exploration",
    claims=("nonnegative",),
)
@dataclass(frozen=True, repr=False)
class RND(Method):
    """Random network distillation: the error of predicting a fixed random network, over the spread of its returns.

    `r_t = mean_k (f̂_k(x) - f_k(x))² / std(F)`, float64[N]. x is the successor `s_{t+1}`, normalised by the running mean
    and standard deviation of each of its numbers and clipped to ±5. F are the bonus's discounted returns
    `F_t = γ F_{t-1} + error_t` in each stream, which run on through the ends of episodes; std(F) includes the batch at
    hand. The first `warmup` rows pay 0 and settle both statistics. Images (uint8, at least 36 x 36) get the
    convolutions of the paper, all else an MLP on the flattened observation.

    Parameters
    ----------
    width, outputs
        Units of the hidden layers, and of what is predicted.
    learning_rate
        Of the predictor's Adam.
    gamma
        Discount of F, the paper's γ_I.
    clip
        Bound of the normalised observation.
    warmup
        Rows before the bonus is paid; the paper plays 6,400 random steps.
    device
        Where the networks live, such as "cpu" or "cuda".

    The `Schedule` says when the predictor learns; its `proportion` is the paper's share of rows used for it. In
    evaluation nothing moves. The paper's learner gives the bonus a value head of its own without episode ends; on one
    head, as here through `+`, the bonus ends with the episode.
    Raises RewardError where the observation space is unknown or a field is out of range.
    Misleads on noise that can be seen at will (a screen of static stays new for long), and with a learning rate that is
    too high: then the bonus is gone before it was followed. With `warmup=0` the first few rows are divided by the
    spread of almost nothing.

    Source: Burda, Edwards, Storkey and Klimov 2019, "Exploration by Random Network Distillation", arXiv:1810.12894,
    sections 2.2 to 2.4 and appendix A.

    >>> import gymnasium as gym, numpy as np
    >>> from reward_envs.wrappers import Batch, Rewarder, Spec
    >>> rewarder = Rewarder("rnd(warmup=0)", Spec(gym.spaces.Box(-1, 1, (2,))), seed=0)
    >>> obs = np.random.default_rng(0).uniform(-1, 1, (64, 2)).astype(np.float32)
    >>> batch = Batch.of(obs=obs, action=[0] * 64, next_obs=obs, reward=[0] * 64)
    >>> bool((rewarder.step(batch).values >= 0).all())
    True
    """

    width: int = 256
    outputs: int = 128
    learning_rate: float = 1e-4
    gamma: float = 0.99
    clip: float = 5.0
    warmup: int = 1024
    device: str = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.width, self.outputs) < 1 or self.warmup < 0 or not (self.learning_rate > 0 and self.clip > 0):
            raise RewardError(f"{self!r}: widths are at least 1, warmup at least 0, learning_rate and clip above 0.")

        if not 0.0 <= self.gamma <= 1.0:
            raise RewardError(f"{self.label}: gamma={self.gamma}; a discount lies between 0 and 1.")

    @property
    def children(self) -> tuple[Method, ...]:
        return (DistillationError(self.width, self.outputs, self.learning_rate, self.clip, self.device),)

    def init(self, spec: Spec, rng: np.random.Generator) -> _Bonus:
        return _Bonus(ReturnScale(self.gamma, count=0.0))

    def observe(self, state: _Bonus, batch: Batch, *r: Float) -> None:
        state.scale.observe(r[0], batch.stream, np.zeros(len(batch), np.bool_))

    def apply(self, state: _Bonus, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        paid = state.rows + np.arange(len(batch)) >= max(self.warmup, 0)
        if state.scale.count < 2:  # one row has no spread
            paid[:] = False
        return np.where(paid, r[0] / state.scale.scale, 0.0), None

    # Rows are counted after they were scored: `apply` must find how many came before its batch.
    def learn(self, state: _Bonus, batch: Batch, scores: Float) -> Mapping[str, float]:
        state.rows += len(batch)
        return {"scale": state.scale.scale}


def _is_image(space: Any) -> bool:
    shape = getattr(space, "shape", None) or ()
    return len(shape) == 3 and space.dtype == np.uint8 and sorted(shape)[1] >= SMALLEST_IMAGE


def _channels_first(images: NDArray[Any]) -> NDArray[Any]:
    """Images [N, channels, height, width]; the shortest of the last three axes is the channels', first or last."""
    return images if images.shape[1] <= images.shape[3] else np.moveaxis(images, 3, 1)


def _width(space: Any) -> tuple[int]:
    sample = space.sample()
    return (features(_one_row(sample), space).shape[1],)


def _one_row(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _one_row(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(_one_row(v) for v in value)
    return np.array([value], dtype=object) if isinstance(value, str) else np.asarray(value)[None]
