"""Hindsight goals come from the NEXT achieved goal.

Source   DLR-RM/stable-baselines3 issue 847 and PR 848 ("final" gave the last but one state,
         other strategies were off by one as well), hill-a/stable-baselines issue 666 (same),
         hill-a/stable-baselines issue 578 (episodes of one step never got a new goal).
Symptom  The state the episode really ended in is never used as a goal; a one-step episode
         is never relabelled; "future" can pick a goal that was reached before the action.
Right    final: next achieved goal of the last transition.  future at t: next achieved goals
         of transitions t, t+1, ..., T-1, never one from before the action at t.

Goals are whole numbers; a path 0 -> 1 -> 2 -> 3 has achieved 0, 1, 2 and next achieved 1, 2, 3
  final: {3} (from the first column: {2}, wrong)
  future: t=0 {1,2,3}, t=1 {2,3}, t=2 {3} (from the first column at t=0: {0,1,2}, wrong)
  one step 0 -> 7: final {7}, future {7} (wrong: {0}, or nothing)
The adapter draws many times and answers with the sorted goals it saw.
"""
import pytest

from tests.cases._case import check_arithmetic, check_call

PATH = {"achieved": [0, 1, 2], "next_achieved": [1, 2, 3], "draws": 400}

CALLS = [
    {"verb": "her_goals", "inputs": {**PATH, "strategy": "final", "t": 0},
     "expected": {"goals": [3]}, "wrong": {"last but one": {"goals": [2]}}},
    {"verb": "her_goals", "inputs": {**PATH, "strategy": "future", "t": 0},
     "expected": {"goals": [1, 2, 3]},
     "wrong": {"first column": {"goals": [0, 1, 2]}, "never the last": {"goals": [1, 2]}}},
    {"verb": "her_goals", "inputs": {**PATH, "strategy": "future", "t": 2},
     "expected": {"goals": [3]}, "wrong": {"first column": {"goals": [2]},
                                           "whole episode": {"goals": [1, 2, 3]}}},
    {"verb": "her_goals",
     "inputs": {"achieved": [0], "next_achieved": [7], "draws": 400,
                "strategy": "future", "t": 0},
     "expected": {"goals": [7]}, "wrong": {"not relabelled": {"goals": []},
                                           "first column": {"goals": [0]}}},
]


def her_goals(strategy, achieved, next_achieved, t, draws):
    first = len(next_achieved) - 1 if strategy == "final" else t
    return {"goals": sorted(set(next_achieved[first:]))}


def test_arithmetic():
    check_arithmetic(CALLS, {"her_goals": her_goals})


@pytest.mark.parametrize("call", CALLS)
def test_adapter(call):
    check_call(call)
