"""The task's own return is reported, whatever the wrappers did to the reward.

Source   DLR-RM/stable-baselines3 issues 181, 146, 798, 1757, 2159 (which reward does the
         monitor or the evaluation report? it depends on the wrapper order),
         HumanCompatibleAI/imitation issue 252 and PR 404 (the learned reward's return is not
         reachable; the name of the original reward was ambiguous),
         ManifoldRG/NEKO issue 7 (clipped sums were reported as scores),
         DLR-RM/stable-baselines3 issue 1160 and DLR-RM/rl-baselines3-zoo issue 454 (users
         want every reward term by name).
Symptom  A shaped, clipped or scaled sum is reported as the task's score; or only the task's
         score is logged and nobody sees what the agent was trained on.
Right    At the episode's end both are there under separate names, with a sum per term; an
         evaluation reports the true return.

Arithmetic
  task 0, 0, 1; shaping 0.5, -0.2, -0.3; curiosity 0.1, 0.1, 0.1
    true 1; shaping 0.0; curiosity 0.3; training 1.3; evaluation 1
  task 200, -50, scale 0.01: true 150, training 1.5, evaluation 150
  task 5, -3, clipped to [-1, 1]: true 2, training 0, evaluation 2
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

CALLS = [
    {"verb": "episode_report",
     "inputs": {"task": [0.0, 0.0, 1.0], "scale": 1.0, "clip": None,
                "terms": {"shaping": [0.5, -0.2, -0.3], "curiosity": [0.1, 0.1, 0.1]}},
     "expected": {"true_return": 1.0, "training_return": 1.3, "evaluation_return": 1.0,
                  "length": 3, "terms": {"shaping": 0.0, "curiosity": 0.3}},
     "wrong": {"wrapped reward reported": {
         "true_return": 1.3, "training_return": 1.3, "evaluation_return": 1.3,
         "length": 3, "terms": {"shaping": 0.0, "curiosity": 0.3}}}},
    {"verb": "episode_report",
     "inputs": {"task": [200.0, -50.0], "scale": 0.01, "clip": None, "terms": {}},
     "expected": {"true_return": 150.0, "training_return": 1.5, "evaluation_return": 150.0,
                  "length": 2, "terms": {}},
     "wrong": {"scaled sum reported": {"true_return": 1.5, "training_return": 1.5,
                                       "evaluation_return": 1.5, "length": 2, "terms": {}}}},
    {"verb": "episode_report",
     "inputs": {"task": [5.0, -3.0], "scale": 1.0, "clip": [-1.0, 1.0], "terms": {}},
     "expected": {"true_return": 2.0, "training_return": 0.0, "evaluation_return": 2.0,
                  "length": 2, "terms": {}},
     "wrong": {"clipped sum reported": {"true_return": 0.0, "training_return": 0.0,
                                        "evaluation_return": 0.0, "length": 2, "terms": {}}}},
]


def episode_report(task, scale, clip, terms):
    low, high = clip or (float("-inf"), float("inf"))
    trained = sum(min(max(scale * r, low), high) for r in task)
    sums = {name: sum(values) for name, values in terms.items()}
    return {"true_return": sum(task), "training_return": trained + sum(sums.values()),
            "evaluation_return": sum(task), "length": len(task), "terms": sums}


def test_arithmetic():
    check_arithmetic(CALLS, {"episode_report": episode_report})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
