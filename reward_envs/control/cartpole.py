"""CartPoleSwingUp: swing a hanging pole up and balance it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.engine import Bodies
from reward_envs.control.task import Bool, ControlTask, Float

GRAVITY, LENGTH, MASS, THICK = 9.81, 1.0, 0.2, 0.02  # of the pole: m/s², m, kg, radius in m
RAIL, FORCE = 1.8, 6.0  # half of its length in m, N
UPRIGHT, MIDDLE, SPIN, SPEED = math.radians(12), 0.5, 1.0, 0.5  # rad, m, rad/s, m/s
CATCH = 0.6  # rad from upright at which the expert begins to balance
# The linear quadratic regulator of the upright pole for the costs of `tests/control/test_cartpole.py`, in full forces
# per m, rad, m/s and rad/s.
GAINS = np.array([-0.402, -6.547, -0.632, -1.577])


class CartPoleSwingUp(ControlTask):
    """Swing up a hanging pole by pushing the cart under it, and hold it upright over the middle of the rail.

    A cart of 1 kg on a rail of 3.6 m carries a pole of 0.2 kg and 1 m on a free hinge. A motor pushes with at most 6 N,
    for 2 substeps of 10 ms, too weakly to lift the pole in one go. The task is solved when the pole has been within 12
    degrees of upright and slower than 1 rad/s, and the cart within 0.5 m of the middle and slower than 0.5 m/s, for
    `hold` steps one after the other. The pole hangs at first, within 0.1 rad.

    `observation` float64[5]: place of the cart (m), cosine and sine of the pole's angle from upright, velocity of the
    cart (m/s) and of the angle (rad/s). Action: the force, in 6 N. There are no goals.

    Reward: 1 at success, which ends the episode. `"dense"` also pays the gain of `1 - |1 - e|`, where e is the pole's
    energy about the hinge, 0 at rest hanging and 1 at rest upright: `e = (I w²/2 + m g l (1 + cos a)) / (2 m g l)`.

    Hooks: `progress`, the highest of `min(1 - |1 - e|, 0.9) + 0.1 held / hold` so far; `milestones`; `caption`. There
    is no `steps_to_go`: a useful bound of a swing-up is not known here.

    Parameters
    ----------
    hold
        Steps that the pole is held for.
    max_steps
        Length at which an episode truncates.
    reward_mode, ends_on_success
        As of `ControlTask`.
    """

    xml = f"""
<mujoco model="cartpole_swing_up">
  <option timestep="0.01" gravity="0 0 -{GRAVITY}" integrator="implicitfast"/>
  <visual><headlight ambient="0.5 0.5 0.5"/><global offwidth="480" offheight="480"/></visual>
  <asset><texture type="skybox" builtin="flat" rgb1="1 1 1" rgb2="1 1 1" width="8" height="48"/></asset>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <camera name="above" pos="0 -5.6 0.2" xyaxes="1 0 0 0 0.05 1"/>
    <geom type="capsule" fromto="-{RAIL + 0.15} 0 0 {RAIL + 0.15} 0 0" size="0.02" rgba="0.5 0.5 0.5 1"/>
    <geom type="box" pos="-{RAIL + 0.2} 0 0" size="0.04 0.1 0.12" rgba="0.35 0.38 0.45 1"/>
    <geom type="box" pos="{RAIL + 0.2} 0 0" size="0.04 0.1 0.12" rgba="0.35 0.38 0.45 1"/>
    <geom type="box" pos="0 0.12 0" size="{MIDDLE} 0.01 0.05" rgba="0.1 0.65 0.3 0.5"/>
    <geom type="capsule" fromto="0 0.12 0.05 0 0.12 {LENGTH}" size="0.008" rgba="0.1 0.65 0.3 0.5"/>
    <body name="cart">
      <joint name="x" type="slide" axis="1 0 0" damping="0.05" range="-{RAIL} {RAIL}" limited="true"/>
      <geom type="box" size="0.15 0.08 0.07" mass="1" rgba="0.15 0.35 0.85 1"/>
      <body name="pole">
        <joint name="angle" type="hinge" axis="0 1 0" damping="0.002"/>
        <geom type="cylinder" fromto="0 -0.1 0 0 -0.1 {LENGTH}" size="{THICK}" mass="{MASS}" rgba="0.85 0.35 0.1 1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="x" ctrlrange="-1 1" gear="{FORCE}"/></actuator>
</mujoco>
"""
    substeps, action_size, observation_size, goal_size, memory = 2, 1, 5, 0, 1
    offers = ("progress", "milestones", "caption")
    milestone_names = ("quarter energy", "half energy", "three quarters energy", "full energy", "upright", "succeed")
    words = "Swing the hanging pole up with the cart and hold it upright over the middle of the rail."

    def __init__(self, *, hold: int = 25, max_steps: int = 500, **kwargs: Any) -> None:
        super().__init__(max_steps=max_steps, **kwargs)
        if hold < 1:
            raise ValueError(f"hold={hold}: the pole is held for one step or more.")
        self.hold = hold

    def draw(self, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        x, angle = rng.uniform(-0.2, 0.2), math.pi + rng.uniform(-0.1, 0.1)
        return np.array([x, angle]), rng.uniform(-0.05, 0.05, 2), np.empty(0)

    def observation(self, bodies: Bodies) -> Float:
        x, angle = bodies.qpos.T
        return np.column_stack([x, np.cos(angle), np.sin(angle), bodies.qvel])

    def remember(self, bodies: Bodies, rows: NDArray[np.int64]) -> None:
        x, angle = bodies.qpos[rows].T
        speed, spin = np.abs(bodies.qvel[rows]).T
        still = (np.cos(angle) >= math.cos(UPRIGHT)) & (spin <= SPIN) & (np.abs(x) <= MIDDLE) & (speed <= SPEED)
        bodies.memory[rows, 0] = np.where(still, bodies.memory[rows, 0] + 1, 0)

    def success(self, bodies: Bodies) -> Bool:
        held: Bool = bodies.memory[:, 0] >= self.hold
        return held

    def energy(self, bodies: Bodies) -> Float:
        """float64[N]: the pole's energy about its hinge, 0 hanging and 1 standing at rest."""
        inertia = MASS * (LENGTH**2 / 3 + THICK**2 / 4)
        turning = inertia * bodies.qvel[:, 1] ** 2 / (2 * MASS * GRAVITY * LENGTH)
        energy: Float = turning + (1 + np.cos(bodies.qpos[:, 1])) / 2
        return energy

    def aside(self, bodies: Bodies) -> Float:
        return 1.0 - np.abs(1.0 - self.energy(bodies))

    def share(self, bodies: Bodies) -> Float:
        held = np.minimum(bodies.memory[:, 0] / self.hold, 1.0)
        done: Float = np.minimum(self.aside(bodies), 0.9) + 0.1 * held
        return done

    def milestones(self, bodies: Bodies) -> Float:
        enough = self.energy(bodies)[:, None] >= (0.25, 0.5, 0.75, 1.0)
        upright = np.cos(bodies.qpos[:, 1]) >= math.cos(UPRIGHT)
        return np.column_stack([enough, upright, bodies.success]).astype(np.float64)

    def caption(self, bodies: Bodies, i: int) -> str:
        (x, angle), (speed, spin) = bodies.qpos[i], bodies.qvel[i]
        off = math.degrees(abs(math.remainder(angle, 2 * math.pi)))
        return (
            f"The pole is {off:.0f} degrees from upright and turns at {spin:.1f} rad/s. The cart is at {x:.2f} of "
            f"{RAIL} m and drives at {speed:.1f} m/s. The pole has been held for {bodies.memory[i, 0]:.0f} of "
            f"{self.hold} steps."
        )

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """Pump the pole's energy up to 1 (Astrom and Furuta 2000), then balance by state feedback."""
        (x, angle), (speed, spin) = bodies.qpos[i], bodies.qvel[i]
        off = math.remainder(angle, 2 * math.pi)
        if abs(off) < CATCH and abs(spin) < 4:
            push = -GAINS @ (x, off, speed, spin)
        else:
            missing = 1.1 - self.energy(bodies)[i]  # a little more than enough, as holding to the middle costs some
            push = -6.0 * missing * math.copysign(1.0, spin * math.cos(off)) - 0.6 * x - 0.5 * speed
        force: NDArray[np.float32] = np.clip([push], -1, 1).astype(np.float32)
        return force
