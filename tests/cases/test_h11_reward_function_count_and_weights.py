"""Batch reward functions: one number per sample, and the weights count in the log.

Source   huggingface/trl issue 6533 (one number for the whole batch was spread silently),
         huggingface/trl issue 5352 (the logged total left the weights out),
         huggingface/trl issue 4939 (documented and real signature differ).
Symptom  A broken reward function trains the model with a constant; the dashboard shows a
         total the learner never saw.
Right    A result of the wrong length is an error that names the function; nothing is spread
         or cut.  Logged total = the weighted total that was trained on.

Arithmetic
  accuracy 1, 1 with weight 0.7, format 0, 0 with weight 0.3 -> 0.7, 0.7; mean 0.7
  (unweighted: 1.0, wrong)
  accuracy 1, 0 weight 2, format 0, 1 weight -1 -> 2, -1; mean 0.5
  accuracy [1.0] for three samples: error naming "accuracy" (spread: 1, 1, 1, wrong)
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

CALLS = [
    {"verb": "combine_rewards",
     "inputs": {"samples": 2, "results": {"accuracy": [1.0, 1.0], "format": [0.0, 0.0]},
                "weights": {"accuracy": 0.7, "format": 0.3}},
     "expected": {"total": [0.7, 0.7], "logged_mean": 0.7},
     "wrong": {"weights left out of the log": {"total": [0.7, 0.7], "logged_mean": 1.0}}},
    {"verb": "combine_rewards",
     "inputs": {"samples": 2, "results": {"accuracy": [1.0, 0.0], "format": [0.0, 1.0]},
                "weights": {"accuracy": 2.0, "format": -1.0}},
     "expected": {"total": [2.0, -1.0], "logged_mean": 0.5},
     "wrong": {"weights made positive": {"total": [2.0, 1.0], "logged_mean": 1.5}}},
    {"verb": "combine_rewards",
     "inputs": {"samples": 3, "results": {"accuracy": [1.0]}, "weights": {"accuracy": 1.0}},
     "expected": {"raises": ["accuracy"]},
     "wrong": {"spread over the batch": {"total": [1.0, 1.0, 1.0], "logged_mean": 1.0}}},
    {"verb": "combine_rewards",
     "inputs": {"samples": 2, "results": {"accuracy": [1.0, 0.0, 1.0]},
                "weights": {"accuracy": 1.0}},
     "expected": {"raises": ["accuracy"]},
     "wrong": {"cut to the batch": {"total": [1.0, 0.0], "logged_mean": 0.5}}},
]


def combine_rewards(samples, results, weights):
    for name, values in results.items():
        if len(values) != samples:
            raise ValueError(f"{name} gave {len(values)} rewards for {samples} samples")
    total = [sum(weights[name] * values[i] for name, values in results.items())
             for i in range(samples)]
    return {"total": total, "logged_mean": sum(total) / samples}


def test_arithmetic():
    check_arithmetic(CALLS, {"combine_rewards": combine_rewards})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
