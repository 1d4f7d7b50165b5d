"""A relabelled transition gets a new reward AND a new termination flag.

Source   DLR-RM/stable-baselines3 issue 627 (the flag is kept), rail-berkeley/rlkit issue 96
         (the flag is kept; with a 0/1 reward the values blow up),
         Farama-Foundation/Gymnasium-Robotics issue 16 (asks for the missing method),
         Gymnasium-Robotics PR 111 (continuing tasks do not terminate on success).
Symptom  The learner bootstraps beyond a goal that ends the episode: with reward 1 on the
         goal the target becomes 1 + gamma * Q without end.  Or a transition that ended for
         the old goal stays terminal for a goal it did not reach.
Right    reward and terminated are computed for the new goal under the task's own rule; a
         truncation stays as it was.  Target = reward + gamma * next_q unless terminated.

Arithmetic, reward 1 when |achieved - goal| <= 0.1 else 0, gamma 0.9, next_q 5
  reached by relabelling, task ends on success:      1           (flag kept: 1 + 4.5 = 5.5)
  old goal was reached, new one is not:              0 + 4.5 = 4.5   (flag kept: 0)
  reached, but the task goes on after a success:     1 + 4.5 = 5.5   (ended: 1)
  truncated and not reached: truncated stays, target 4.5
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

BASE = {"gamma": 0.9, "next_q": 5.0, "tolerance": 0.1}

CALLS = [
    {"verb": "her_relabel",
     "inputs": {**BASE, "next_achieved": 3.0, "new_goal": 3.0, "terminated": False,
                "truncated": False, "ends_on_success": True},
     "expected": {"reward": 1.0, "terminated": True, "truncated": False, "target": 1.0},
     "wrong": {"flag kept": {"reward": 1.0, "terminated": False, "truncated": False,
                             "target": 5.5}}},
    {"verb": "her_relabel",
     "inputs": {**BASE, "next_achieved": 3.0, "new_goal": 8.0, "terminated": True,
                "truncated": False, "ends_on_success": True},
     "expected": {"reward": 0.0, "terminated": False, "truncated": False, "target": 4.5},
     "wrong": {"flag kept": {"reward": 0.0, "terminated": True, "truncated": False,
                             "target": 0.0}}},
    {"verb": "her_relabel",
     "inputs": {**BASE, "next_achieved": 3.0, "new_goal": 3.0, "terminated": False,
                "truncated": False, "ends_on_success": False},
     "expected": {"reward": 1.0, "terminated": False, "truncated": False, "target": 5.5},
     "wrong": {"success always ends": {"reward": 1.0, "terminated": True,
                                       "truncated": False, "target": 1.0}}},
    {"verb": "her_relabel",
     "inputs": {**BASE, "next_achieved": 3.0, "new_goal": 8.0, "terminated": False,
                "truncated": True, "ends_on_success": True},
     "expected": {"reward": 0.0, "terminated": False, "truncated": True, "target": 4.5},
     "wrong": {"time limit as terminal": {"reward": 0.0, "terminated": True,
                                          "truncated": True, "target": 0.0}}},
]


def her_relabel(next_achieved, new_goal, tolerance, terminated, truncated,
                ends_on_success, gamma, next_q):
    reached = abs(next_achieved - new_goal) <= tolerance
    ended = reached and ends_on_success
    return {"reward": float(reached), "terminated": ended, "truncated": truncated,
            "target": float(reached) + (0.0 if ended else gamma * next_q)}


def test_arithmetic():
    check_arithmetic(CALLS, {"her_relabel": her_relabel})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
