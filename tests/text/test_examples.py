"""The examples in the docstrings of text tasks run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import reward_envs.text

MODULES = ["reward_envs.text", *(m.name for m in pkgutil.walk_packages(reward_envs.text.__path__, "reward_envs.text."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
