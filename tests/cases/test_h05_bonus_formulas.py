"""A bonus named after a paper computes that paper's formula (RND scale, NGU, RE3).

Source   vwxyzjn/cleanrl issue 360 (RND's return filter ran over environments, not over steps),
         openai/random-network-distillation issue 16 and openai/large-scale-curiosity issue 6
         (backwards in time on purpose; a first version did not discount),
         jcwleo/random-network-distillation-pytorch PR 21 (reset at done was tried);
         RLE-Foundation/RLeXplore issue 29 (NGU: values over L became 1; min-max scaling made the
         life-long factor constant);
         ray-project/ray issue 38450 (RE3: the POSITION of the k-th neighbour in the batch was
         used where its DISTANCE belongs; the file was read to make sure).
Symptom  Runs train, bonus curves look alive, and the bonus has little to do with novelty.
Right    RND: f_t = gamma_int * f_{t-1} + r_t per environment along time, not reset at done; the
         reward is divided by the std of all f, nothing taken off.
         NGU: alpha = 1 + (error - running mean) / running std, clipped into [1, L], times the
         episodic part.
         RE3: log(1 + distance to the k-th nearest OTHER point); a shuffled batch gives the same
         numbers, shuffled.

Arithmetic
  RND, gamma 0.5, r[t][env] = [[1,0],[1,0],[1,0]]: 1, 1.5, 1.75 and zeros; mean 0.708333, mean of
    squares 6.3125/6 = 1.052083, var 0.550347, std 0.741854   (over environments: std 0.25)
    r = 2, 0, 0, 4 with done after step 2: 2, 1, 0.5, 4.25; mean 1.9375; var 2.074219; std 1.440215
    (reset at done: 2, 1, 0, 4, std 1.479020; not discounted: std 1.658312)
  NGU, L 5, mean 2, std 1, errors 0, 2, 4, 12: alpha -1, 1, 3, 11 -> 1, 1, 3, 5
    episodic 0.5, 0.5, 0.5, 0.4 -> 0.5, 0.5, 1.5, 2.0   (over L becomes 1: last 0.4)
  RE3, points 0, 1, 3, 10
    k 1: distances 1, 1, 2, 7 -> log 2, log 2, log 3, log 8 = 0.693147, 0.693147, 1.098612, 2.079442
    k 2: distances 3, 2, 3, 9 -> 1.386294, 1.098612, 1.386294, 2.302585
    own position 0, 1, 2, 3 as distance: 0, 0.693147, 1.098612, 1.386294 (wrong)
    itself counted as the nearest: all 0 for k 1 (wrong)
"""
import numpy as np
import pytest

from tests.cases._case import check_arithmetic, check_call

LOG2, LOG3, LOG4, LOG8, LOG10 = (float(np.log(n)) for n in (2, 3, 4, 8, 10))

CALLS = [
    {"verb": "rnd_return_scale", "tol": 1e-5,
     "inputs": {"gamma_int": 0.5, "r_int": [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]],
                "dones": [[False, False], [False, False], [False, False]]},
     "expected": {"returns": [[1.0, 0.0], [1.5, 0.0], [1.75, 0.0]], "std": 0.741854},
     "wrong": {"filtered over environments": {
         "returns": [[1.0, 0.5], [1.0, 0.5], [1.0, 0.5]], "std": 0.25}}},
    {"verb": "rnd_return_scale", "tol": 1e-5,
     "inputs": {"gamma_int": 0.5, "r_int": [[2.0], [0.0], [0.0], [4.0]],
                "dones": [[False], [True], [False], [False]]},
     "expected": {"returns": [[2.0], [1.0], [0.5], [4.25]], "std": 1.440215},
     "wrong": {"reset at done": {"returns": [[2.0], [1.0], [0.0], [4.0]], "std": 1.47902},
               "not discounted": {"returns": [[2.0], [0.0], [0.0], [4.0]], "std": 1.658312}}},
    {"verb": "ngu_combine",
     "inputs": {"episodic": [0.5, 0.5, 0.5, 0.4], "error": [0.0, 2.0, 4.0, 12.0],
                "error_mean": 2.0, "error_std": 1.0, "limit": 5.0},
     "expected": {"intrinsic": [0.5, 0.5, 1.5, 2.0]},
     "wrong": {"over the limit becomes one": {"intrinsic": [0.5, 0.5, 1.5, 0.4]},
               "min-max scaled": {"intrinsic": [0.5, 0.5, 0.5, 0.4]},
               "not clipped above": {"intrinsic": [0.5, 0.5, 1.5, 4.4]},
               "not clipped below": {"intrinsic": [-0.5, 0.5, 1.5, 2.0]}}},
    {"verb": "ngu_combine",
     "inputs": {"episodic": [0.0], "error": [9.0], "error_mean": 2.0, "error_std": 1.0,
                "limit": 5.0},
     "expected": {"intrinsic": [0.0]},
     "wrong": {"added instead of multiplied": {"intrinsic": [5.0]}}},
    {"verb": "re3_bonus", "inputs": {"points": [[0.0], [1.0], [3.0], [10.0]], "k": 1},
     "expected": {"bonus": [LOG2, LOG2, LOG3, LOG8]},
     "wrong": {"position for distance": {"bonus": [0.0, LOG2, LOG3, LOG4]},
               "itself is the nearest": {"bonus": [0.0, 0.0, 0.0, 0.0]}}},
    {"verb": "re3_bonus", "inputs": {"points": [[0.0], [1.0], [3.0], [10.0]], "k": 2},
     "expected": {"bonus": [LOG4, LOG3, LOG4, LOG10]},
     "wrong": {"itself is the nearest": {"bonus": [LOG2, LOG2, LOG3, LOG8]},
               "position for distance": {"bonus": [LOG2, 0.0, LOG2, LOG3]}}},
    {"verb": "re3_bonus", "inputs": {"points": [[10.0], [0.0], [3.0], [1.0]], "k": 1},
     "expected": {"bonus": [LOG8, LOG2, LOG3, LOG2]},
     "wrong": {"position for distance": {"bonus": [0.0, LOG2, LOG3, LOG4]}}},
]


def rnd_return_scale(gamma_int, r_int, dones):
    r = np.asarray(r_int, float)
    f, rows = np.zeros(r.shape[1]), []
    for row in r:
        f = gamma_int * f + row
        rows.append(f.copy())
    returns = np.stack(rows)
    return {"returns": returns.tolist(), "std": float(returns.std())}


def ngu_combine(episodic, error, error_mean, error_std, limit):
    alpha = 1.0 + (np.asarray(error) - error_mean) / error_std
    return {"intrinsic": (np.asarray(episodic) * np.clip(alpha, 1.0, limit)).tolist()}


def re3_bonus(points, k):
    p = np.asarray(points, float)
    distance = np.linalg.norm(p[:, None] - p[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    return {"bonus": np.log1p(np.sort(distance, axis=1)[:, k - 1]).tolist()}


def test_arithmetic():
    check_arithmetic(CALLS, {"rnd_return_scale": rnd_return_scale, "ngu_combine": ngu_combine,
                             "re3_bonus": re3_bonus})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
