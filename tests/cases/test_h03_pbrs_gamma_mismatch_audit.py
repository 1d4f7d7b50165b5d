"""An audit of shaping must discount, and must notice two different discounts.

Source   AI Stack Exchange question "Why does potential-based reward shaping seem to alter
         the optimal policy in this case?" (returns summed without discount), with
         vwxyzjn/cleanrl issue 203, araffin/rl-baselines-zoo issue 91 and
         ikostrikov/pytorch-a2c-ppo-acktr-gail issue 87 (a wrapper's gamma differs from the
         agent's).
Symptom  Correct shaping looks as if it changed the best policy (undiscounted sums), or
         wrong shaping passes (the wrapper's default gamma differs from the agent's).
Right    residual = shaped return - original return - (end term - Phi(s0)), all discounted
         with the AGENT's gamma, where the end term is gamma^T * Phi(s_T) for a truncated
         episode and 0 for a terminated one.  Residual 0 everywhere: policy kept.

Arithmetic, Phi = [0, 50, 0, 0, 0], state 2 is the goal
  red 0->1->2, rewards 0, 1;  blue 0->3->4->2, rewards -1, 0, 1
  shaping gamma 0.8: red's shaped rewards 0+40-0 = 40 and 1+0-50 = -49; blue's are its own
  agent 0.8   red  original 0.8*1 = 0.8      shaped 40 - 0.8*49  = 0.8     residual 0
              blue original -1 + 0.64 = -0.36                               residual 0
              (undiscounted: red 40 - 49 = -9 < blue 0, wrong verdict)
  agent 0.99  red  original 0.99              shaped 40 - 0.99*49 = -8.51  residual -9.5
              blue original -1 + 0.9801 = -0.0199, shaped the same          residual 0
              red was best, blue is best now: policy not kept
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

RED = {"states": [0, 1, 2], "rewards": [0.0, 1.0], "terminated": True}
BLUE = {"states": [0, 3, 4, 2], "rewards": [-1.0, 0.0, 1.0], "terminated": True}
SETUP = {"gamma_shaping": 0.8, "phi": [0.0, 50.0, 0.0, 0.0, 0.0], "episodes": [RED, BLUE]}

CALLS = [
    {"verb": "audit_shaping", "inputs": {**SETUP, "gamma_agent": 0.8},
     "expected": {"original": [0.8, -0.36], "shaped": [0.8, -0.36],
                  "residual": [0.0, 0.0], "policy_kept": True},
     "wrong": {"undiscounted": {"original": [1.0, 0.0], "shaped": [-9.0, 0.0],
                                "residual": [-10.0, 0.0], "policy_kept": False}}},
    {"verb": "audit_shaping", "inputs": {**SETUP, "gamma_agent": 0.99},
     "expected": {"original": [0.99, -0.0199], "shaped": [-8.51, -0.0199],
                  "residual": [-9.5, 0.0], "policy_kept": False},
     "wrong": {"audited with the wrapper's gamma": {
         "original": [0.8, -0.36], "shaped": [0.8, -0.36],
         "residual": [0.0, 0.0], "policy_kept": True}}},
]


def audit_shaping(gamma_shaping, gamma_agent, phi, episodes):
    original, shaped, residual = [], [], []
    for episode in episodes:
        states, rewards = episode["states"], episode["rewards"]
        steps, plain, full = len(rewards), 0.0, 0.0
        for t, reward in enumerate(rewards):
            last = t == steps - 1
            ahead = 0.0 if last and episode["terminated"] else phi[states[t + 1]]
            plain += gamma_agent ** t * reward
            full += gamma_agent ** t * (reward + gamma_shaping * ahead - phi[states[t]])
        end = 0.0 if episode["terminated"] else gamma_agent ** steps * phi[states[-1]]
        original.append(plain)
        shaped.append(full)
        residual.append(full - plain - (end - phi[states[0]]))
    return {"original": original, "shaped": shaped, "residual": residual,
            "policy_kept": all(abs(r) < 1e-9 for r in residual)}


def test_arithmetic():
    check_arithmetic(CALLS, {"audit_shaping": audit_shaping})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
