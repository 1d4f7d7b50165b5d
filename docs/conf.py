"""Sphinx: the hand-written pages, and those that the registries write at every build."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import generate  # noqa: E402

import reward_envs  # noqa: E402

project = "reward-envs"
author = "the authors of reward-envs"
copyright = "the authors of reward-envs, Apache License 2.0"
release = version = reward_envs.__version__

extensions = ["myst_parser"]
myst_enable_extensions = ["attrs_inline", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
smartquotes = False  # s' is s prime
html_theme = "furo"
html_title = "reward-envs"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sphinx = False


def setup(app: Any) -> None:
    app.connect("builder-inited", lambda app: generate.write(HERE / "_generated"))
