"""The arm that the manipulation tasks share: its model in MJCF, and its kinematics in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reward_envs.control.task import Float
from reward_envs.kernels import arm as k

LINKS = np.array([-0.55, 0.45, 0.45])  # x of the shoulder, and lengths from it to the elbow and to the hand, m
LOW, HIGH = np.array([-0.25, -0.3, 0.025]), np.array([0.25, 0.3, 0.5])  # of the hand's targets, m
CUBE = 0.025  # half an edge, m, and so the height of its middle on the table
WIDE = 0.04  # m, of a finger from the middle when the gripper is open
BEAM = 0.62  # height of the links, m
FLOOR = -0.45  # height, m

CUBE_XML = f"""
    <body name="cube" pos="0.1 0 {CUBE}">
      <freejoint/>
      <geom name="cube" type="box" size="{CUBE} {CUBE} {CUBE}" mass="0.1" rgba="0.15 0.35 0.85 1" contype="1"
            conaffinity="2"/>
    </body>"""

XML = """
<mujoco model="arm">
  <compiler angle="radian"/>
  <option timestep="0.004" integrator="implicitfast" cone="elliptic" impratio="10"/>
  <visual>
    <headlight ambient="0.4 0.4 0.4" diffuse="0.45 0.45 0.45" specular="0 0 0"/>
    <global offwidth="480" offheight="480"/><quality shadowsize="2048"/>
  </visual>
  <asset><texture type="skybox" builtin="flat" rgb1="1 1 1" rgb2="1 1 1" width="8" height="48"/></asset>
  <default>
    <geom contype="0" conaffinity="0" condim="4" friction="1 0.02 0.001" solref="0.01 1" rgba="0.82 0.84 0.87 1"/>
    <default class="joint"><geom rgba="0.25 0.28 0.33 1"/></default>
    <default class="finger"><geom contype="2" friction="1.5 0.02 0.001" rgba="1 0.5 0.1 1"/></default>
    <default class="hinge"><joint type="hinge" axis="0 0 1" armature="0.5"/></default>
    <default class="slide"><joint type="slide"/></default>
  </default>
  <worldbody>
    <camera name="above" pos="1.05 -1.15 0.95" mode="targetbody" target="aim" fovy="34"/>
    <body name="aim" pos="-0.1 -0.02 0.25"/>
    <light pos="1 -0.4 2" dir="-0.5 0.2 -1" directional="true" diffuse="0.3 0.3 0.3" specular="0.1 0.1 0.1"/>
    <geom name="floor" type="plane" size="4 4 0.1" pos="0 0 {floor}" conaffinity="1" rgba="0.93 0.93 0.9 1"/>
    <geom name="table" type="box" size="0.4 0.45 0.02" pos="0 0 -0.02" conaffinity="1" rgba="0.78 0.62 0.44 1"/>
    <geom type="box" size="0.3 0.35 {leg}" pos="0 0 {leg_at}" rgba="0.6 0.46 0.32 1"/>
    <geom type="cylinder" fromto="{base} 0 {floor} {base} 0 {under}" size="0.07"/>
    <body name="goal" mocap="true" pos="0 0 0.2">
      <geom type="sphere" size="{tolerance}" rgba="0.1 0.65 0.3 0.5"/>
    </body>
    <body name="upper" pos="{base} 0 {beam}">
      <joint name="shoulder" class="hinge" range="-2.5 1.5"/>
      <geom type="cylinder" size="0.065 0.05" mass="0.1" class="joint"/>
      <geom type="capsule" fromto="0 0 0 {upper} 0 0" size="0.04" mass="0.4"/>
      <body name="fore" pos="{upper} 0 0">
        <joint name="elbow" class="hinge" range="0.2 2.9"/>
        <geom type="cylinder" size="0.055 0.055" mass="0.1" class="joint"/>
        <geom type="capsule" fromto="0 0 0 {fore} 0 0" size="0.035" mass="0.3"/>
        <geom type="cylinder" size="0.045 0.05" pos="{fore} 0 0" mass="0.1" class="joint"/>
        <body name="hand" pos="{fore} 0 -{beam}" gravcomp="1">
          <joint name="lift" class="slide" axis="0 0 1" range="0 0.55"/>
          <geom type="cylinder" fromto="0 0 0.09 0 0 {beam}" size="0.018" mass="0.1"/>
          <body name="palm" gravcomp="1">
            <joint name="wrist" class="hinge" armature="0.01"/>
            <geom type="box" size="0.025 0.065 0.015" pos="0 0 0.075" mass="0.1" class="joint" contype="2"/>
            <body name="left" gravcomp="1">
              <joint name="left" class="slide" axis="0 1 0" armature="0.05" range="0 0.05"/>
              <geom type="box" size="0.012 0.006 0.042" pos="0 0.006 0.022" mass="0.05" class="finger"/>
            </body>
            <body name="right" gravcomp="1">
              <joint name="right" class="slide" axis="0 -1 0" armature="0.05" range="0 0.05"/>
              <geom type="box" size="0.012 0.006 0.042" pos="0 -0.006 0.022" mass="0.05" class="finger"/>
            </body>
          </body>
        </body>
      </body>
    </body>{cube}
  </worldbody>
  <actuator>
    <position joint="shoulder" kp="4000" kv="100"/>
    <position joint="elbow" kp="3600" kv="90"/>
    <position joint="lift" kp="2500" kv="64" forcerange="-80 80"/>
    <position joint="wrist" kp="64" kv="1.6"/>
    <position joint="left" kp="600" kv="12" forcerange="-20 20"/>
    <position joint="right" kp="600" kv="12" forcerange="-20 20"/>
  </actuator>
</mujoco>
"""


def scene(tolerance: float, cube: bool) -> str:
    """The model in MJCF, with a ball of the tolerance as the goal."""
    under, leg = BEAM - 0.05, (-FLOOR - 0.04) / 2
    return XML.format(
        base=LINKS[0],
        upper=LINKS[1],
        fore=LINKS[2],
        beam=BEAM,
        floor=FLOOR,
        under=under,
        leg=leg,
        leg_at=FLOOR + leg,
        tolerance=tolerance,
        cube=CUBE_XML if cube else "",
    )


def forward(joints: ArrayLike) -> Float:
    """Where the hand is, the point between the fingers' pads, float64[..., 3] in m, of joints float64[..., 3 or more].

    Joints are shoulder and elbow (rad) and lift (m).

    >>> forward([0.0, 0.0, 0.1]).round(3).tolist()
    [0.35, 0.0, 0.1]
    """
    rows, shape = _rows(joints)
    hand = np.empty((len(rows), 3))
    k.forward(rows, LINKS, hand)
    return hand.reshape(*shape, 3)


def velocity(joints: ArrayLike, speeds: ArrayLike) -> Float:
    """How fast the hand moves, float64[..., 3] in m/s: the derivative of `forward` along the joints' speeds.

    >>> velocity([0.0, 1.0, 0.1], [0.0, 1.0, 0.2]).round(3).tolist()
    [-0.379, 0.243, 0.2]
    """
    rows, shape = _rows(joints)
    out = np.empty((len(rows), 3))
    k.velocity(rows, _rows(speeds)[0], LINKS, out)
    return out.reshape(*shape, 3)


def inverse(hand: ArrayLike) -> Float:
    """Joints that bring the hand there, float64[..., 4]: shoulder, elbow (its angle above 0), lift and wrist.

    The wrist undoes what shoulder and elbow turn, so the gripper keeps its direction. Out of reach, the arm points
    there; all of `LOW` to `HIGH` is within reach.

    >>> forward(inverse([0.1, -0.2, 0.3])).round(12).tolist()
    [0.1, -0.2, 0.3]
    """
    rows, shape = _rows(hand)
    joints = np.empty((len(rows), 4))
    k.inverse(rows, LINKS, joints)
    return joints.reshape(*shape, 4)


def _rows(values: ArrayLike) -> tuple[Float, tuple[int, ...]]:
    array = np.asarray(values, np.float64)
    return (array if array.ndim == 2 else array.reshape(-1, array.shape[-1])), array.shape[:-1]
