"""Only what the policy wrote is scored; the reward sits on its last token.

Source   verl-project/verl PR 6392 (tool output was decoded as if the model had written it; the
         reward was put on the last present token instead of the last model token),
         verl-project/verl issue 3525 (rewards of single tool calls got lost).
Symptom  A tool prints the answer and the model is paid for it.
Right    The scorer sees policy tokens only; the reward's place is the last policy token;
         padding and tool tokens never carry reward.

Arithmetic, scorer: 1 when the answer is among the words it sees, else 0
  words the sum is unknown 42 <pad>; policy 1 1 1 1 0 0; present 1 1 1 1 1 0
    seen "the sum is unknown": 0, place 3 (with the tool's words: 1 at place 4, wrong)
  words run 42 answer 42 <pad>; policy 1 0 1 1 0; present 1 1 1 1 0
    seen "run answer 42": 1, place 3
  words tool said 42, policy all 0: nothing was written: 0, no place
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

CALLS = [
    {"verb": "score_rollout",
     "inputs": {"words": ["the", "sum", "is", "unknown", "42", "<pad>"],
                "policy": [1, 1, 1, 1, 0, 0], "present": [1, 1, 1, 1, 1, 0], "answer": "42"},
     "expected": {"seen": "the sum is unknown", "reward": 0.0, "place": 3},
     "wrong": {"tool output scored": {"seen": "the sum is unknown 42", "reward": 1.0,
                                      "place": 4},
               "reward on the tool's token": {"seen": "the sum is unknown", "reward": 0.0,
                                              "place": 4}}},
    {"verb": "score_rollout",
     "inputs": {"words": ["run", "42", "answer", "42", "<pad>"],
                "policy": [1, 0, 1, 1, 0], "present": [1, 1, 1, 1, 0], "answer": "42"},
     "expected": {"seen": "run answer 42", "reward": 1.0, "place": 3},
     "wrong": {"cut at the first tool word": {"seen": "run", "reward": 0.0, "place": 0}}},
    {"verb": "score_rollout",
     "inputs": {"words": ["tool", "said", "42"], "policy": [0, 0, 0], "present": [1, 1, 1],
                "answer": "42"},
     "expected": {"seen": "", "reward": 0.0, "place": None},
     "wrong": {"tool output scored": {"seen": "tool said 42", "reward": 1.0, "place": 2}}},
]


def score_rollout(words, policy, present, answer):
    places = [i for i, (p, here) in enumerate(zip(policy, present)) if p and here]
    seen = [words[i] for i in places]
    return {"seen": " ".join(seen), "reward": float(answer in seen),
            "place": places[-1] if places else None}


def test_arithmetic():
    check_arithmetic(CALLS, {"score_rollout": score_rollout})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
