"""Potential-based shaping at the end of an episode.

Source   HumanCompatibleAI/imitation PR 323 and PR 184 (terminal potential was not zero;
         fixed to zero), openai/gym issue 1996 (LunarLander's shaping difference asked
         about), DLR-RM/stable-baselines3 issue 1276 (an episode that ends and hits its
         time limit on the same step), a question-and-answer page "What should I do when
         the potential value of a state is too high?" (a user drops the term when s == s').
Symptom  An agent prefers ending early or late, since the shaping left over at the end
         differs between policies; or a self-loop is unshaped and the telescope breaks.
Right    terminated: the next potential is 0.  truncated only: the next potential is
         Phi(final state), since the learner bootstraps from it.  both flags: terminated
         wins.  A self-loop is shaped like any other step.

Arithmetic, gamma 0.9, Phi = [1, 2, 5], path 0 -> 1 -> 2
  step 1             0 + 0.9*2 - 1 =  0.8
  step 2 terminated  1 + 0.9*0 - 2 = -1.0   (with Phi(2): 1 + 4.5 - 2 = 3.5, wrong)
         check: 0.8 + 0.9*(-1.0) = -0.1 = 0.9 (original) - 1 (Phi of the start)
  step 2 truncated   0 + 0.9*5 - 2 =  2.5   (as if terminal: -2.0, wrong)
         check: 0.8 + 0.9*2.5 = 3.05 = 0.81*5 - 1
  self-loop, gamma 0.99, Phi = 1000: 990 - 1000 = -10
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

PATH = {"gamma": 0.9, "phi": [1.0, 2.0, 5.0], "states": [0, 1, 2]}

CALLS = [
    {"verb": "shape_episode",
     "inputs": {**PATH, "rewards": [0.0, 1.0],
                "terminated": [False, True], "truncated": [False, False]},
     "expected": {"shaped": [0.8, -1.0]},
     "wrong": {"terminal potential kept": {"shaped": [0.8, 3.5]},
               "no shaping on the last step": {"shaped": [0.8, 1.0]}}},
    {"verb": "shape_episode",
     "inputs": {**PATH, "rewards": [0.0, 0.0],
                "terminated": [False, False], "truncated": [False, True]},
     "expected": {"shaped": [0.8, 2.5]},
     "wrong": {"time limit treated as terminal": {"shaped": [0.8, -2.0]}}},
    {"verb": "shape_episode",
     "inputs": {**PATH, "rewards": [0.0, 1.0],
                "terminated": [False, True], "truncated": [False, True]},
     "expected": {"shaped": [0.8, -1.0]},
     "wrong": {"truncation wins over termination": {"shaped": [0.8, 3.5]}}},
    {"verb": "shape_episode",
     "inputs": {"gamma": 0.99, "phi": [1000.0], "states": [0, 0], "rewards": [0.0],
                "terminated": [False], "truncated": [False]},
     "expected": {"shaped": [-10.0]},
     "wrong": {"self-loop left out": {"shaped": [0.0]}}},
]


def shape_episode(gamma, phi, states, rewards, terminated, truncated):
    shaped = []
    for t, reward in enumerate(rewards):
        ahead = 0.0 if terminated[t] else phi[states[t + 1]]
        shaped.append(reward + gamma * ahead - phi[states[t]])
    return {"shaped": shaped}


def test_arithmetic():
    check_arithmetic(CALLS, {"shape_episode": shape_episode})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
