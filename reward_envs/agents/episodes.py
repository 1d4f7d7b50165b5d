"""Episodes to look at: a trained agent plays once, with a picture and every term's value at each step."""

from __future__ import annotations

import base64
import io
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.agents.play import play
from reward_envs.wrappers.batch import Batch
from reward_envs.wrappers.core import Scope
from reward_envs.wrappers.errors import RewardError

SIZE = 160  # pixels a side of a frame


def watch(folder: str | Path, *, seed: int = 0, steps: int = 120) -> dict[str, Any]:
    """One episode of the agent that `train(..., out=folder)` left, ready for JSON.

    The agent acts as in its evaluations, on a bare environment; the reward is frozen and scores the finished episode,
    so that methods of every scope but groups have their values.

    Parameters
    ----------
    folder
        Of one run.
    seed
        Of the episode.
    steps
        Longest episode that is recorded.

    Returns
    -------
    dict
        `reward`, `terms` (names), `values` [T][terms] (None where unknown), `task` [T], `actions` [T] (texts), `frames`
        [T + 1] (data URLs; none where the task draws no `rgb_array`), and `end`.
    """
    import torch as th

    from reward_envs.agents.plan import Plan
    from reward_envs.agents.sb3 import act, load

    said = json.loads((Path(folder) / "agent.json").read_text(encoding="utf-8"))
    plan = Plan(**said["plan"])
    if not {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ):
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame draws into memory where there is no screen
    model = load(folder)
    venv: Any = model.get_env()
    rewarder = venv.rewarder
    env = _drawable(plan.env)
    frames: list[str | None] = []

    def choose(obs: Any) -> Any:
        action = act(model, obs, [env], bool(plan.deterministic))
        return action.item() if np.ndim(action) == 0 else action

    with th.random.fork_rng(devices=[]):
        th.manual_seed(seed)
        batch, _ = play(env, rewarder.method, choose, seed=seed, steps=steps, look=lambda: frames.append(_frame(env)))
    env.close()
    venv.close()
    labels = [t.label for t in rewarder.method.terms]
    grouped = rewarder.method.scope is Scope.GROUP
    terms = {} if grouped else rewarder.freeze(n=1).step(batch).terms
    values = np.stack([terms[name] for name in labels], axis=1) if terms else np.zeros((len(batch), 0))
    return {
        "reward": said["reward"],
        "terms": labels if terms else [],
        "values": [[None if np.isnan(v) else round(float(v), 6) for v in row] for row in values],
        "task": batch.reward.tolist(),
        "actions": [str(np.round(a, 2).tolist()) for a in batch.action],
        "frames": [f for f in frames if f is not None],
        "end": _end(batch),
    }


def _drawable(env_id: str) -> Any:
    """The environment with pictures where its registered entry says that it draws them."""
    import gymnasium as gym

    from reward_envs.agents.plan import make

    env = make(env_id)
    if "rgb_array" not in env.metadata.get("render_modes", []):
        return env
    env.close()
    try:
        env = make(env_id, render_mode="rgb_array")
        env.reset()
        env.render()
        return env
    except (gym.error.Error, TypeError, ImportError, RuntimeError, RewardError) as error:
        warnings.warn(f"{env_id} cannot draw here ({error}): its episode has no pictures.", stacklevel=2)
        return make(env_id)


def _frame(env: Any) -> str | None:
    """The present picture as a data URL, at most SIZE pixels a side."""
    picture = env.render() if env.render_mode == "rgb_array" else None
    return None if picture is None else _url(np.asarray(picture, np.uint8))


def _url(picture: NDArray[np.uint8]) -> str:
    from PIL import Image

    image = Image.fromarray(picture)
    image.thumbnail((SIZE, SIZE))
    out = io.BytesIO()
    image.convert("P", palette=Image.Palette.ADAPTIVE, colors=32).save(out, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")


def _end(batch: Batch) -> str:
    if batch.terminated[-1]:
        return "terminated"
    return "truncated" if batch.truncated[-1] else "cut here"
