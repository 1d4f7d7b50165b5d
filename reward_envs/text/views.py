"""Text environments for learners of numbers: the text as a vector, and a choice among the admissible actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from reward_envs.text.encode import Encoder, NGrams

Float32 = NDArray[np.float32]


class TextToVector(gym.ObservationWrapper[Float32, Any, str]):
    """The observation as a vector, float32[size], of length 1.

    Parameters
    ----------
    env
        Its observations are texts.
    encoder
        What makes vectors of texts, by default `NGrams()`.

    >>> import gymnasium as gym, reward_envs
    >>> env = TextToVector(gym.make("reward_envs/Tools-v0"))
    >>> env.reset(seed=0)[0].shape
    (256,)
    """

    def __init__(self, env: gym.Env[str, Any], encoder: Encoder | None = None) -> None:
        super().__init__(env)
        self.encoder: Encoder = encoder or NGrams()
        self.observation_space = spaces.Box(-1.0, 1.0, (self.encoder.size,), np.float32)

    def observation(self, observation: str) -> Float32:
        row: Float32 = self.encoder([observation])[0]
        return row


class AdmissibleActions(gym.Wrapper[Any, Any, Any, Any]):
    """A choice among the actions that make sense now, so that algorithms for numbers learn on text.

    Observation: float32[(1 + k) * size], the vector of the text that the agent newly sees, then that of each
    admissible action, zeros where there are fewer than `k`. Action: the place of one of them. `action_masks()`,
    bool[k], says which places hold one, as MaskablePPO of sb3-contrib asks; an empty place is played as the empty text.
    Where more than `k` are admissible, the last ones are left out, and `info["admissible_cut"]` says how many.

    Parameters
    ----------
    env
        A text environment with the hook `admissible`.
    k
        How many places there are.
    encoder
        What makes vectors of texts, by default `NGrams(64)`.

    Misleads where what must be remembered is in no admissible action: the learner sees the last text alone.

    >>> import gymnasium as gym, reward_envs
    >>> env = AdmissibleActions(gym.make("reward_envs/Tools-v0", depth=1), k=8)
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, int(env.action_masks().sum())
    ((576,), 1)
    >>> env.step(0)[4]["is_success"]
    False
    """

    def __init__(self, env: gym.Env[Any, Any], k: int = 32, encoder: Encoder | None = None) -> None:
        super().__init__(env)
        if k < 1:
            raise ValueError(f"k={k}: there is at least one place.")
        self.k = k
        self.encoder: Encoder = encoder or NGrams(64)
        self.actions: list[str] = []
        env.get_wrapper_attr("request_hooks")(("admissible",))
        self.observation_space = spaces.Box(-1.0, 1.0, ((1 + k) * self.encoder.size,), np.float32)
        self.action_space = spaces.Discrete(k)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32, dict[str, Any]]:
        text, info = self.env.reset(seed=seed, options=options)
        return self._see(text, info), info

    def step(self, action: int) -> tuple[Float32, Any, bool, bool, dict[str, Any]]:
        text, reward, terminated, truncated, info = self.env.step(self.text_of(action))
        return self._see(text, info), reward, terminated, truncated, info

    def text_of(self, action: int) -> str:
        """The action at a place, "" where there is none."""
        place = int(action)
        return self.actions[place] if place < len(self.actions) else ""

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[k]: the places that hold an action; all where none does, since something must be chosen."""
        there: NDArray[np.bool_] = np.arange(self.k) < (len(self.actions) or self.k)
        return there

    def _see(self, text: str, info: dict[str, Any]) -> Float32:
        self.actions = list(info["admissible"])
        if (cut := len(self.actions) - self.k) > 0:
            info["admissible_cut"] = cut
        self.actions = self.actions[: self.k]
        rows = np.zeros((1 + self.k, self.encoder.size), np.float32)
        rows[: 1 + len(self.actions)] = self.encoder([text, *self.actions])
        return rows.ravel()
