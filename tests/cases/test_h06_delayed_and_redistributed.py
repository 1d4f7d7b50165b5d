"""A reward paid at the end is paid at EVERY end; spreading it keeps its sum.

Source   Farama-Foundation/Gymnasium issue 351 (a wrapper inside the time limit never sees the
         end), vwxyzjn/cleanrl issue 454 and sail-sg/envpool issue 299 with PR 348 (sums run on
         over a time limit: 20 where 10 is right), huggingface/OpenEnv PR 337 (score of a whole
         run, paid at the end or discounted back; the store is cleared on reset),
         minerllabs/minerl issue 549 (data went on after the end),
         PyTorchRL/pytorchrl PR 8 (asks for a delaying wrapper).
Symptom  Episodes that hit the time limit pay nothing, or their reward turns up in the next
         episode; the spread rewards add up to something else than the episode's return.
Right    terminated or truncated: the whole sum is paid, the store is emptied.  An episode still
         open pays nothing yet.  Spread rewards add up to the return, whatever the weights.

Arithmetic, rewards 1, 2, 3 | 4, 5; time limit after the third, real end after the fifth
  delayed        0, 0, 6, 0, 9   (real ends only: 0, 0, 0, 0, 15; time limit lost: 0, 0, 0, 0, 9)
  even shares    2, 2, 2, 4.5, 4.5
  discounted shares, gamma 0.5, weights 0.25, 0.5, 1 of 1.75 and 0.5, 1 of 1.5:
                 6/7, 12/7, 24/7, 3, 6; sums 6 and 9   (not normalised: 1.5, 3, 6, 4.5, 9, sum 10.5)
  1, 1 with no end, delayed: 0, 0 and 2 pending   (paid at the end of the data: 0, 2)
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

TWO = {"rewards": [1.0, 2.0, 3.0, 4.0, 5.0],
       "terminated": [False, False, False, False, True],
       "truncated": [False, False, True, False, False]}

CALLS = [
    {"verb": "redistribute", "inputs": {**TWO, "mode": "delayed", "gamma": None},
     "expected": {"rewards": [0.0, 0.0, 6.0, 0.0, 9.0], "pending": 0.0},
     "wrong": {"real ends only": {"rewards": [0.0, 0.0, 0.0, 0.0, 15.0], "pending": 0.0},
               "lost at the time limit": {"rewards": [0.0, 0.0, 0.0, 0.0, 9.0],
                                          "pending": 0.0}}},
    {"verb": "redistribute", "inputs": {**TWO, "mode": "even", "gamma": None},
     "expected": {"rewards": [2.0, 2.0, 2.0, 4.5, 4.5], "pending": 0.0},
     "wrong": {"over both episodes": {"rewards": [3.0] * 5, "pending": 0.0}}},
    {"verb": "redistribute", "inputs": {**TWO, "mode": "discounted_share", "gamma": 0.5},
     "expected": {"rewards": [6.0 / 7.0, 12.0 / 7.0, 24.0 / 7.0, 3.0, 6.0], "pending": 0.0},
     "wrong": {"not normalised": {"rewards": [1.5, 3.0, 6.0, 4.5, 9.0], "pending": 0.0}}},
    {"verb": "redistribute",
     "inputs": {"rewards": [1.0, 1.0], "terminated": [False, False],
                "truncated": [False, False], "mode": "delayed", "gamma": None},
     "expected": {"rewards": [0.0, 0.0], "pending": 2.0},
     "wrong": {"paid at the end of the data": {"rewards": [0.0, 2.0], "pending": 0.0}}},
]


def redistribute(rewards, terminated, truncated, mode, gamma):
    out, first = [0.0] * len(rewards), 0
    for t in range(len(rewards)):
        if not (terminated[t] or truncated[t]):
            continue
        n, total = t + 1 - first, sum(rewards[first:t + 1])
        weights = {"delayed": [0.0] * (n - 1) + [1.0], "even": [1.0] * n,
                   "discounted_share": [(gamma or 0.0) ** (n - 1 - i) for i in range(n)]}[mode]
        for i, weight in enumerate(weights):
            out[first + i] = total * weight / sum(weights)
        first = t + 1
    return {"rewards": out, "pending": float(sum(rewards[first:]))}


def test_arithmetic():
    check_arithmetic(CALLS, {"redistribute": redistribute})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
