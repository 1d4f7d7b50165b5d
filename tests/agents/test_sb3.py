"""Training by SB3: what is measured, by which rule success is told, and how an agent comes back."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch as th
from gymnasium import spaces

from reward_envs.agents.plan import DEFAULTS, Plan, make
from reward_envs.agents.sb3 import (
    BY_FLAG,
    BY_RETURN,
    NO_SUCCESS,
    _policy,
    _to_arrays,
    _to_tensors,
    _vector,
    load,
    rehearse,
    train,
)
from reward_envs.wrappers import RewardError

contrib = pytest.mark.skipif(not importlib.util.find_spec("sb3_contrib"), reason="needs sb3_contrib")
PPO = {"n_steps": 16, "batch_size": 16, "n_epochs": 1}
OFF = {"learning_starts": 16, "buffer_size": 200, "batch_size": 8}


def tiny(env: str, algo: str = "ppo", **changes) -> Plan:
    hyper = {"ppo": PPO, "maskableppo": PPO, "a2c": {"n_steps": 16}}.get(algo, OFF)
    return Plan(
        env,
        algo,
        **{"steps": 64, "n_envs": 2, "eval_every": 32, "eval_episodes": 2, "hyperparameters": hyper} | changes,
    )


def values(run, metric: str) -> list[float]:
    return [r.value for r in run.rows if r.metric == metric]


class Corridor(gym.Env):
    """Three steps to the right pay `pays` each (the last one only where `late`); observations as of a given space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space: spaces.Space, late: bool = True, flag: bool = False) -> None:
        self.observation_space, self.late, self.flag = space, late, flag

    def _told(self) -> dict:
        return {"is_success": self.at == 3} if self.flag else {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = self.t = 0
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample(), self._told()

    def step(self, action):
        self.at, self.t = self.at + int(action), self.t + 1
        pays = float(action) if not self.late else float(self.at == 3)
        return self.observation_space.sample(), pays, self.at == 3, self.t >= 8, self._told()


class Masked(Corridor):
    """Admits the step to the right only."""

    def action_masks(self):
        return np.array([False, True])


SPACES = {
    "Mlp": spaces.Box(-1, 1, (3,)),
    "Cnn": spaces.Box(0, 255, (36, 36, 3), np.uint8),
    "SmallImage": spaces.Box(0, 255, (8, 8, 3), np.uint8),
    "Dict": spaces.Dict({"a": spaces.Box(-1, 1, (2,)), "b": spaces.Discrete(3)}),
    "Discrete": spaces.Discrete(5),
}
for name, space in SPACES.items():
    gym.register(f"tests/Corridor{name}-v0", entry_point=Corridor, kwargs={"space": space})
gym.register("tests/CorridorMasked-v0", entry_point=Masked, kwargs={"space": SPACES["Mlp"]})
gym.register("tests/CorridorFlag-v0", entry_point=Corridor, kwargs={"space": SPACES["Mlp"], "flag": True})
gym.register("tests/CorridorEarly-v0", entry_point=Corridor, kwargs={"space": SPACES["Mlp"], "late": False})


@pytest.mark.parametrize(
    ("name", "policy"),
    [("Mlp", "Mlp"), ("Cnn", "Cnn"), ("SmallImage", "Mlp"), ("Dict", "MultiInput"), ("Discrete", "Mlp")],
)
def test_the_observation_chooses_the_policy(name: str, policy: str) -> None:
    assert _policy(_vector(f"tests/Corridor{name}-v0", 1)) == f"{policy}Policy"


@pytest.mark.parametrize(
    ("env", "algo"),
    [
        ("tests/CorridorDict-v0", "ppo"),
        ("tests/CorridorSmallImage-v0", "a2c"),
        ("CartPole-v1", "dqn"),
        ("Pendulum-v1", "sac"),
        ("Pendulum-v1", "td3"),
        ("Pendulum-v1", "ddpg"),
        pytest.param("Pendulum-v1", "tqc", marks=contrib),
        pytest.param("CartPole-v1", "qrdqn", marks=contrib),
        pytest.param("tests/CorridorMasked-v0", "maskableppo", marks=contrib),
    ],
)
def test_every_algorithm_trains(env: str, algo: str) -> None:
    run = train(tiny(env, algo), "task - 0.1*count(bits=4)")
    steps = sorted({r.steps for r in run.rows if r.metric == "eval/task_return"})
    assert steps == [0, 32, 64]
    assert np.isfinite([r.value for r in run.rows]).all()
    assert set(DEFAULTS) == {"ppo", "a2c", "dqn", "sac", "td3", "ddpg", "tqc", "qrdqn", "maskableppo"}


@contrib
def test_masks_hold_in_evaluation_too(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[int] = set()
    step = Masked.step
    monkeypatch.setattr(Masked, "step", lambda self, action: (taken.add(int(action)), step(self, action))[1])
    train(tiny("tests/CorridorMasked-v0", "maskableppo"), "task")
    assert taken == {1}


@pytest.mark.parametrize(
    ("plan", "reward", "words"),
    [
        (Plan("CartPole-v1", "sac"), "task", "SAC cannot train on CartPole-v1 with these settings: .*Discrete"),
        (
            Plan("CartPole-v1", hyperparameters={"foo": 1}),
            "task",
            "PPO cannot train .*unexpected keyword argument 'foo'",
        ),
        (Plan("CartPole-v1"), "task + potential(steps_to_go)", "steps_to_go"),
        pytest.param(
            Plan("CartPole-v1", "maskableppo"),
            "task",
            "MaskablePPO asks the environment for action_masks",
            marks=contrib,
        ),
    ],
)
def test_what_cannot_be_is_said_before_the_first_step(plan: Plan, reward: str, words: str) -> None:
    before = th.get_rng_state()
    with pytest.raises(RewardError, match=words):
        rehearse(plan, ["task", reward])
    assert th.equal(th.get_rng_state(), before)


@pytest.mark.parametrize(
    ("env", "rule"),
    [("Flag", BY_FLAG), ("Mlp", BY_RETURN), ("Early", NO_SUCCESS)],
)
def test_success_rule(env: str, rule: str) -> None:
    run = train(tiny(f"tests/Corridor{env}-v0", eval_episodes=6), "task")
    assert run.success_rule == rule
    success = values(run, "eval/success_rate")
    if rule == NO_SUCCESS:
        assert success == [] and max(values(run, "eval/task_return")) > 1
    else:
        assert success == values(run, "eval/task_return") and max(success) > 0


def test_evaluation_is_on_the_tasks_own_reward() -> None:
    plain, paid = (train(tiny("tests/CorridorMlp-v0"), r) for r in ("task", "task + shift(task, 100, name=more)"))
    for run in (plain, paid):
        assert 0 <= min(values(run, "eval/task_return")) <= max(values(run, "eval/task_return")) <= 1
    assert values(plain, "eval/task_return")[0] == values(paid, "eval/task_return")[0]
    assert values(plain, "eval/length")[0] == values(paid, "eval/length")[0]


def test_evaluation_sees_what_a_monitor_hides() -> None:
    run = train(
        Plan("reward_envs/Monitored-v0", steps=64, n_envs=2, eval_episodes=2, hyperparameters=PPO), "fill_unknown(task)"
    )
    assert np.isfinite(values(run, "eval/task_return")).all()


def test_terms_of_training_add_up() -> None:
    run = train(tiny("tests/CorridorMlp-v0", steps=256), "task + 0.5*shift(task, 1, name=paid)")
    task, paid, returned = (
        values(run, f"train/{k}") for k in ("episode_reward/task", "episode_reward/paid", "task_return")
    )
    assert task == returned and len(task) > 0
    # the second term is half the first and half a point a step, of which an episode has 3 to 8
    extra = np.array(paid) - 0.5 * np.array(task)
    assert ((extra >= 1.5) & (extra <= 4.0)).all()


def test_same_seed_same_rows_and_another_seed_others() -> None:
    plan = tiny("tests/CorridorMlp-v0")
    one, two, other = (train(plan, "task + count(bits=4)", seed=s) for s in (3, 3, 4))
    assert one.rows == two.rows
    assert one.rows != other.rows


def test_evaluating_more_often_trains_the_same() -> None:
    seldom, often = (train(tiny("tests/CorridorMlp-v0", eval_every=n), "task + count(bits=4)") for n in (64, 8))
    trained = [[r for r in run.rows if r.metric.startswith("train/")] for run in (seldom, often)]
    assert trained[0] == trained[1] and len(values(often, "eval/task_return")) == 9


def test_agent_and_reward_come_back(tmp_path: Path) -> None:
    steps: list[int] = []
    train(tiny("tests/CorridorDiscrete-v0"), "task + 0.1*count", seed=5, out=tmp_path / "a", progress=steps.append)
    assert steps == sorted(steps) and steps[-1] == 64
    model = load(tmp_path / "a")
    (visits,) = (s for s in model.get_env().rewarder.states if hasattr(s, "counts"))
    assert visits.counts.sum() == 64 and visits.keys.dtype == np.uint64
    model.learn(32, reset_num_timesteps=False)
    assert model.num_timesteps == 96
    assert next(s for s in model.get_env().rewarder.states if hasattr(s, "counts")).counts.sum() == 96


def test_networks_of_the_reward_come_back(tmp_path: Path) -> None:
    train(tiny("tests/CorridorMlp-v0"), "task + 0.1*rnd", out=tmp_path)
    first, second = (load(tmp_path).get_env().rewarder.state_dict() for _ in range(2))
    assert _leaves(first) == _leaves(second) and len(_leaves(first)) > 10


def test_another_reward_is_refused(tmp_path: Path) -> None:
    train(tiny("tests/CorridorMlp-v0"), "task + 0.1*count(bits=4)", out=tmp_path)
    with pytest.raises(RewardError, match="saved state belongs to"):
        load(tmp_path, "task")


def _leaves(tree) -> list:
    if isinstance(tree, dict):
        return [x for v in tree.values() for x in _leaves(v)]
    if isinstance(tree, list | tuple):
        return [x for v in tree for x in _leaves(v)]
    return [tree.tolist() if isinstance(tree, np.ndarray | th.Tensor) else tree]


def test_saved_arrays_are_read_without_pickle(tmp_path: Path) -> None:
    tree = {
        "counts": np.array([1, 2**63], np.uint64),
        "mean": np.array(0.5),
        "flags": [np.array([True]), (np.zeros((0, 3), np.float32), None)],
        "words": np.array(["a", "bc"]),
        "big": 2**127 + 1,
        "weights": th.ones(2),
    }
    th.save(_to_tensors(tree), tmp_path / "s.pt")
    back = _to_arrays(th.load(tmp_path / "s.pt", weights_only=True))
    assert _leaves(back) == _leaves(tree)
    assert back["counts"].dtype == np.uint64 and back["flags"][1][0].shape == (0, 3)
    assert isinstance(back["weights"], th.Tensor) and back["big"] == 2**127 + 1


@pytest.mark.parametrize("env", ["MiniGrid-DoorKey-5x5-v0", "reward_envs/DoorKey-6x6-v0"])
def test_minigrid_is_seen_as_the_flattened_image(env: str) -> None:
    made = make(env)
    assert made.observation_space.shape == (147,) and made.observation_space.dtype == np.uint8
    obs, _ = made.reset(seed=3)
    np.testing.assert_array_equal(obs, gym.make(env).reset(seed=3)[0]["image"].ravel())


def test_hooks_reach_through_the_flattened_view() -> None:
    plan = tiny("reward_envs/DoorKey-5x5-v0", steps=32, eval_episodes=1, eval_every=32)
    run = train(plan, "task + milestones")
    assert run.success_rule == BY_FLAG


@pytest.mark.parametrize("changes", [{"steps": 0}, {"eval_episodes": -1}, {"algo": "poo"}])
def test_plans_that_cannot_be(changes: dict) -> None:
    with pytest.raises(RewardError, match="at least 1|no algorithm"):
        Plan("CartPole-v1", **changes)
