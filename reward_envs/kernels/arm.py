"""Kinematics of an arm with shoulder and elbow about the vertical, a lift, and a wrist."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel

Float = NDArray[np.float64]


@kernel
def forward(joints: Float, links: Float, out: Float) -> None:
    """Where the hand is.

    Parameters
    ----------
    joints : float64[N, 3 or more]
        Shoulder and elbow (rad), and lift (m).
    links : float64[3]
        x of the shoulder, and the lengths from it to the elbow and to the hand (m).
    out : float64[N, 3], written
    """
    base, upper, fore = links
    for i in range(len(out)):
        first = joints[i, 0]
        second = first + joints[i, 1]
        out[i, 0] = base + upper * math.cos(first) + fore * math.cos(second)
        out[i, 1] = upper * math.sin(first) + fore * math.sin(second)
        out[i, 2] = joints[i, 2]


@kernel
def velocity(joints: Float, speeds: Float, links: Float, out: Float) -> None:
    """How fast the hand moves: the derivative of `forward` along `speeds`, which are as `joints`, a second."""
    _, upper, fore = links
    for i in range(len(out)):
        first, turn = joints[i, 0], speeds[i, 0]
        second, both = first + joints[i, 1], turn + speeds[i, 1]
        out[i, 0] = -upper * math.sin(first) * turn - fore * math.sin(second) * both
        out[i, 1] = upper * math.cos(first) * turn + fore * math.cos(second) * both
        out[i, 2] = speeds[i, 2]


@kernel
def inverse(hand: Float, links: Float, out: Float) -> None:
    """Joints that bring the hand to `hand`, float64[N, 3]: `out`, float64[N, 4], written, is shoulder, elbow (its angle
    above 0), lift, and the wrist that undoes the turns of both. Out of reach, the arm points there."""
    base, upper, fore = links
    for i in range(len(out)):
        x, y = hand[i, 0] - base, hand[i, 1]
        bend = (x * x + y * y - (upper**2 + fore**2)) / (2 * upper * fore)
        bend = min(max(bend, -1.0), 1.0)
        elbow = math.acos(bend)
        shoulder = math.atan2(y, x) - math.atan2(fore * math.sin(elbow), upper + fore * bend)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = shoulder, elbow, hand[i, 2], -shoulder - elbow
