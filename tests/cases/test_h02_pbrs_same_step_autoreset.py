"""Shaping over a vector environment that resets inside the ending step.

Source   HumanCompatibleAI/seals PR 69 (the last transition of an episode showed the jump
         to the next episode), mujocolab/mjlab PR 1030 (a reward on (s, s') pairs scored the
         step into the next episode's first state), hill-a/stable-baselines issues 400 and
         245 (the true last observation is replaced), Farama-Foundation/Gymnasium PR 1227
         (same-step mode keeps the real last observation in info).
Symptom  At every episode end the shaping compares the old state with the NEXT episode's
         first state; after it, the old potential may linger.
Right    The ending step uses the final observation; the step after starts from the
         potential of the reset observation; the other sub-environments are not touched.

Arithmetic, gamma 0.5, Phi = [0.4, 1, 2, 3, 10]; sub-environment 0 is truncated on step 2
in state 4 and comes back in state 0; sub-environment 1 never ends
  env 0  step 1: 0.5*1 - 0.4 = 0.1
         step 2: 0.5*10 - 1  = 4.0   (reset observation used: 0.5*0.4 - 1 = -0.8, wrong;
                                      as if terminal: -1.0, wrong)
         step 3: 0.5*1 - 0.4 = 0.1   (stale final potential: 0.5*1 - 10 = -9.5, wrong)
  env 1  0.5*2 - 3 = -2.0;  0.5*1 - 2 = -1.5;  0.5*0.4 - 1 = -0.8
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

STEPS = [
    {"obs": [1, 2], "reward": [0.0, 0.0], "terminated": [False, False],
     "truncated": [False, False], "final_obs": [None, None]},
    {"obs": [0, 1], "reward": [0.0, 0.0], "terminated": [False, False],
     "truncated": [True, False], "final_obs": [4, None]},
    {"obs": [1, 0], "reward": [0.0, 0.0], "terminated": [False, False],
     "truncated": [False, False], "final_obs": [None, None]},
]

CALLS = [
    {"verb": "shape_vector_same_step",
     "inputs": {"gamma": 0.5, "phi": [0.4, 1.0, 2.0, 3.0, 10.0],
                "reset_obs": [0, 3], "steps": STEPS},
     "expected": {"shaped": [[0.1, -2.0], [4.0, -1.5], [0.1, -0.8]]},
     "wrong": {
         "reset observation as next state": {"shaped": [[0.1, -2.0], [-0.8, -1.5], [0.1, -0.8]]},
         "time limit as terminal": {"shaped": [[0.1, -2.0], [-1.0, -1.5], [0.1, -0.8]]},
         "stale potential after reset": {"shaped": [[0.1, -2.0], [4.0, -1.5], [-9.5, -0.8]]}}},
]


def shape_vector_same_step(gamma, phi, reset_obs, steps):
    before, shaped = list(reset_obs), []
    for step in steps:
        row = []
        for i, now in enumerate(step["obs"]):
            ended = step["terminated"][i] or step["truncated"][i]
            last = step["final_obs"][i] if ended else now
            ahead = 0.0 if step["terminated"][i] else phi[last]
            row.append(step["reward"][i] + gamma * ahead - phi[before[i]])
            before[i] = now
        shaped.append(row)
    return {"shaped": shaped}


def test_arithmetic():
    check_arithmetic(CALLS, {"shape_vector_same_step": shape_vector_same_step})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
