"""PointReach: push a point mass to a goal; the smallest goal environment on MuJoCo."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.engine import Bodies
from reward_envs.control.task import ControlTask, Float


class PointReach(ControlTask):
    """A point mass of 0.2 kg in a square of 2 m, pushed by two motors of at most 1 N, has to touch a goal disc.

    `observation` float64[4]: position (m) and velocity (m/s). Action: two forces in [-1, 1] N, held for 5 substeps of
    20 ms. Place and goal are uniform, more than two tolerances apart.

    Hooks: `steps_to_go`, a lower bound from the top speed of 1 m/s; `progress`, the largest share of the way so far;
    `caption`.
    """

    xml = """
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
    substeps, action_size, observation_size = 5, 2, 4
    goal_low, goal_high = -1.1, 1.1
    words = "Push the blue point onto the green disc."
    step_length = 0.1  # m, at the top speed of 1 m/s

    def __init__(self, *, tolerance: float = 0.1, max_steps: int = 50, **kwargs: Any) -> None:
        super().__init__(tolerance=tolerance, max_steps=max_steps, **kwargs)

    def draw(self, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        while True:
            place, goal = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)
            if np.linalg.norm(place - goal) > 2 * self.tolerance:
                return place, np.zeros(2), goal

    def steps(self, achieved: Any, desired: Any) -> Any:
        return np.ceil(np.maximum(0.0, self.gap(achieved, desired) - self.tolerance) / self.step_length)

    def steps_max(self) -> float:
        return float(math.ceil(2 * math.sqrt(2) / self.step_length))

    def caption(self, bodies: Bodies, i: int) -> str:
        (x, y), (a, b) = bodies.achieved[i], bodies.goal[i]
        gap = self.gap(bodies.achieved[i], bodies.goal[i])
        return f"The point is at ({x:.2f}, {y:.2f}) m, the goal at ({a:.2f}, {b:.2f}) m, {gap:.2f} m away."

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """Steer at the goal, braking in time."""
        wanted = 2.0 * (bodies.goal[i] - bodies.qpos[i])
        push: NDArray[np.float32] = np.clip(2.0 * (wanted - bodies.qvel[i]), -1, 1).astype(np.float32)
        return push
