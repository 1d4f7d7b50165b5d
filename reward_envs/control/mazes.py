"""Goals in mazes, and PointMaze: push a ball through a maze to a goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.engine import Bodies
from reward_envs.control.task import Bool, ControlTask, Float
from reward_envs.control.walls import LARGE, MEDIUM, U_MAZE, Walls

SHARES = (0.25, 0.5, 0.75)
NOISE = 0.25  # of a cell, around its centre, to each side


class MazeTask(ControlTask):
    """A body in a maze, `achieved` is its place (x, y): what PointMaze and AntMaze share.

    The length of the way left, `distance`, is exact for a point: the shortest way among the walls. A goal is reached
    where it is at most `tolerance`, so not through a wall. `steps_to_go` is a lower bound, from the top speed of the
    body: `ceil(max(0, distance - tolerance) / step_length)`.

    Parameters
    ----------
    maze_map
        Rows of 1 for wall and 0 for free, closed all around, each free cell reachable from each other; by default the
        task's own.
    far
        The way to a goal is longer than this share of the longest between two cells' centres, in [0, 0.9].
    max_steps
        Length at which an episode truncates; by default the task's own.
    tolerance, kwargs
        As of `ControlTask`.
    """

    default_map: ClassVar[tuple[str, ...]]
    horizon: ClassVar[int]
    cell: ClassVar[float]  # m
    step_length: ClassVar[float]  # m, that no step exceeds
    body: ClassVar[str]  # its name in captions
    offers = ("steps_to_go", "progress", "milestones", "caption")
    milestone_names = ("quarter of the way", "half of the way", "three quarters of the way", "succeed")

    def __init__(
        self,
        *,
        maze_map: Sequence[str] | None = None,
        far: float = 2 / 3,
        max_steps: int | None = None,
        tolerance: float = 0.45,
        **kwargs: Any,
    ) -> None:
        steps = self.horizon if max_steps is None else max_steps
        super().__init__(max_steps=steps, tolerance=tolerance, **kwargs)
        if not 0 <= far <= 0.9:
            raise ValueError(f"far={far}: it is a share of the longest way, from 0 to 0.9.")
        self.walls = Walls(self.default_map if maze_map is None else maze_map, self.cell)
        self.apart = max(far * self.walls.span, self.tolerance)
        if tolerance > 0.9 * self.walls.span:
            raise ValueError(f"tolerance={tolerance}: the longest way in this maze is {self.walls.span:.2f} m.")
        self.goal_low, self.goal_high = -self.walls.half, self.walls.half

    def model(self) -> Any:
        import mujoco

        x, y = self.walls.half
        height, tilt = 1.15 * max(x, y) / math.tan(math.pi / 8), 0.2
        camera = f'<camera name="above" pos="0 {-tilt * height} {height}" xyaxes="1 0 0 0 1 {tilt}"/>'
        walls = self.walls.geoms(0.4 * self.cell)
        return mujoco.MjModel.from_xml_string(
            self.xml.format(camera=camera, x=x, y=y, tolerance=self.tolerance, walls=walls)
        )

    def places(self, rng: np.random.Generator) -> tuple[Float, Float]:
        """A place to begin and a goal, each uniform around the centre of a uniform free cell, `apart` or more."""
        free = self.walls.free
        while True:
            noise = rng.uniform(-NOISE, NOISE, (2, 2)) * self.cell
            place, goal = free[rng.integers(len(free), size=2)] + noise
            if self.distance(place, goal) > self.apart:
                return place, goal

    def distance(self, achieved: Any, desired: Any) -> Any:
        return self.walls.distance(achieved, desired)

    def near(self, achieved: Any, desired: Any) -> Any:
        there = self.gap(achieved, desired) <= self.tolerance
        return there & (self.distance(achieved, desired) <= self.tolerance) if np.any(there) else there

    def steps(self, achieved: Any, desired: Any) -> Any:
        return np.ceil(np.maximum(0.0, self.distance(achieved, desired) - self.tolerance) / self.step_length)

    def steps_max(self) -> float:
        return float(math.ceil((self.walls.longest - self.tolerance) / self.step_length))

    def milestones(self, bodies: Bodies) -> Float:
        reached: Bool = self.share(bodies)[:, None] >= SHARES
        return np.column_stack([reached, bodies.success]).astype(np.float64)

    def caption(self, bodies: Bodies, i: int) -> str:
        here, goal = self.walls.where(bodies.achieved[i]), self.walls.where(bodies.goal[i])
        left = self.distance(bodies.achieved[i], bodies.goal[i])
        return (
            f"The {self.body} is in column {here[1]}, row {here[0]}. The goal is in column {goal[1]}, row {goal[0]}, "
            f"{left:.1f} m of way from it."
        )


class PointMaze(MazeTask):
    """Push a ball of 4.2 kg and 0.1 m radius through a maze of 1 m cells to the green disc.

    Two motors push with at most 100 N; a step is 10 ms, and each velocity is held to 5 m/s. These are the facts of
    gymnasium-robotics' PointMaze_*-v3, and so are the maps, the time limits and the tolerance of 0.45 m.

    `observation` float64[4]: place (m) and velocity (m/s). Action: the two forces, in 100 N.
    """

    xml = """
<mujoco model="point_maze">
  <option timestep="0.01" gravity="0 0 0"/>
  <visual><headlight ambient="0.45 0.45 0.45"/><global offwidth="480" offheight="480"/></visual>
  <asset><texture type="skybox" builtin="flat" rgb1="1 1 1" rgb2="1 1 1" width="8" height="48"/></asset>
  <default>
    <geom condim="1" margin="0.002"/>
    <default class="wall"><geom type="box" rgba="0.42 0.47 0.55 1"/></default>
  </default>
  <worldbody>
    {camera}
    <geom name="floor" type="plane" size="{x} {y} 0.1" rgba="0.93 0.93 0.9 1" contype="0" conaffinity="0"/>
    <body name="goal" mocap="true" pos="0 0 0.01">
      <geom type="cylinder" size="{tolerance} 0.01" rgba="0.1 0.65 0.3 0.8" contype="0" conaffinity="0"/>
    </body>
    <body name="ball" pos="0 0 0.1">
      <joint name="x" type="slide" axis="1 0 0" damping="1"/>
      <joint name="y" type="slide" axis="0 1 0" damping="1"/>
      <geom type="sphere" size="0.1" density="1000" rgba="0.15 0.35 0.85 1"/>
      <geom type="cylinder" size="0.2 0.005" pos="0 0 -0.07" mass="0" rgba="0.15 0.35 0.85 0.3" contype="0"
            conaffinity="0"/>
    </body>
    {walls}
  </worldbody>
  <actuator><motor joint="x" ctrlrange="-1 1" gear="100"/><motor joint="y" ctrlrange="-1 1" gear="100"/></actuator>
</mujoco>
"""
    substeps, action_size, observation_size = 1, 2, 4
    cell, body = 1.0, "ball"
    words = "Push the blue ball through the maze onto the green disc."
    top_speed = 5.0  # m/s, along each axis, at the beginning of a step
    mass = 4 / 3 * math.pi * 0.1**3 * 1000  # kg
    step_length = math.sqrt(2) * (top_speed + 100 / mass * 0.01) * 0.01  # a force still adds to the top speed

    def draw(self, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        place, goal = self.places(rng)
        return place, np.zeros(2), goal

    def remember(self, bodies: Bodies, rows: NDArray[np.int64]) -> None:
        speed = bodies.qvel
        np.clip(speed, -self.top_speed, self.top_speed, out=speed, where=~bodies.diverged[:, None])

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """Go the shortest way, at a distance from its corners."""
        place, speed = bodies.qpos[i], bodies.qvel[i]
        target, _ = self.walls.toward(place, bodies.goal[i])
        push: NDArray[np.float32] = np.clip(0.3 * (8.0 * (target - place) - speed), -1, 1).astype(np.float32)
        return push


class PointMazeUMaze(PointMaze):
    """PointMaze in a U."""

    default_map, horizon = U_MAZE, 300


class PointMazeMedium(PointMaze):
    """PointMaze in a maze of 6 x 6 cells."""

    default_map, horizon = MEDIUM, 600


class PointMazeLarge(PointMaze):
    """PointMaze in a maze of 10 x 7 cells."""

    default_map, horizon = LARGE, 800
