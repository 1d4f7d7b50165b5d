"""Reward normalisation: the running return ends with the episode; zero stays zero.

Source   Farama-Foundation/Gymnasium issues 760 and 1507 (the running return survives a
         truncation or reset), openai/baselines issue 538 and DLR-RM/stable-baselines3 issue
         1093 (it is to start again at done), stable-baselines3 issues 348 and 1447 and Gymnasium
         issue 651 (should the mean be taken off?), openai/gym PR 1635 (sparse rewards get
         spoiled by normalisation).
Symptom  With time limits the scale keeps growing, since the last episode's return leaks
         into the next; or a zero reward becomes a bonus after the mean is taken off.
Right    The discounted running return starts at 0 after terminated OR truncated.  The
         reward is divided by sqrt(var + epsilon), the mean is never taken off: sign and
         zero are kept.

Arithmetic, gamma 0.5
  rewards 1, 1 | truncated | 1, 1
    right: returns 1, 1.5, 1, 1.5; mean 1.25, var 0.0625, scale 0.25
    wrong: 1, 1.5, 1.75, 1.875; mean 1.53125, var 0.11230, scale 0.33512
    frozen probes 0, 1, -1 -> 0, 4, -4
  rewards 0, 0, 0, -1, no end
    returns 0, 0, 0, -1; mean -0.25, var 0.25 - 0.0625 = 0.1875, scale 0.433013
    frozen probes 0, -1 -> 0, -2.309401   (mean taken off: 0.57735, -1.73205, wrong)
  The tolerance of 2 % leaves room for a small prior count in the running statistics.
"""
import numpy as np
import pytest

from tests.cases._case import check_arithmetic, check_call

CALLS = [
    {"verb": "normalise_stream", "tol": 0.02,
     "inputs": {"gamma": 0.5, "epsilon": 1e-8, "rewards": [1.0, 1.0, 1.0, 1.0],
                "terminated": [False] * 4, "truncated": [False, True, False, False],
                "probe": [0.0, 1.0, -1.0]},
     "expected": {"returns": [1.0, 1.5, 1.0, 1.5], "scale": 0.25, "frozen": [0.0, 4.0, -4.0]},
     "wrong": {"truncation does not end the return": {
         "returns": [1.0, 1.5, 1.75, 1.875], "scale": 0.33512,
         "frozen": [0.0, 2.98401, -2.98401]}}},
    {"verb": "normalise_stream", "tol": 0.02,
     "inputs": {"gamma": 0.5, "epsilon": 1e-8, "rewards": [1.0, 1.0, 1.0, 1.0],
                "terminated": [False, True, False, False], "truncated": [False] * 4,
                "probe": [1.0]},
     "expected": {"returns": [1.0, 1.5, 1.0, 1.5], "scale": 0.25, "frozen": [4.0]},
     "wrong": {"the return never ends": {"returns": [1.0, 1.5, 1.75, 1.875],
                                         "scale": 0.33512, "frozen": [2.98401]}}},
    {"verb": "normalise_stream", "tol": 0.02,
     "inputs": {"gamma": 0.5, "epsilon": 1e-8, "rewards": [0.0, 0.0, 0.0, -1.0],
                "terminated": [False] * 4, "truncated": [False] * 4, "probe": [0.0, -1.0]},
     "expected": {"returns": [0.0, 0.0, 0.0, -1.0], "scale": 0.433013,
                  "frozen": [0.0, -2.309401]},
     "wrong": {"mean taken off": {"returns": [0.0, 0.0, 0.0, -1.0], "scale": 0.433013,
                                  "frozen": [0.57735, -1.73205]}}},
]


def normalise_stream(gamma, epsilon, rewards, terminated, truncated, probe):
    running, returns = 0.0, []
    for reward, term, trunc in zip(rewards, terminated, truncated):
        running = gamma * running + reward
        returns.append(running)
        if term or trunc:
            running = 0.0
    scale = float(np.sqrt(np.var(returns) + epsilon))
    return {"returns": returns, "scale": scale, "frozen": [p / scale for p in probe]}


def test_arithmetic():
    check_arithmetic(CALLS, {"normalise_stream": normalise_stream})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
