"""Reach, Push and PickPlace: an arm with a gripper over a table."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.arm_model import CUBE, HIGH, LOW, WIDE, forward, inverse, scene, velocity
from reward_envs.control.engine import Bodies
from reward_envs.control.task import Bool, ControlTask, Float

START = np.array([0.0, 0.0, 0.175])  # of the hand, m
HOME = inverse(START)
SIDE = 0.15  # m, of goals and cubes from the start, along each axis
SHIFT = 0.03  # m, that an action of 1 asks for
JOINTS = 6
APART = 0.1  # m, that the cube is from the hand at least, along the table
AIR = 0.45  # m, that a goal lies above the table at most
CLEAR, BEHIND = 0.1, 0.075  # m, of the experts: height above the table over a cube, distance behind it


class ArmTask(ControlTask):
    """An arm whose hand an action shifts, `achieved` is a point in space: what Reach, Push and PickPlace share.

    Action float32[4]: the first three shift the hand's target by 3 cm each from where the hand is now, kept within
    `LOW` to `HIGH`; the fourth sets how wide the gripper is, -1 closed and 1 open, where the task grips. Closed-form
    inverse kinematics turns the target into targets of the joints, which position servos hold for 10 substeps of 4 ms.

    Parameters
    ----------
    far
        Goals are farther than this from what has to get there, m, at least the tolerance.
    kwargs
        As of `ControlTask`.
    """

    substeps, action_size, goal_size = 10, 4, 3
    grips: ClassVar[bool] = False
    has_cube: ClassVar[bool] = False
    body: ClassVar[str]  # what has to get there
    step_length: ClassVar[float]  # m, more than any step's

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
        farthest = float(np.linalg.norm(np.subtract(self.goal_high, self.goal_low)))
        return float(math.ceil((farthest - self.tolerance) / self.step_length))

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
    step_length = 0.06

    def draw(self, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        while True:
            goal = START + rng.uniform(-SIDE, SIDE, 3)
            if math.dist(goal, START) > self.far:
                return np.concatenate([HOME, [0.0, 0.0]]), np.zeros(JOINTS), goal

    def observation(self, bodies: Bodies) -> Float:
        q, v = bodies.qpos, bodies.qvel
        return np.concatenate([bodies.achieved, q[:, 4:6], velocity(q, v), v[:, 4:6]], axis=1)

    def achieved(self, bodies: Bodies) -> Float:
        return forward(bodies.qpos)

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """Go straight there."""
        return _toward(bodies.achieved[i], bodies.goal[i])


class CubeTask(ArmTask):
    """A cube of 5 cm and 100 g on the table that has to get to a goal, `achieved` is its middle.

    `observation` float64[26]: places of hand and cube and from hand to cube (m), opening of each finger (m), the
    cube's orientation (unit quaternion, w at least 0), velocity (m/s) and angular velocity in its own frame (rad/s),
    velocity of the hand (m/s) and of the fingers (m/s). `aside` is minus the distance from hand to cube, m.
    """

    observation_size = 26
    has_cube = True
    goal_low, goal_high = np.array([-2.0, -2.0, -0.5]), np.array([2.0, 2.0, 1.0])  # a cube may fall off the table
    body = "cube"
    offers = ("steps_to_go", "progress", "milestones", "caption")

    def draw(self, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        while True:
            cube, goal = START + rng.uniform(-SIDE, SIDE, (2, 3))
            cube[2], goal[2] = CUBE, self.height(rng)
            if math.dist(cube[:2], START[:2]) > APART and math.dist(cube, goal) > self.far:
                fingers = [WIDE if self.grips else 0.0] * 2
                qpos = np.concatenate([HOME, fingers, cube, [1.0, 0.0, 0.0, 0.0]])
                return qpos, np.zeros(JOINTS + 6), goal

    def height(self, rng: np.random.Generator) -> float:
        """Of a goal, m."""
        return CUBE

    def observation(self, bodies: Bodies) -> Float:
        q, v, cube = bodies.qpos, bodies.qvel, bodies.achieved
        hand, turn = forward(q), q[:, 9:]
        turn = np.where(turn[:, :1] < 0.0, -turn, turn)
        parts = [hand, cube, cube - hand, q[:, 4:6], turn, v[:, 6:], velocity(q, v), v[:, 4:6]]
        return np.concatenate(parts, axis=1)

    def achieved(self, bodies: Bodies) -> Float:
        return bodies.qpos[:, 6:9].copy()

    def aside(self, bodies: Bodies) -> Float:
        gap: Float = self.gap(forward(bodies.qpos), bodies.qpos[:, 6:9])
        return -gap

    def touched(self, bodies: Bodies) -> Bool:
        """bool[N]: whether the cube moves, faster than 2 cm/s: nothing but the hand sets it in motion."""
        moves: Bool = np.square(bodies.qvel[:, 6:9]).sum(axis=1) > 0.02**2
        return moves


class Push(CubeTask):
    """Push the cube over the table to the green ball, both at most 15 cm from the start of the hand along x and y.

    The gripper stays closed. Milestones: touched, succeed.
    """

    words = "Push the blue cube to the green ball with the closed gripper of the arm."
    milestone_names = ("touched", "succeed")
    step_length = 0.1

    def milestones(self, bodies: Bodies) -> Float:
        return np.column_stack([self.touched(bodies), bodies.success]).astype(np.float64)

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """Come down behind the cube, as seen from the goal, and push along the line to it."""
        hand, cube, goal = forward(bodies.qpos[i]), bodies.achieved[i], bodies.goal[i]
        way = (goal - cube)[:2]
        along = way / max(float(np.linalg.norm(way)), 1e-9)
        off = (hand - cube)[:2]
        ahead = float(off @ along)
        aside = off - ahead * along
        behind = np.append(cube[:2] - BEHIND * along, CUBE)
        if ahead < -CUBE and np.linalg.norm(aside) < 0.02 and hand[2] < 2 * CUBE:
            return _toward(hand, np.append(hand[:2] + SHIFT * along - aside, CUBE))
        if np.linalg.norm((hand - behind)[:2]) > 0.02:
            behind[2] = CLEAR
        return _toward(hand, behind)


class PickPlace(CubeTask):
    """Grip the cube and bring it to the green ball: on the table, or up to 45 cm above it in half of the episodes.

    The fourth action sets the gripper, -1 closed and 1 open. Milestones: touched, lifted (its middle 5 cm above the
    table, and within 4 cm of the hand), succeed; a goal on the table needs no lifting.
    """

    grips = True
    words = "Grip the blue cube and bring it to the green ball."
    milestone_names = ("touched", "lifted", "succeed")
    step_length = 0.15

    def height(self, rng: np.random.Generator) -> float:
        return CUBE + float(rng.uniform(0, AIR)) * float(rng.random() < 0.5)

    def milestones(self, bodies: Bodies) -> Float:
        lifted = (bodies.achieved[:, 2] > 2 * CUBE) & (self.aside(bodies) > -0.04)
        return np.column_stack([self.touched(bodies), lifted, bodies.success]).astype(np.float64)

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """Come down around the cube with open fingers, close them, and carry it to the goal."""
        hand, cube, fingers = forward(bodies.qpos[i]), bodies.achieved[i], bodies.qpos[i, 4:6]
        off = cube - hand
        if np.abs(off).max() < 0.015:
            gripped = fingers.sum() < 2 * CUBE + 0.004
            return _toward(hand, bodies.goal[i] - off if gripped else hand)
        target = cube.copy()
        if np.abs(off[:2]).max() > 0.01:
            target[2] = cube[2] + CLEAR - CUBE
            if hand[2] < target[2] - 0.02 and np.abs(off[:2]).max() < 0.07:
                target[:2] = hand[:2]
        return _toward(hand, target, 1.0)


def _toward(hand: Float, target: Float, opening: float = -1.0) -> NDArray[np.float32]:
    """The action that brings the hand to a place, as far as one can."""
    shift = (target - hand) / SHIFT
    return np.append(shift / max(1.0, float(np.abs(shift).max())), opening).astype(np.float32)
