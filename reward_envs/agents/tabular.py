"""Exact answers on small tasks: the judge of what a changed reward does to the optimal policy.

mdp = from_table(gym.make("FrozenLake-v1").unwrapped.P, gamma=0.99)
other = with_reward(mdp, rows(mdp)["reward"] + shaping)
(optimal_actions(value_iteration(mdp)) == optimal_actions(value_iteration(other))).all()
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels.tabular import solve

Float: TypeAlias = NDArray[np.float64]
Table: TypeAlias = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]
Outcome: TypeAlias = tuple[int, int, int, float, float]  # state, action, next state, probability, reward

LARGEST = 2**32  # bytes of the two arrays of one process


@dataclass(frozen=True, eq=False)
class MDP:
    """A finite Markov decision process, as dense arrays.

    Parameters
    ----------
    transition : float64[S, A, S']
        P(s'|s,a); every `transition[s, a]` sums to 1.
    reward : float64[S, A, S']
        r(s,a,s'); meaningless where the probability is 0.
    terminal : bool[S]
        States that end the episode. They are absorbing with reward 0, and their value is 0.
    gamma : float
        Discount, in [0, 1).

    Raises
    ------
    ValueError
        Shapes that do not fit, numbers that are not finite, rows that do not sum to 1, a terminal state that can be
        left or pays, or a discount outside [0, 1).
    """

    transition: Float
    reward: Float
    terminal: NDArray[np.bool_]
    gamma: float

    def __post_init__(self) -> None:
        for name, dtype in (("transition", np.float64), ("reward", np.float64), ("terminal", np.bool_)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=dtype))
        self._check_shapes()
        self._check_transition()
        self._check_terminal()
        if not 0.0 <= self.gamma < 1.0:
            raise ValueError(f"gamma={self.gamma}, but a discount lies in [0, 1).")

    @property
    def n_states(self) -> int:
        """S."""
        return int(self.transition.shape[0])

    @property
    def n_actions(self) -> int:
        """A."""
        return int(self.transition.shape[1])

    def _check_shapes(self) -> None:
        shape = self.transition.shape
        if len(shape) != 3 or shape[0] != shape[2] or 0 in shape:
            raise ValueError(f"transition has shape {shape}, but [S, A, S] is needed, with S and A at least 1.")
        if self.reward.shape != shape:
            raise ValueError(f"reward has shape {self.reward.shape}, but transition has {shape}; both are [S, A, S].")
        if self.terminal.shape != shape[:1]:
            raise ValueError(f"terminal has shape {self.terminal.shape}, but there are {shape[0]} states.")

    def _check_transition(self) -> None:
        if not np.isfinite(self.transition).all() or (self.transition < 0.0).any():
            raise ValueError("transition holds a number that is negative or not finite, so it is no probability.")
        totals = self.transition.sum(axis=2)
        wrong = np.argwhere(np.abs(totals - 1.0) > 1e-9)
        if wrong.size:
            s, a = wrong[0]
            raise ValueError(f"the probabilities of state {s}, action {a} sum to {totals[s, a]:.10g}, not to 1.")
        if not np.isfinite(self.reward[self.transition > 0.0]).all():
            raise ValueError("reward holds a number that is not finite on a transition that can happen.")

    def _check_terminal(self) -> None:
        for s in np.flatnonzero(self.terminal):
            if (np.abs(self.transition[s, :, s] - 1.0) > 1e-9).any():
                raise ValueError(f"state {s} is terminal, but can be left; terminal states are absorbing.")
            if (self.reward[s, :, s] != 0.0).any():
                raise ValueError(f"state {s} is terminal, but pays; nothing is paid after the end.")


class State(NamedTuple):
    """A state that `enumerate_env` found: the observation and info with which it was first reached."""

    observation: Any
    info: dict[str, Any]
    terminal: bool


def rows(mdp: MDP) -> dict[str, NDArray[Any]]:
    """The transitions that can happen, as aligned arrays [R]: what a reward method is applied to.

    `state`, `action`, `next_state` int64, `probability`, `reward` float64, `terminated` bool (whether next_state is
    terminal), ordered by (s, a, s'). Terminal states have no rows: an episode does not go on from them.
    """
    possible = (mdp.transition > 0.0) & ~mdp.terminal[:, None, None]
    state, action, next_state = np.nonzero(possible)
    return {
        "state": state,
        "action": action,
        "next_state": next_state,
        "probability": mdp.transition[possible],
        "reward": mdp.reward[possible],
        "terminated": mdp.terminal[next_state],
    }


def with_reward(mdp: MDP, new_reward: Float) -> MDP:
    """The same process paying `new_reward` float64[R], aligned with `rows(mdp)`; ValueError where it is not."""
    possible = (mdp.transition > 0.0) & ~mdp.terminal[:, None, None]
    new_reward = np.asarray(new_reward, dtype=np.float64)
    if new_reward.shape != (int(possible.sum()),):
        raise ValueError(f"new_reward has shape {new_reward.shape}, but rows(mdp) has {int(possible.sum())} rows.")
    reward = np.zeros_like(mdp.reward)
    reward[possible] = new_reward
    return dataclasses.replace(mdp, reward=reward)


def _run(mdp: MDP, policy: Float, greedy: bool, tol: float) -> Float:
    if not tol > 0.0:
        raise ValueError(f"tol={tol}, but a tolerance is above 0.")
    r = rows(mdp)
    largest = float(np.abs(r["reward"]).max(initial=0.0))
    sweeps = 10  # the first residual is at most `largest`, and each sweep shrinks it by gamma; a few more for rounding
    if mdp.gamma > 0.0 and largest > tol:
        sweeps += math.ceil(math.log(tol / largest) / math.log(mdp.gamma))
    q = np.zeros((mdp.n_states, mdp.n_actions))
    state, action, next_state, probability, reward, terminated = r.values()
    residual = solve(
        state, action, next_state, probability, reward, terminated, mdp.gamma, policy, greedy, tol, sweeps, q
    )
    if not residual <= tol:  # NaN, after an overflow, included
        raise RuntimeError(
            f"the Bellman residual stays at {residual:.3g}, above tol={tol:.3g}: with rewards up to {largest:.3g} and "
            f"gamma={mdp.gamma} float64 cannot do better; choose a larger tol."
        )
    return q


def value_iteration(mdp: MDP, tol: float = 1e-10) -> Float:
    """Optimal q float64[S, A]: `q = r + gamma * max over a' of q(s', a')`, 0 at terminal states.

    Parameters
    ----------
    mdp : MDP
    tol : float
        Bound on the Bellman residual max |Tq - q|, so q errs by at most `tol / (1 - gamma)`.

    Raises
    ------
    ValueError
        `tol` is not above 0.
    RuntimeError
        Rounding or overflow keeps the residual above `tol`.

    References
    ----------
    Sutton and Barto 2018, Reinforcement Learning, section 4.4.
    """
    return _run(mdp, np.zeros((mdp.n_states, mdp.n_actions)), True, tol)


def policy_evaluation(mdp: MDP, policy: NDArray[Any], tol: float = 1e-10) -> Float:
    """Values float64[S] of a policy: `V(s) = sum over a of policy(a|s) * q(s, a)`, 0 at terminal states.

    Parameters
    ----------
    mdp : MDP
    policy : int[S] or float64[S, A]
        An action for each state, or probabilities that sum to 1 over the actions.
    tol : float
        As for `value_iteration`.

    Raises
    ------
    ValueError
        A policy of another shape, an action that does not exist, probabilities that do not sum to 1, or a bad `tol`.
    RuntimeError
        Rounding or overflow keeps the residual above `tol`.
    """
    table = _policy_table(mdp, np.asarray(policy))
    q = _run(mdp, table, False, tol)
    return np.asarray((table * q).sum(axis=1), dtype=np.float64)


def _policy_table(mdp: MDP, policy: NDArray[Any]) -> Float:
    n, k = mdp.n_states, mdp.n_actions
    if policy.shape == (n,) and np.issubdtype(policy.dtype, np.integer):
        if policy.min() < 0 or policy.max() >= k:
            raise ValueError(f"policy names an action outside 0 to {k - 1}.")
        return np.asarray(np.eye(k)[policy], dtype=np.float64)
    if policy.shape != (n, k):
        raise ValueError(f"policy is int[{n}] or float[{n}, {k}], got {policy.dtype} of shape {policy.shape}.")
    table = np.ascontiguousarray(policy, dtype=np.float64)
    if not (table >= 0.0).all() or (np.abs(table.sum(axis=1) - 1.0) > 1e-9).any():
        raise ValueError("policy holds probabilities that are negative or do not sum to 1 over the actions.")
    return table


def optimal_actions(q: Float, tol: float = 1e-8) -> NDArray[np.bool_]:
    """bool[S, A]: which actions come within `tol` of the best of their state; all of them at a terminal state."""
    return np.asarray(q >= q.max(axis=1, keepdims=True) - tol, dtype=np.bool_)


def _dense(outcomes: Iterable[Outcome], n_actions: int, terminal: Sequence[bool], gamma: float) -> MDP:
    """The process with these outcomes; those of one (s, a, s') are merged, terminal states made absorbing."""
    n = len(terminal)
    if 16 * n * n * n_actions > LARGEST:
        raise ValueError(
            f"{n} states and {n_actions} actions take {16 * n * n * n_actions / 2**30:.1f} GiB as dense arrays; "
            f"{LARGEST / 2**30:.0f} GiB is the limit here: use a smaller task."
        )
    transition, paid = np.zeros((n, n_actions, n)), np.zeros((n, n_actions, n))
    for s, a, s2, p, r in outcomes:
        if p > 0.0 and not terminal[s]:
            transition[s, a, s2] += p
            paid[s, a, s2] += p * r
    end = np.flatnonzero(terminal)
    transition[end, :, end] = 1.0
    reward = np.divide(paid, transition, out=np.zeros_like(paid), where=transition > 0.0)
    return MDP(transition, reward, np.array(terminal), gamma)


def from_table(table: Table, gamma: float) -> MDP:
    """The process of a Gymnasium toy text task, `env.unwrapped.P[s][a] = [(probability, s', reward, done), ...]`.

    A state that every transition into it ends is terminal. One that only some end keeps its number for the others,
    and the ending ones lead to a terminal twin, numbered from `len(table)` on in the order of the states.

    Raises
    ------
    ValueError
        States that are not 0 to S-1, states with different numbers of actions, or what `MDP` refuses.
    """
    n, sizes = len(table), {len(actions) for actions in table.values()}
    if set(table) != set(range(n)) or len(sizes) != 1:
        raise ValueError("a table has states 0 to S-1, each with the same actions.")
    entries = [
        (s, a, int(s2), float(p), float(r), bool(done))
        for s in range(n)
        for a, outcomes in table[s].items()
        for p, s2, r, done in outcomes
        if p > 0.0
    ]
    ending = {s2 for *_, s2, _, _, done in entries if done}
    mixed = sorted(ending & {s2 for *_, s2, _, _, done in entries if not done})
    twin = {s2: n + i for i, s2 in enumerate(mixed)}
    terminal = [s in ending and s not in twin for s in range(n)] + [True] * len(twin)
    merged = [(s, a, twin.get(s2, s2) if done else s2, p, r) for s, a, s2, p, r, done in entries]
    return _dense(merged, sizes.pop(), terminal, gamma)


def _freeze(observation: Any) -> Hashable:
    """An observation as something that can be a key: its bytes, part by part."""
    if isinstance(observation, Mapping):
        return tuple((k, _freeze(v)) for k, v in sorted(observation.items()))
    if isinstance(observation, tuple | list):
        return tuple(_freeze(v) for v in observation)
    if isinstance(observation, str):
        return observation
    return np.asarray(observation).tobytes()


def _step_twice(env: gym.Env[Any, Any], action: Any) -> tuple[gym.Env[Any, Any], tuple[Any, ...]]:
    """A copy of `env` after `action`, and its answer; ValueError where another random stream answers otherwise."""
    after, other = copy.deepcopy(env), copy.deepcopy(env)
    other.unwrapped.np_random = np.random.default_rng(123)
    answer = after.step(action)
    again = other.step(action)
    if (_freeze(answer[0]), *answer[1:3]) != (_freeze(again[0]), *again[1:3]):
        raise ValueError(f"{env} answers action {action} at random; enumerate_env is for deterministic environments.")
    return after, answer


def enumerate_env(
    env: gym.Env[Any, Any],
    max_states: int,
    *,
    gamma: float,
    key: Callable[[gym.Env[Any, Any]], Hashable] | None = None,
    seed: int = 0,
) -> tuple[MDP, list[State]]:
    """(process, states) of a small deterministic environment, by breadth-first search over copies of it.

    State 0 is the one after `env.reset(seed=seed)`; `env` itself is not moved. Truncation is no end: the search goes
    on behind it. A key that is reached both by a termination and otherwise gives two states.

    Parameters
    ----------
    env : gymnasium.Env
        With a Discrete action space; action i of the process is `action_space.start + i`.
    max_states : int
    gamma : float
    key : callable, optional
        `key(env)` tells states apart; by default the bytes of the observation, which is right only where the
        observation shows all that matters for the future.
    seed : int

    Raises
    ------
    ValueError
        Another action space, more than `max_states` states, answers that depend on the random generator
        `env.unwrapped.np_random`, or what `MDP` refuses.
    """
    space = env.action_space
    if not isinstance(space, gym.spaces.Discrete):
        raise ValueError(f"enumerate_env needs a Discrete action space, got {space}.")
    env = copy.deepcopy(env)
    observation, info = env.reset(seed=seed)
    states = [State(observation, info, False)]
    numbers: dict[Hashable, int] = {(key(env) if key else _freeze(observation), False): 0}
    outcomes: list[Outcome] = []
    queue = deque([(0, env)])
    while queue:
        s, here = queue.popleft()
        for a in range(int(space.n)):
            after, (observation, reward, done, _, info) = _step_twice(here, int(space.start) + a)
            identity = (key(after) if key else _freeze(observation), bool(done))
            if identity not in numbers:
                if len(states) >= max_states:
                    raise ValueError(f"{env} has more than max_states={max_states} reachable states.")
                numbers[identity] = len(states)
                states.append(State(observation, info, bool(done)))
                if not done:
                    queue.append((numbers[identity], after))
            outcomes.append((s, a, numbers[identity], 1.0, float(reward)))
    return _dense(outcomes, int(space.n), [state.terminal for state in states], gamma), states
