"""MountainCar: swing up a valley, paid only at the top."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from gymnasium.envs.classic_control.mountain_car import MountainCarEnv

from reward_envs.card import Card
from reward_envs.hooks import Hooked, check_reward_mode

VALLEY = -math.pi / 6  # lowest point of sin(3x)
GRAVITY = 0.0025


class MountainCar(Hooked, MountainCarEnv):
    """A car too weak for the hill has to swing; Moore's (1990) task with Gymnasium's dynamics and discrete actions.

    Reward: 1 on reaching x >= 0.5, else 0 (`reward_mode="sparse"`); `"dense"` also pays the gain of mechanical energy
    `e(s') - e(s)`, with `e = (v²/2 + 0.0025/3 · (sin 3x + 1)) / (0.0025/3 · (sin 1.5 + 1))`: 1 is enough to roll over
    the top. Random play reaches the top in none of thousands of episodes.

    Hooks: `steps_to_go`, a lower bound `(0.5 - x) / 0.07` (`card.exact` is False); `progress`, the highest of
    `(x - valley) / (0.5 - valley)` so far, in [0, 1]; `milestones` for a quarter, half and three quarters of the
    energy and for success; `caption`.

    Parameters
    ----------
    reward_mode, hooks, render_mode
        As above, and as Gymnasium has it.
    max_steps
        Length at which an episode truncates.
    """

    offers = ("steps_to_go", "progress", "milestones", "caption")
    card = Card(
        task="Drive the car over the top of the right hill; the engine alone is too weak, so swing.",
        hooks=offers,
        milestone_names=("quarter energy", "half energy", "three quarters energy", "succeed"),
        steps_to_go_max=math.ceil(1.7 / 0.07),
        failing_ends=False,
        reward_range=(0.0, 1.0),
        exact=False,
    )

    def __init__(
        self,
        *,
        reward_mode: Literal["sparse", "dense"] = "sparse",
        hooks: tuple[str, ...] = (),
        render_mode: str | None = None,
        max_steps: int = 200,
    ) -> None:
        super().__init__(render_mode=render_mode)
        self.reward_mode = check_reward_mode(reward_mode)
        self.max_steps = max_steps
        self.request_hooks(hooks)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, _ = super().reset(seed=seed, options=options)
        self._t = 0
        self._success = False
        self._reached = np.zeros(4)
        self._best = 0.0
        self._look()
        return obs, self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = self._energy()
        obs, _, terminated, _, _ = super().step(action)
        self._t += 1
        self._success = bool(terminated)
        self._look()
        reward = float(terminated)
        if self.reward_mode == "dense":
            reward += self._energy() - before
        return obs, reward, bool(terminated), self._t >= self.max_steps, self._info()

    def expert(self) -> int:
        """Push where the car already goes: it pumps energy and reaches the top in about 120 steps."""
        return 2 if self.state[1] >= 0 else 0

    def _energy(self) -> float:
        x, v = (float(s) for s in self.state)
        hill = GRAVITY / 3
        return (0.5 * v * v + hill * (math.sin(3 * x) + 1)) / (hill * (math.sin(3 * self.goal_position) + 1))

    def _look(self) -> None:
        climbed = (float(self.state[0]) - VALLEY) / (self.goal_position - VALLEY)
        self._best = max(self._best, min(max(climbed, 0.0), 1.0))
        energy = self._energy()
        self._reached = np.maximum(self._reached, [energy >= 0.25, energy >= 0.5, energy >= 0.75, self._success])

    def _info(self) -> dict[str, Any]:
        return {"is_success": self._success, **self.hook_values()}

    def _steps_to_go(self) -> float:
        return float(max(0, math.ceil((self.goal_position - float(self.state[0])) / self.max_speed)))

    def _progress(self) -> float:
        return self._best

    def _milestones(self) -> Any:
        return self._reached.copy()

    def _caption(self) -> str:
        x, v = self.state
        return f"The car is at {x:.2f} of 0.50 and drives {'right' if v >= 0 else 'left'} at {abs(v):.3f} a step."
