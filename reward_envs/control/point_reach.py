"""PointReach: push a point mass to a goal; the smallest goal environment on MuJoCo."""

from __future__ import annotations

import math
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from reward_envs.card import Card
from reward_envs.hooks import Hooked, check_reward_mode

_MODEL = """
<mujoco model="point_reach">
  <option timestep="0.02" gravity="0 0 0" integrator="implicitfast"/>
  <visual><headlight ambient="0.5 0.5 0.5"/><global offwidth="480" offheight="480"/></visual>
  <worldbody>
    <camera name="above" pos="0 0 3.2" xyaxes="1 0 0 0 1 0"/>
    <geom name="floor" type="plane" size="1.3 1.3 0.1" rgba="0.93 0.93 0.9 1" contype="0" conaffinity="0"/>
    <body name="goal" mocap="true" pos="0 0 0.01">
      <geom name="goal" type="cylinder" size="0.1 0.01" rgba="0.1 0.65 0.3 0.8" contype="0" conaffinity="0"/>
    </body>
    <body name="point" pos="0 0 0.06">
      <joint name="x" type="slide" axis="1 0 0" damping="1" range="-1 1" limited="true"/>
      <joint name="y" type="slide" axis="0 1 0" damping="1" range="-1 1" limited="true"/>
      <geom name="point" type="sphere" size="0.05" mass="0.2" rgba="0.15 0.35 0.85 1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator><motor joint="x" ctrlrange="-1 1"/><motor joint="y" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


class PointReach(Hooked, gym.Env[Any, Any]):
    """A point mass of 0.2 kg in a square of 2 m, pushed by two motors of at most 1 N, has to touch a goal disc.

    Observation: `observation` float64[4] (position in m, velocity in m/s), `achieved_goal`, `desired_goal` float64[2]
    (m). Action: float32[2] in [-1, 1] (N), held for 5 substeps of 20 ms. A success ends the episode; 50 steps truncate.

    Reward: 1 within `tolerance` of the goal, else 0 (`reward_mode="sparse"`); `"dense"` also pays the way made,
    `|p - g| - |p' - g|` in m. `compute_reward`, `compute_terminated` and `compute_truncated` take one row or many; the
    dense one reads the place before the step from `info["was"]`.

    Hooks: `steps_to_go`, a lower bound from the top speed of 1 m/s (`card.exact` is False); `progress`, the largest
    share of the way so far; `caption`.

    Parameters
    ----------
    reward_mode, hooks, render_mode
        As above, and as Gymnasium has it.
    tolerance
        Radius of the goal, m.
    max_steps
        Length at which an episode truncates.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    offers = ("steps_to_go", "progress", "caption")
    substeps, step_seconds, top_speed = 5, 0.1, 1.0

    def __init__(
        self,
        *,
        reward_mode: Literal["sparse", "dense"] = "sparse",
        hooks: tuple[str, ...] = (),
        render_mode: str | None = None,
        tolerance: float = 0.1,
        max_steps: int = 50,
    ) -> None:
        import mujoco

        self.reward_mode = check_reward_mode(reward_mode)
        self.tolerance, self.max_steps, self.render_mode = tolerance, max_steps, render_mode
        self._mujoco = mujoco
        self._model = mujoco.MjModel.from_xml_string(_MODEL)
        self._data = mujoco.MjData(self._model)
        self._renderer: Any = None
        goal = gym.spaces.Box(-1.1, 1.1, (2,), np.float64)
        self.observation_space = gym.spaces.Dict(
            {
                "observation": gym.spaces.Box(-np.inf, np.inf, (4,), np.float64),
                "achieved_goal": goal,
                "desired_goal": goal,
            }
        )
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.card = Card(
            task="Push the blue point onto the green disc.",
            hooks=self.offers,
            steps_to_go_max=math.ceil(2 * math.sqrt(2) / (self.top_speed * self.step_seconds)),
            failing_ends=False,
            reward_range=(0.0, 1.0),
            exact=False,
        )
        self.request_hooks(hooks)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._mujoco.mj_resetData(self._model, self._data)
        while True:  # never solved at the start
            place, goal = self.np_random.uniform(-1, 1, 2), self.np_random.uniform(-1, 1, 2)
            if np.linalg.norm(place - goal) > 2 * self.tolerance:
                break
        self._data.qpos[:] = place
        self._data.mocap_pos[0, :2] = goal
        self._mujoco.mj_forward(self._model, self._data)
        self.goal = goal
        self._t, self._best, self._success = 0, 0.0, False
        self._way = max(self._distance() - self.tolerance, 1e-9)
        return self._obs(), self._info()

    def step(self, action: NDArray[np.float32]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        was = self._data.qpos.copy()
        self._data.ctrl[:] = np.clip(action, -1.0, 1.0)
        self._mujoco.mj_step(self._model, self._data, self.substeps)
        self._t += 1
        obs = self._obs()
        at, goal = obs["achieved_goal"], obs["desired_goal"]
        self._success = bool(self._near(at, goal))
        self._best = max(self._best, min(1.0, 1.0 - max(self._distance() - self.tolerance, 0.0) / self._way))
        reward = float(self.compute_reward(at, goal, {"was": was}))
        return obs, reward, self._success, self._t >= self.max_steps, {"was": was, **self._info()}

    # the goal contract, one row or many

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """float64[...]: the reward of reaching `achieved_goal` [..., 2] where `desired_goal` [..., 2] was asked."""
        reward = self._near(achieved_goal, desired_goal).astype(np.float64)
        if self.reward_mode == "sparse":
            return reward
        was = info["was"] if isinstance(info, dict) else np.stack([i["was"] for i in info])
        now = np.linalg.norm(np.subtract(achieved_goal, desired_goal), axis=-1)
        return reward + np.linalg.norm(np.subtract(was, desired_goal), axis=-1) - now

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """bool[...]: a success ends the episode."""
        return self._near(achieved_goal, desired_goal)

    def compute_truncated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """bool[...]: no goal truncates; the step counter does."""
        return np.zeros(np.shape(achieved_goal)[:-1], dtype=np.bool_)

    def _near(self, achieved_goal: Any, desired_goal: Any) -> Any:
        return np.linalg.norm(np.subtract(achieved_goal, desired_goal), axis=-1) <= self.tolerance

    def expert(self) -> NDArray[np.float32]:
        """Steer at the goal, braking in time."""
        wanted = 2.0 * (self.goal - self._data.qpos)
        push: NDArray[np.float32] = np.clip(2.0 * (wanted - self._data.qvel), -1, 1).astype(np.float32)
        return push

    def render(self) -> NDArray[np.uint8] | None:
        if self.render_mode != "rgb_array":
            return None
        if self._renderer is None:
            try:
                self._renderer = self._mujoco.Renderer(self._model, 480, 480)
            except (self._mujoco.FatalError, AttributeError) as error:  # the latter from its own clean-up
                raise RuntimeError(
                    f"MuJoCo cannot draw here ({error}): without a screen set MUJOCO_GL=egl or MUJOCO_GL=osmesa before "
                    f"Python starts, and install that library."
                ) from error
        self._renderer.update_scene(self._data, camera="above")
        picture: NDArray[np.uint8] = self._renderer.render()
        return picture

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_renderer": None, "_mujoco": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import mujoco

        self.__dict__.update(state, _mujoco=mujoco)

    def _obs(self) -> dict[str, NDArray[np.float64]]:
        place = self._data.qpos.copy()
        moving = np.concatenate([place, self._data.qvel])
        return {"observation": moving, "achieved_goal": place, "desired_goal": self.goal.copy()}

    def _info(self) -> dict[str, Any]:
        return {"is_success": self._success, **self.hook_values()}

    def _distance(self) -> float:
        return float(np.linalg.norm(self._data.qpos - self.goal))

    def _steps_to_go(self) -> float:
        return float(math.ceil(max(0.0, self._distance() - self.tolerance) / (self.top_speed * self.step_seconds)))

    def _progress(self) -> float:
        return self._best

    def _caption(self) -> str:
        (x, y), (a, b) = self._data.qpos, self.goal
        return f"The point is at ({x:.2f}, {y:.2f}) m, the goal at ({a:.2f}, {b:.2f}) m, {self._distance():.2f} m away."
