"""Text tasks: reward is the CHANGE of the score; an ended episode is not a solved one.

Source   allenai/ScienceWorld issue 3 and PR 6 (step gave the running score as the reward),
         microsoft/TextWorld issue 132 (why is it the difference?),
         Tencent/digitalhuman issue 35 and WujiangXu/EPO issue 3 (success meant "done and
         score above 0", so a run cut off with a partial score was paid in full),
         alfworld/alfworld issue 4 (a won game did not give the win's reward).
Symptom  Early points are paid again on every later step; partial work that ran out of steps
         counts as success.
Right    reward_t = score_t - score_{t-1}; the rewards add up to the last score minus the
         first; success only when the full score is reached.

Arithmetic, full score 100, score 0 after reset
  30, 30, 100, completed:  30, 0, 70; sum 100; success   (running score: 160, wrong)
  40, 40, out of steps:    40, 0; sum 40; no success
  20, -100, lost:          20, -120; sum -100; no success
  score 10 after reset (points for the start), then 10, 100: 0, 90; sum 90; success
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

CALLS = [
    {"verb": "text_rewards",
     "inputs": {"start": 0.0, "scores": [30.0, 30.0, 100.0], "full": 100.0, "end": "completed"},
     "expected": {"rewards": [30.0, 0.0, 70.0], "total": 100.0, "success": True,
                  "terminated": True, "truncated": False},
     "wrong": {"running score": {"rewards": [30.0, 30.0, 100.0], "total": 160.0,
                                 "success": True, "terminated": True, "truncated": False}}},
    {"verb": "text_rewards",
     "inputs": {"start": 0.0, "scores": [40.0, 40.0], "full": 100.0, "end": "out_of_steps"},
     "expected": {"rewards": [40.0, 0.0], "total": 40.0, "success": False,
                  "terminated": False, "truncated": True},
     "wrong": {"done with points is success": {"rewards": [40.0, 0.0], "total": 40.0,
                                               "success": True, "terminated": True,
                                               "truncated": False}}},
    {"verb": "text_rewards",
     "inputs": {"start": 0.0, "scores": [20.0, -100.0], "full": 100.0, "end": "lost"},
     "expected": {"rewards": [20.0, -120.0], "total": -100.0, "success": False,
                  "terminated": True, "truncated": False},
     "wrong": {"losses cut at zero": {"rewards": [20.0, 0.0], "total": 20.0, "success": False,
                                      "terminated": True, "truncated": False}}},
    {"verb": "text_rewards",
     "inputs": {"start": 10.0, "scores": [10.0, 100.0], "full": 100.0, "end": "completed"},
     "expected": {"rewards": [0.0, 90.0], "total": 90.0, "success": True,
                  "terminated": True, "truncated": False},
     "wrong": {"start taken as zero": {"rewards": [10.0, 90.0], "total": 100.0,
                                       "success": True, "terminated": True,
                                       "truncated": False}}},
]


def text_rewards(start, scores, full, end):
    rewards = [now - before for before, now in zip([start] + scores, scores)]
    return {"rewards": rewards, "total": sum(rewards), "success": scores[-1] >= full,
            "terminated": end != "out_of_steps", "truncated": end == "out_of_steps"}


def test_arithmetic():
    check_arithmetic(CALLS, {"text_rewards": text_rewards})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
