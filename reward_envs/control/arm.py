"""Reach, Push and PickPlace: an arm with a gripper over a table."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.arm_model import HIGH, LOW, WIDE, forward, inverse, scene, velocity
from reward_envs.control.engine import Bodies
from reward_envs.control.task import ControlTask, Float

START = np.array([0.0, 0.0, 0.175])  # of the hand, m
SIDE = 0.15  # m, of goals and cubes from the start, along each axis
SHIFT = 0.03  # m, that an action of 1 asks for
JOINTS = 6


class ArmTask(ControlTask):
    """An arm whose hand an action shifts, `achieved` is a point in space: what Reach, Push and PickPlace share.

    Action float32[4]: the first three shift the hand's target by 3 cm each from where the hand is now, kept within
    `LOW` to `HIGH`; the fourth sets how wide the gripper is, -1 closed and 1 open, where the task grips. Closed-form
    inverse kinematics turns the target into targets of the joints, which position servos hold for 20 substeps of 2 ms.

    Parameters
    ----------
    far
        Goals are farther than this from what has to get there, m, at least the tolerance.
    kwargs
        As of `ControlTask`.
    """

    substeps, action_size, goal_size = 20, 4, 3
    grips: ClassVar[bool] = False
    has_cube: ClassVar[bool] = False
    body: ClassVar[str]  # what has to get there
    step_length: ClassVar[float]  # m, more than any step's
    farthest: ClassVar[float]  # m, of a place from a goal, that `steps_max` counts with

    def __init__(self, *, far: float = 0.15, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not self.tolerance <= far <= SIDE:
            raise ValueError(f"far={far}: it is a length from the tolerance, {self.tolerance} m, to {SIDE} m.")
        self.far = far

    def model(self) -> Any:
        import mujoco

        return mujoco.MjModel.from_xml_string(scene(self.tolerance, self.has_cube))

    def control(self, bodies: Bodies, actions: Float) -> Float:
        hand = forward(bodies.qpos) + SHIFT * actions[:, :3]
        control = np.zeros((bodies.n, JOINTS))
        control[:, :4] = inverse(np.minimum(np.maximum(hand, LOW), HIGH))
        if self.grips:
            control[:, 4:] = (0.5 * WIDE) * (1.0 + actions[:, 3:])
        return control

    def steps(self, achieved: Any, desired: Any) -> Any:
        return np.ceil(np.maximum(0.0, self.gap(achieved, desired) - self.tolerance) / self.step_length)

    def steps_max(self) -> float:
        return float(math.ceil((self.farthest - self.tolerance) / self.step_length))

    def caption(self, bodies: Bodies, i: int) -> str:
        here, goal = (", ".join(f"{x:.2f}" for x in place) for place in (bodies.achieved[i], bodies.goal[i]))
        left = self.gap(bodies.achieved[i], bodies.goal[i])
        return f"The {self.body} is at ({here}) m, the goal at ({goal}) m, {left:.2f} m away."


class Reach(ArmTask):
    """Bring the hand to the green ball, a point in space at most 15 cm from the start along each axis.

    `observation` float64[10]: place of the hand (m), opening of each finger (m), velocity of the hand (m/s) and of the
    fingers (m/s). The gripper stays closed.
    """

    observation_size = 10
    goal_low, goal_high = np.array([-0.4, -0.4, -0.05]), np.array([0.4, 0.4, 0.6])
    body, words = "hand", "Bring the hand of the arm to the green ball."
    step_length, farthest = 0.06, math.dist((-0.4, -0.4, -0.05), (0.4, 0.4, 0.6))

    def draw(self, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        while True:
            goal = START + rng.uniform(-SIDE, SIDE, 3)
            if np.linalg.norm(goal - START) > self.far:
                return np.concatenate([inverse(START), [0.0, 0.0]]), np.zeros(JOINTS), goal

    def observation(self, bodies: Bodies) -> Float:
        q, v = bodies.qpos, bodies.qvel
        return np.concatenate([bodies.achieved, q[:, 4:6], velocity(q, v), v[:, 4:6]], axis=1)

    def achieved(self, bodies: Bodies) -> Float:
        return forward(bodies.qpos)

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """Go straight there."""
        return _toward(bodies.achieved[i], bodies.goal[i])


def _toward(hand: Float, target: Float, open_: float = -1.0) -> NDArray[np.float32]:
    """The action that brings the hand to a place, as far as one can."""
    shift = (target - hand) / SHIFT
    return np.append(shift / max(1.0, float(np.abs(shift).max())), open_).astype(np.float32)
