"""The exact reference: closed forms, other solvers, and what it refuses."""

from __future__ import annotations

import dataclasses

import gymnasium as gym
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from reward_envs.agents.tabular import (
    MDP,
    enumerate_env,
    from_table,
    optimal_actions,
    policy_evaluation,
    rows,
    value_iteration,
    with_reward,
)
from tests import naive

checked = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**32 - 1)

TAXI = "Taxi-v4" if "Taxi-v4" in gym.registry else "Taxi-v3"


def chain(gamma=0.9):
    """State 0 stays for 1 (action 0) or ends for 5 (action 1); state 1 is the end."""
    transition, reward = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    transition[0, 0, 0] = transition[0, 1, 1] = 1.0
    transition[1, :, 1] = 1.0
    reward[0, 0, 0], reward[0, 1, 1] = 1.0, 5.0
    return MDP(transition, reward, np.array([False, True]), gamma)


def draw_mdp(seed, n, k, gamma, ends=True):
    rng = np.random.default_rng(seed)
    transition = rng.random((n, k, n)) * (rng.random((n, k, n)) < 0.6) + 1e-3 * np.eye(n)[:, None]
    reward, terminal = rng.normal(size=(n, k, n)), (rng.random(n) < 0.3) & ends
    transition[terminal] = np.eye(n)[terminal][:, None]
    reward[terminal] = 0.0
    return MDP(transition / transition.sum(axis=2, keepdims=True), reward, terminal, gamma)


def dense(mdp):
    return mdp.transition, mdp.reward, mdp.terminal, mdp.gamma


sizes = (seeds, st.integers(1, 6), st.integers(1, 3), st.sampled_from([0.0, 0.5, 0.95]))


# closed forms


def test_two_state_chain():
    # staying for ever is worth 1 / (1 - 0.9) = 10, more than 5; at gamma 0.5 it is worth 2, so ending is better
    np.testing.assert_allclose(value_iteration(chain(0.9)), [[10.0, 5.0], [0.0, 0.0]], atol=1e-8)
    np.testing.assert_allclose(value_iteration(chain(0.5)), [[3.5, 5.0], [0.0, 0.0]], atol=1e-8)
    assert optimal_actions(value_iteration(chain(0.5))).tolist() == [[False, True], [True, True]]


def test_policy_of_the_chain():
    np.testing.assert_allclose(policy_evaluation(chain(0.5), np.array([0, 0])), [2.0, 0.0], atol=1e-8)
    # v = (1 + 0.5 v) / 2 + 5 / 2 = 3 + v / 4
    np.testing.assert_allclose(policy_evaluation(chain(0.5), np.full((2, 2), 0.5)), [4.0, 0.0], atol=1e-8)


def test_gamma_0_is_the_expected_reward():
    assert value_iteration(chain(0.0)).tolist() == [[1.0, 5.0], [0.0, 0.0]]


def test_a_task_without_rewards():
    assert not value_iteration(dataclasses.replace(chain(), reward=np.zeros((2, 2, 2)))).any()


def test_optimal_actions_golden():
    q = np.array([[1.0, 1.0 - 1e-9, 0.5]])
    assert optimal_actions(q).tolist() == [[True, True, False]]
    assert optimal_actions(q, tol=0.0).tolist() == [[True, False, False]]
    assert optimal_actions(q, tol=1.0).all()


# other solvers


@checked
@given(*sizes)
def test_bellman_residual_is_below_tol(seed, n, k, gamma):
    mdp = draw_mdp(seed, n, k, gamma)
    q = value_iteration(mdp, tol=1e-9)
    assert np.abs(naive.q_values(*dense(mdp), q.max(axis=1)) - q).max() <= 1e-9 + 1e-13
    np.testing.assert_allclose(q, naive.value_iteration(*dense(mdp), sweeps=600), atol=1e-7)


@checked
@given(*sizes)
def test_policy_evaluation_equals_the_linear_solve(seed, n, k, gamma):
    mdp = draw_mdp(seed, n, k, gamma)
    policy = np.random.default_rng(seed).dirichlet(np.ones(k), size=n)
    np.testing.assert_allclose(policy_evaluation(mdp, policy), naive.linear_solve(*dense(mdp), policy), atol=1e-8)


@checked
@given(*sizes)
def test_the_greedy_policy_has_the_optimal_values(seed, n, k, gamma):
    mdp = draw_mdp(seed, n, k, gamma)
    q = value_iteration(mdp)
    np.testing.assert_allclose(policy_evaluation(mdp, q.argmax(axis=1)), q.max(axis=1), atol=1e-7)


# rows and rewards on them


@checked
@given(*sizes)
def test_rows_hold_every_transition_that_can_happen(seed, n, k, gamma):
    mdp = draw_mdp(seed, n, k, gamma)
    r = rows(mdp)
    at = (r["state"], r["action"], r["next_state"])
    rebuilt = np.zeros_like(mdp.transition)
    rebuilt[at] = r["probability"]
    rebuilt[mdp.terminal] = mdp.transition[mdp.terminal]
    np.testing.assert_array_equal(rebuilt, mdp.transition)
    np.testing.assert_array_equal(r["terminated"], mdp.terminal[r["next_state"]])
    assert not mdp.terminal[r["state"]].any()
    same = with_reward(mdp, r["reward"])
    np.testing.assert_array_equal(value_iteration(same), value_iteration(mdp))


@checked
@given(*sizes)
def test_potential_shaping_moves_q_by_the_potential_and_keeps_the_best_actions(seed, n, k, gamma):
    mdp, phi = draw_mdp(seed, n, k, gamma), np.random.default_rng(seed).normal(size=n)
    r = rows(mdp)
    f = gamma * np.where(r["terminated"], 0.0, phi[r["next_state"]]) - phi[r["state"]]
    q, shaped = value_iteration(mdp), value_iteration(with_reward(mdp, r["reward"] + f))
    alive = ~mdp.terminal
    np.testing.assert_allclose(shaped[alive], (q - phi[:, None])[alive], atol=1e-7)
    np.testing.assert_array_equal(optimal_actions(shaped, 1e-6), optimal_actions(q, 1e-6))


def test_a_bonus_that_is_no_potential_changes_the_best_action():
    mdp = chain(0.5)
    r = rows(mdp)
    bribed = with_reward(mdp, r["reward"] + 10.0 * (r["next_state"] == 0))
    assert optimal_actions(value_iteration(bribed))[0].tolist() == [True, False]


# Gymnasium's tables and small environments


def test_frozen_lake_has_its_known_value():
    mdp = from_table(gym.make("FrozenLake-v1", map_name="4x4", is_slippery=True).unwrapped.P, gamma=0.99)
    assert (mdp.n_states, mdp.n_actions, mdp.terminal.sum()) == (16, 4, 5)
    assert value_iteration(mdp)[0].max() == pytest.approx(0.542026, abs=1e-5)


def test_cliff_walking_takes_13_steps():
    mdp = from_table(gym.make("CliffWalking-v1").unwrapped.P, gamma=0.99)
    assert value_iteration(mdp)[36].max() == pytest.approx(-(1 - 0.99**13) / 0.01, abs=1e-6)


def test_taxi_ends_only_by_the_drop_off():
    mdp = from_table(gym.make(TAXI).unwrapped.P, gamma=0.9)
    env = gym.make(TAXI).unwrapped
    start = env.encode(0, 0, 0, 1)  # passenger here at R, destination G: pick up, 8 moves around the wall, drop off
    moves = 8
    wanted = -(1 - 0.9 ** (moves + 1)) / 0.1 + 20 * 0.9 ** (moves + 1)
    assert mdp.n_states >= 500
    assert value_iteration(mdp)[start].max() == pytest.approx(wanted, abs=1e-6)


def test_a_state_that_only_some_transitions_end_gets_a_twin():
    table = {
        0: {0: [(1.0, 1, 1.0, True)], 1: [(1.0, 1, 0.0, False)]},
        1: {0: [(0.5, 0, 0.0, False), (0.5, 0, 4.0, False)], 1: [(1.0, 1, 0.0, False)]},
    }
    mdp = from_table(table, gamma=0.5)
    assert mdp.terminal.tolist() == [False, False, True]
    # v1 = 2 + v0 / 2 and v0 = max(1, v1 / 2), so v0 = 4 / 3 and v1 = 8 / 3
    np.testing.assert_allclose(value_iteration(mdp).max(axis=1), [4 / 3, 8 / 3, 0.0], atol=1e-8)


def test_search_finds_what_the_table_says():
    env = gym.make("FrozenLake-v1", map_name="4x4", is_slippery=False)
    mdp, states = enumerate_env(env, 16, gamma=0.9)
    table = from_table(env.unwrapped.P, gamma=0.9)
    numbers = [int(s.observation) for s in states]
    q = value_iteration(mdp)
    np.testing.assert_allclose(q, value_iteration(table)[numbers], atol=1e-9)
    assert q[0].max() == pytest.approx(0.9**5)  # six steps to the goal
    assert [s.terminal for s in states] == table.terminal[numbers].tolist()
    assert states[0].info["prob"] == 1


class Counter(gym.Env):
    """Counts to 3; wants its own key, since it shows nothing. Truncates after every step."""

    observation_space, action_space = gym.spaces.Dict({}), gym.spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.n = 0
        return {}, {}

    def step(self, action):
        self.n += action
        return {}, float(self.n), self.n >= 3, True, {"n": self.n}


class Coin(Counter):
    def step(self, action):
        return {}, float(self.np_random.random()), False, False, {}


def test_search_with_a_key_leaves_the_environment_where_it_was():
    env = Counter()
    env.reset()
    env.step(1)
    mdp, states = enumerate_env(env, 10, gamma=0.5, key=lambda e: e.n)
    assert env.n == 1
    assert [s.info.get("n", 0) for s in states] == [0, 1, 2, 3, 4]
    assert mdp.terminal.tolist() == [False, False, False, True, True]
    # by ones: 1 + 2 / 2 + 4 / 4 = 3 ends at 4; by two first: 2 + 4 / 2 = 4
    assert value_iteration(mdp)[0].tolist() == pytest.approx([3.0, 4.0])


def test_search_refuses():
    with pytest.raises(ValueError, match=r"more than max_states=3 reachable states"):
        enumerate_env(gym.make("FrozenLake-v1", is_slippery=False), 3, gamma=0.9)
    with pytest.raises(ValueError, match=r"at random; enumerate_env is for deterministic"):
        enumerate_env(gym.make("FrozenLake-v1", is_slippery=True), 20, gamma=0.9)
    with pytest.raises(ValueError, match="at random"):
        enumerate_env(Coin(), 20, gamma=0.9)
    with pytest.raises(ValueError, match="Discrete action space"):
        enumerate_env(gym.make("Pendulum-v1"), 20, gamma=0.9)


# what is refused


def broken(**changes):
    fields = {f.name: np.copy(getattr(chain(), f.name)) for f in dataclasses.fields(MDP)}
    for name, (at, value) in changes.items():
        fields[name][at] = value
    return MDP(**{**fields, "gamma": float(fields["gamma"])})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"transition": ((0, 1, 1), 0.9)}, "probabilities of state 0, action 1 sum to 0.9, not to 1"),
        ({"transition": ((0, 0), (2.0, -1.0))}, "negative or not finite"),
        ({"transition": ((0, 0), np.nan)}, "negative or not finite"),
        ({"transition": (1, (1.0, 0.0))}, "state 1 is terminal, but can be left"),
        ({"reward": ((1, 0, 1), 1.0)}, "state 1 is terminal, but pays"),
        ({"reward": ((0, 0, 0), np.nan)}, "not finite on a transition that can happen"),
        ({"gamma": ((), 1.0)}, r"gamma=1.0, but a discount lies in \[0, 1\)"),
        ({"gamma": ((), -0.1)}, "gamma=-0.1"),
        ({"gamma": ((), np.nan)}, "gamma=nan"),
    ],
)
def test_process_refuses(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        broken(**changes)


def test_shapes_that_do_not_fit():
    mdp = chain()
    for changes, sentence in (
        ({"transition": np.ones((2, 2))}, r"\[S, A, S\] is needed"),
        ({"transition": np.ones((0, 2, 0))}, "S and A at least 1"),
        ({"reward": np.ones((2, 1, 2))}, "both are"),
        ({"terminal": np.ones(3)}, "there are 2 states"),
    ):
        with pytest.raises(ValueError, match=sentence):
            dataclasses.replace(mdp, **changes)
    with pytest.raises(ValueError, match=r"rows\(mdp\) has 2 rows"):
        with_reward(mdp, np.zeros(3))
    with pytest.raises(ValueError, match="not finite"):
        with_reward(mdp, np.array([0.0, np.nan]))


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (np.array([0, 2]), "outside 0 to 1"),
        (np.array([0, -1]), "outside 0 to 1"),
        (np.array([0.0, 1.0]), r"int\[2\] or float\[2, 2\], got float64"),
        (np.ones((2, 2)), "do not sum to 1"),
        (np.array([[2.0, -1.0], [1.0, 0.0]]), "negative"),
        (np.full((2, 2), np.nan), "negative or do not sum to 1"),
    ],
)
def test_policies_that_do_not_fit(policy, sentence):
    with pytest.raises(ValueError, match=sentence):
        policy_evaluation(chain(), policy)


def test_tables_that_do_not_fit():
    with pytest.raises(ValueError, match="each with the same actions"):
        from_table({0: {0: [(1.0, 0, 0.0, False)]}, 2: {0: [(1.0, 0, 0.0, False)]}}, gamma=0.9)
    with pytest.raises(ValueError, match=r"sum to 0\.5"):
        from_table({0: {0: [(0.5, 0, 0.0, False)]}}, gamma=0.9)
    wide = {s: {0: [(1.0, s, 0.0, False)]} for s in range(17000)}
    with pytest.raises(ValueError, match="GiB as dense arrays"):
        from_table(wide, gamma=0.9)


def test_tolerances_that_cannot_be_met():
    with pytest.raises(ValueError, match="tolerance is above 0"):
        value_iteration(chain(), tol=0.0)
    mdp = draw_mdp(0, 6, 2, 0.95, ends=False)
    with pytest.raises(RuntimeError, match="float64 cannot do better; choose a larger tol"):
        value_iteration(with_reward(mdp, np.full(rows(mdp)["reward"].size, 1e308)))
