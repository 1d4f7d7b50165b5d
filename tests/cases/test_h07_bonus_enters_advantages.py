"""A bonus put in after the rollout must reach the advantages.

Source   DLR-RM/stable-baselines3 PR 2000 (rewards changed in the rollout-end callback do
         not change the advantages, computed before it), RLE-Foundation/RLeXplore issue 3
         (users wire the bonus in with exactly that callback),
         jcwleo/curiosity-driven-exploration-pytorch issue 9 (is the bonus used at all?).
Symptom  The bonus shows in the logs and in the buffer; the policy trains without it.
Right    Advantages and returns are those of r_ext + beta * r_int.

Arithmetic, gamma 0.5, lambda 1, values 0.5 each, terminated after step 3, beta 0.2
  rewards 0, 0, 1 plus 0.2 * (1, 0.5, 0) = 0.2, 0.1, 1
  returns G3 = 1, G2 = 0.1 + 0.5 = 0.6, G1 = 0.2 + 0.3 = 0.5; advantages 0, 0.1, 0.5
  without the bonus: returns 0.25, 0.5, 1; advantages -0.25, 0, 0.5 (wrong)
  truncated instead, value of the final state 2: bootstrap 0.5 * 2 on the last step:
  G3 = 1 + 1 = 2, G2 = 0.1 + 1 = 1.1, G1 = 0.2 + 0.55 = 0.75; advantages 0.25, 0.6, 1.5
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

ROLLOUT = {"gamma": 0.5, "lam": 1.0, "r_ext": [0.0, 0.0, 1.0], "r_int": [1.0, 0.5, 0.0],
           "beta": 0.2, "values": [0.5, 0.5, 0.5]}

CALLS = [
    {"verb": "advantages_with_bonus",
     "inputs": {**ROLLOUT, "end": "terminated", "final_value": 2.0},
     "expected": {"returns": [0.5, 0.6, 1.0], "advantages": [0.0, 0.1, 0.5]},
     "wrong": {"bonus too late": {"returns": [0.25, 0.5, 1.0],
                                  "advantages": [-0.25, 0.0, 0.5]},
               "bootstraps a terminal state": {"returns": [0.75, 1.1, 2.0],
                                               "advantages": [0.25, 0.6, 1.5]}}},
    {"verb": "advantages_with_bonus",
     "inputs": {**ROLLOUT, "end": "truncated", "final_value": 2.0},
     "expected": {"returns": [0.75, 1.1, 2.0], "advantages": [0.25, 0.6, 1.5]},
     "wrong": {"time limit as terminal": {"returns": [0.5, 0.6, 1.0],
                                          "advantages": [0.0, 0.1, 0.5]}}},
]


def advantages_with_bonus(gamma, lam, r_ext, r_int, beta, values, end, final_value):
    rewards = [e + beta * i for e, i in zip(r_ext, r_int)]
    ahead = 0.0 if end == "terminated" else final_value
    advantage, advantages = 0.0, []
    for reward, value in zip(reversed(rewards), reversed(values)):
        advantage = reward + gamma * ahead - value + gamma * lam * advantage
        advantages.insert(0, advantage)
        ahead = value
    return {"advantages": advantages,
            "returns": [a + v for a, v in zip(advantages, values)]}


def test_arithmetic():
    check_arithmetic(CALLS, {"advantages_with_bonus": advantages_with_bonus})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
