"""What entries claim: each name is bound to one property test, collected in CLAIMS.

A property takes a method (or a relabeller), a drawn batch's recipe and the claim's numbers, and fails by an
AssertionError.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reward_envs.agents.tabular import MDP, optimal_actions, rows, value_iteration, with_reward
from reward_envs.wrappers import Batch, Method, Relabel, Task, relabel_rows
from reward_envs.wrappers.core import resolve
from tests import drawn
from tests.batches import GAMMA, Draw, seen
from tests.battery.tools import close, equal, pieces, play, runner

Float: TypeAlias = NDArray[np.float64]
Claim: TypeAlias = Callable[..., None]
CLAIMS: dict[str, Claim] = {}


def claim(f: Claim) -> Claim:
    CLAIMS[f.__name__] = f
    return f


def read(text: str) -> Callable[[Any, Draw], None]:
    """The property that "name" or "name(1, 2)" names, with its numbers."""
    node = ast.parse(text, mode="eval").body
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    assert isinstance(call.func, ast.Name) and not call.keywords, f"{text!r} is no claim: write name or name(1, 2)"
    assert call.func.id in CLAIMS, f"no property is called {call.func.id!r}: {', '.join(CLAIMS)}"
    test = CLAIMS[call.func.id]
    names = list(inspect.signature(test).parameters)[2:]
    assert len(names) == len(call.args), f"{text!r}: the property takes ({', '.join(names)})"
    return functools.partial(test, **dict(zip(names, map(ast.literal_eval, call.args), strict=True)))


# parts of the properties


def paid(method: Method, draw: Draw, batch: Batch) -> Float:
    """What a fresh runner pays."""
    return runner(method, draw).step(batch.copy()).values.copy()


def evaluated(method: Method, draw: Draw, batch: Batch) -> Float:
    """What a runner pays that has learned from another batch and learns no more."""
    rewarder = runner(method, draw)
    rewarder.step(draw.replace(seed=draw.seed + 1).batch())
    return rewarder.freeze().step(batch.copy()).values.copy()


def each_episode(batch: Batch) -> list[Any]:
    """Rows of every episode, open ones too."""
    return [np.flatnonzero(batch.episode == e) for e in np.unique(batch.episode)]


def settled(draw: Draw) -> Batch:
    """A batch in which every reward is known."""
    return draw.replace(unknown=0.0).batch()


def returns(values: Float, batch: Batch) -> Float:
    """The sum over each whole episode."""
    return np.array([values[e].sum() for e in drawn.whole_episodes(batch)])


# every scope


@claim
def identity(method: Method, draw: Draw) -> None:
    """It pays the task's own reward."""
    batch = draw.batch()
    equal(paid(method, draw, batch), np.where(batch.known, batch.reward, np.nan))


@claim
def nonnegative(method: Method, draw: Draw) -> None:
    values = play(runner(method, draw), pieces(method, draw))
    assert np.all(values[~np.isnan(values)] >= 0.0)


@claim
def bounded(method: Method, draw: Draw, low: float, high: float) -> None:
    values = play(runner(method, draw), pieces(method, draw))
    values = values[~np.isnan(values)]
    assert np.all((low <= values) & (values <= high))


@claim
def fades(method: Method, draw: Draw) -> None:
    """After 40 times the same rows, it pays less than a third of what it paid the first time."""
    rewarder, batch = runner(method, draw), draw.replace(unknown=0.0, steps=20).batch()
    size = [float(np.abs(rewarder.step(batch.copy()).values).mean()) for _ in range(40)]
    assert size[-1] < size[0] / 3


# a step's reward


@claim
def telescopes(method: Method, draw: Draw) -> None:
    """Over an episode the discounted sum is `γ^T φ(s_T) - φ(s_0)`, the first part 0 after a termination. φ is what a
    row pays that terminates at once: -φ(s)."""
    batch = draw.batch()
    values, phi = paid(method, draw, batch), {}
    for at, obs, info in (("s", batch.obs, batch.info), ("s'", batch.next_obs, batch.next_info)):
        ending = batch.copy()
        ending.obs, ending.info = obs, info
        ending.terminated[:] = True
        ending.t[:] = 0
        phi[at] = -paid(method, draw, ending)
    for e in each_episode(batch):
        total = float(values[e] @ GAMMA ** np.arange(len(e)))
        rest = 0.0 if batch.terminated[e[-1]] else GAMMA ** len(e) * phi["s'"][e[-1]]
        close(total, rest - phi["s"][e[0]])


@claim
def policy_invariant(method: Method, draw: Draw) -> None:
    """In drawn decision processes, with and without a terminal state, the optimal actions are those of the task."""
    whole = method if any(isinstance(m, Task) for m in method.walk()) else Task() + method
    for ends in (True, False):
        mdp = drawn.process(draw.rng, GAMMA, ends)
        changed = with_reward(mdp, paid(whole, draw, _possible(mdp, draw)))
        best, now = (optimal_actions(value_iteration(m)) for m in (mdp, changed))
        equal(now, best)


def _possible(mdp: MDP, draw: Draw) -> Batch:
    """Every possible transition as the first row of an episode, with hooks of the states."""
    batch, r = drawn.transitions(mdp), rows(mdp)
    batch.episode, batch.t = np.arange(len(batch)), np.zeros(len(batch), dtype=np.int64)
    tables = {"steps_to_go": draw.rng.integers(0, 8, drawn.STATES).astype(float), "progress": draw.rng.random(6)}
    batch.info, batch.next_info = ({k: v[r[at]] for k, v in tables.items()} for at in ("state", "next_state"))
    batch.obs, batch.next_obs = (seen(r[at], draw.discrete) for at in ("state", "next_state"))
    return batch


@claim
def resets_each_episode(method: Method, draw: Draw) -> None:
    """An episode pays the same after others, aborted ones too, as on its own."""
    batch = draw.batch()
    values = evaluated(method, draw, batch)
    for e in each_episode(batch):
        equal(evaluated(method, draw, batch.rows(e)), values[e])


@claim
def cut_invariant(method: Method, draw: Draw) -> None:
    """However the rows were cut into batches, one by one too, they pay the same."""
    batch = draw.batch()
    whole = paid(method, draw, batch)
    equal(play(runner(method, draw), pieces(method, draw)), whole)
    equal(play(runner(method, draw), [batch.rows([i]) for i in range(len(batch))]), whole)


# an episode's rewards


@claim
def return_preserving(method: Method, draw: Draw) -> None:
    batch = settled(draw)
    close(returns(paid(method, draw, batch), batch), returns(batch.reward, batch))


@claim
def episode_local(method: Method, draw: Draw) -> None:
    """The other episodes of the batch do not matter."""
    batch = draw.batch()
    values = evaluated(method, draw, batch)
    for e in drawn.whole_episodes(batch):
        equal(evaluated(method, draw, batch.rows(e)), values[e])


@claim
def causal(method: Method, draw: Draw) -> None:
    """What comes later in an episode does not matter to a row, but for how long the episode is."""
    batch, other = settled(draw), settled(draw.replace(seed=draw.seed + 2))
    values, rng = evaluated(method, draw, batch), draw.rng
    altered, kept = batch.copy(), np.ones(len(batch), dtype=np.bool_)
    for e in drawn.whole_episodes(batch):
        kept[e[int(rng.integers(1, len(e) + 1)) :]] = False
    late = np.flatnonzero(~kept)
    for name in ("obs", "action", "next_obs", "reward"):
        getattr(altered, name)[late] = getattr(other, name)[late]
    for columns, others in ((altered.info, other.info), (altered.next_info, other.next_info)):
        for hook in columns:
            columns[hook][late] = others[hook][late]
    equal(evaluated(method, draw, altered)[kept], values[kept])


# a group's advantages


def by_group(values: Float, batch: Batch) -> dict[int, list[float]]:
    """The advantage of each whole episode, the mean over its rows, by group."""
    found: dict[int, list[float]] = {}
    for e in drawn.whole_episodes(batch):
        found.setdefault(int(batch.group[e[0]]), []).append(float(values[e].mean()))
    return found


@claim
def group_zero_mean(method: Method, draw: Draw) -> None:
    """The advantages of a group's episodes sum to 0, those with an unknown reward left out."""
    batch = draw.batch()
    for advantages in by_group(paid(method, draw, batch), batch).values():
        close(np.nansum(advantages), 0.0)


@claim
def shift_invariant(method: Method, draw: Draw) -> None:
    """A constant on every return of a group changes nothing."""
    batch = draw.batch()
    shifted = batch.copy()
    shifted.reward[batch.ended & batch.known] += (1.0 + batch.group)[batch.ended & batch.known]
    close(paid(method, draw, shifted), paid(method, draw, batch), 1e-7)


@claim
def scale_invariant(method: Method, draw: Draw) -> None:
    """Rewards of another unit change nothing."""
    batch = draw.batch()
    scaled = batch.copy()
    scaled.reward *= 3.0
    close(paid(method, draw, scaled), paid(method, draw, batch), 1e-7)


@claim
def group_local(method: Method, draw: Draw) -> None:
    """The other groups of the batch do not matter."""
    batch = draw.batch()
    values = evaluated(method, draw, batch)
    for g in np.unique(batch.group):
        mine = np.flatnonzero(batch.group == g)
        equal(evaluated(method, draw, batch.rows(mine)), values[mine])


@claim
def ties_give_zero(method: Method, draw: Draw) -> None:
    """Equal returns, up to the rounding of their sums, give exactly 0."""
    batch = settled(draw)
    for e in each_episode(batch):
        batch.reward[e] = 0.3 / len(e)
    values = paid(method, draw, batch)
    assert set(values[~np.isnan(values)]) <= {0.0}


@claim
def singleton_gives(method: Method, draw: Draw, value: float) -> None:
    """An episode alone in its group gets exactly this."""
    batch = draw.batch()
    batch.group = batch.episode.copy()
    values = paid(method, draw, batch)
    assert set(values[~np.isnan(values)]) <= {value}


# made rows


@claim
def goals_were_reached(how: Relabel, draw: Draw) -> None:
    """What a row now asks for was reached by its own episode, at its s' or later; what it reached itself stays."""
    batch = draw.goals()
    new = relabel_rows(batch, how, seed=draw.seed)
    equal(new.obs["desired_goal"], new.next_obs["desired_goal"])
    for i, goal in enumerate(new.obs["desired_goal"]):
        row = i % len(batch)
        later = (batch.episode == batch.episode[row]) & (batch.t >= batch.t[row])
        assert goal.tolist() in batch.next_obs["achieved_goal"][later].tolist()
        equal(new.next_obs["achieved_goal"][i], batch.next_obs["achieved_goal"][row])


@claim
def pays_its_goal(how: Any, draw: Draw) -> None:
    """Reward and termination are the task's own for the new goal, row by row; truncations stay."""
    batch = draw.goals()
    new = relabel_rows(batch, how, seed=draw.seed)
    for column, function in (("reward", how.compute_reward), ("terminated", how.compute_terminated)):
        answer = resolve(function, how)
        goals = zip(new.next_obs["achieved_goal"], new.obs["desired_goal"], strict=True)
        equal(getattr(new, column), [answer(achieved, desired, {}) for achieved, desired in goals])
    equal(new.truncated, np.tile(batch.truncated, len(new) // len(batch)))
