"""A reward file written by the agent is worth nothing.

Source   huggingface/OpenEnv issue 1199 (the file lies in the agent's sandbox, is not cleared
         before the checks, wins over them, and any float passes), valbaudo/dawn issue 14
         (a planted reward.json beat the verifier's reward.txt),
         huggingface/OpenEnv PR 965 review (a reward written before a time-out got lost).
Symptom  Writing "1.0" into a file earns full reward; NaN, infinite or out-of-range numbers
         reach the learner.
Right    What lay there before the verifier started is ignored, under any name.  Without a
         verifier file the reward is passed / total.  A verifier's number that is not finite
         or not in [0, 1] is an error with reward None, never clamped and never 0.

Arithmetic
  agent 1.0, checks 0 of 3, no verifier file      -> 0/3 = 0.0   (planted file: 1.0, wrong)
  agent 1.0, verifier 0.5                         -> 0.5
  agent reward.json 1, verifier reward.txt 0      -> 0.0
  no files, checks 2 of 4                         -> 0.5
  verifier nan, inf, -0.5 or 1.5                  -> error, None
"""
import math

import pytest

from tests.cases._case import check_arithmetic, check_call


def call(agent, verifier, passed, total, expected, **wrong):
    return {"verb": "grade_workspace",
            "inputs": {"agent_files": agent, "verifier_files": verifier,
                       "passed": passed, "total": total},
            "expected": expected, "wrong": wrong}


OK = "ok"
CALLS = [
    call({"reward.txt": "1.0"}, {}, 0, 3, {"reward": 0.0, "status": OK},
         planted={"reward": 1.0, "status": OK}),
    call({"reward.txt": "1.0"}, {"reward.txt": "0.5"}, 1, 3, {"reward": 0.5, "status": OK},
         planted={"reward": 1.0, "status": OK}),
    call({"reward.json": '{"reward": 1}'}, {"reward.txt": "0"}, 0, 1,
         {"reward": 0.0, "status": OK}, planted={"reward": 1.0, "status": OK}),
    call({}, {}, 2, 4, {"reward": 0.5, "status": OK}, all_or_nothing={"reward": 0.0, "status": OK}),
    call({}, {"reward.txt": "nan"}, 1, 1, {"reward": None, "status": "error"},
         turned_into_zero={"reward": 0.0, "status": OK}),
    call({}, {"reward.txt": "inf"}, 1, 1, {"reward": None, "status": "error"},
         let_through={"reward": math.inf, "status": OK}),
    call({}, {"reward.txt": "1.5"}, 1, 1, {"reward": None, "status": "error"},
         clamped={"reward": 1.0, "status": OK}),
    call({}, {"reward.txt": "-0.5"}, 1, 1, {"reward": None, "status": "error"},
         let_through={"reward": -0.5, "status": OK}),
]


def grade_workspace(agent_files, verifier_files, passed, total):
    if "reward.txt" not in verifier_files:
        return {"reward": passed / total, "status": OK}
    value = float(verifier_files["reward.txt"])
    if not math.isfinite(value) or not 0.0 <= value <= 1.0:
        return {"reward": None, "status": "error"}
    return {"reward": value, "status": OK}


def test_arithmetic():
    check_arithmetic(CALLS, {"grade_workspace": grade_workspace})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
