"""AntMaze: walk a four-legged body through a maze to a goal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.engine import Bodies
from reward_envs.control.mazes import MazeTask
from reward_envs.control.task import Float
from reward_envs.control.walls import MEDIUM, U_MAZE, Walls

SIDES = ((1, 1), (-1, 1), (-1, -1), (1, -1))  # of the legs in x and y, around the body
HIP, THIGH, SHIN, BEND = 0.18, 0.3, 0.6, math.pi / 3  # m; how far the shin hangs below the horizontal, rad
REACH = 0.7  # of a joint from its rest, rad
STANDING = 0.6  # height of the torso at rest, m
# The expert's trot: cycles a step, swings of hip and knee and the knee's middle (in actions), the knee's lag (rad).
PACE, SWING, LIFT, STRETCH, LAG = 0.1, 0.5, 0.5, 0.27, -1.96
TURNING = 1.0  # how much wider the outer legs step, for each rad to turn
CLEARANCE = 0.8  # m, of the expert's way


def _leg(name: str, x: int, y: int) -> str:
    """A leg in MJCF: the hip turns about the vertical, the knee about the horizontal across the leg."""
    out, down = SHIN * math.cos(BEND) / math.sqrt(2), SHIN * math.sin(BEND)
    thigh = THIGH / math.sqrt(2)
    return f"""
      <body pos="{x * HIP} {y * HIP} 0">
        <joint name="{name}_hip" axis="0 0 1"/>
        <geom type="capsule" fromto="0 0 0 {x * thigh} {y * thigh} 0" size="0.08"/>
        <body pos="{x * thigh} {y * thigh} 0">
          <joint name="{name}_knee" axis="{-y} {x} 0"/>
          <geom type="capsule" fromto="0 0 0 {x * out} {y * out} {-down}" size="0.07"/>
        </body>
      </body>"""


class AntMaze(MazeTask):
    """Walk a body of 24 kg on four legs through a maze of 4 m cells to the green column.

    Each leg has a hip that turns about the vertical and a knee. Eight position servos hold the joints to the targets
    that the action gives, at most 0.7 rad to each side of the joints at rest, for 5 substeps of 10 ms. Cells, maps,
    tolerance and the length of a step are those of gymnasium-robotics' AntMaze_*-v4; the body is another.

    `observation` float64[27]: height (m), orientation (unit quaternion) and joint angles (rad), then the velocities of
    all of these. `achieved` is the torso's place. A body that has fallen over may go on: an episode ends by success or
    truncates with time.

    `steps_to_go` rests on a top speed of 10 m/s. That is no law of this body, but four times what the expert reaches.
    """

    xml = (
        """
<mujoco model="ant_maze">
  <compiler angle="radian"/>
  <option timestep="0.01" integrator="implicitfast"/>
  <visual><headlight ambient="0.45 0.45 0.45"/><global offwidth="480" offheight="480"/></visual>
  <asset><texture type="skybox" builtin="flat" rgb1="1 1 1" rgb2="1 1 1" width="8" height="48"/></asset>
  <default>
    <geom friction="1 0.02 0.001" density="200" rgba="0.15 0.35 0.85 1" contype="0" conaffinity="1"/>
    <joint damping="2" armature="0.05" limited="true" range="-0.75 0.75"/>
    <position kp="100" ctrlrange="-0.7 0.7" forcerange="-60 60"/>
    <default class="wall">
      <geom type="box" rgba="0.42 0.47 0.55 1" contype="1" conaffinity="0"/>
    </default>
  </default>
  <worldbody>
    {camera}
    <geom name="floor" type="plane" size="{x} {y} 0.1" rgba="0.93 0.93 0.9 1" contype="1" conaffinity="0"/>
    <body name="goal" mocap="true" pos="0 0 0.8">
      <geom type="cylinder" size="{tolerance} 0.8" rgba="0.1 0.65 0.3 0.7" contype="0" conaffinity="0"/>
    </body>
    <body name="torso" pos="0 0 0.6">
      <freejoint/>
      <geom type="sphere" size="0.22" rgba="0.85 0.35 0.1 1"/>"""
        + "".join(_leg(f"leg{k}", x, y) for k, (x, y) in enumerate(SIDES))
        + """
    </body>
    {walls}
  </worldbody>
  <actuator>"""
        + "".join(f'<position joint="leg{k}_hip"/><position joint="leg{k}_knee"/>' for k in range(4))
        + """</actuator>
</mujoco>
"""
    )
    substeps, action_size, observation_size = 5, 8, 27
    cell, body = 4.0, "ant"
    words = "Walk the four-legged body through the maze to the green column."
    step_length = 0.5  # m: 10 m/s, several times the fastest that was seen

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._wide = Walls(self.walls.map, self.cell, CLEARANCE)

    def draw(self, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        (x, y), goal = self.places(rng)
        half = rng.uniform(-math.pi, math.pi) / 2
        joints = rng.uniform(-0.1, 0.1, 8)
        return np.array([x, y, STANDING, math.cos(half), 0, 0, math.sin(half), *joints]), np.zeros(14), goal

    def control(self, bodies: Bodies, actions: Float) -> Float:
        return REACH * actions

    def observation(self, bodies: Bodies) -> Float:
        return np.concatenate([bodies.qpos[:, 2:], bodies.qvel], axis=1)

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """Trot the shortest way that keeps clear of the walls, with the side ahead that looks there best."""
        place, (w, a, b, c) = bodies.achieved[i], bodies.qpos[i, 3:7]
        target, _ = self._wide.toward(place, bodies.goal[i])
        if np.isinf(self._wide.distance(place, bodies.goal[i])):  # too near a wall
            target = self.walls.centre(self.walls.where(place))
        yaw = math.atan2(2 * (w * c + a * b), 1 - 2 * (b * b + c * c))
        ahead = math.atan2(*(target - place)[::-1]) - yaw
        front = round(ahead / (math.pi / 2))  # quarters of a turn
        turn = math.remainder(ahead - front * math.pi / 2, 2 * math.pi)
        action = np.empty(8)
        for k in range(4):
            side = 1 if (k - front) % 4 < 2 else -1  # of the way, left or right
            phase = 2 * math.pi * PACE * float(bodies.t[i]) + math.pi * (k % 2)
            action[2 * k] = -side * SWING * (1 - TURNING * side * turn) * math.sin(phase)
            action[2 * k + 1] = STRETCH - LIFT * math.cos(phase + LAG)
        push: NDArray[np.float32] = np.clip(action, -1, 1).astype(np.float32)
        return push


class AntMazeUMaze(AntMaze):
    """AntMaze in a U."""

    default_map, horizon = U_MAZE, 700


class AntMazeMedium(AntMaze):
    """AntMaze in a maze of 6 x 6 cells."""

    default_map, horizon = MEDIUM, 1000
