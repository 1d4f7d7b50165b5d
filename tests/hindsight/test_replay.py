"""SB3's replay with goals that were reached: which rows, which goals, and what they pay."""

from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from scipy.stats import chi2_contingency, chisquare
from stable_baselines3 import DDPG, DQN, SAC, TD3, HerReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from reward_envs.control import sb3_vec
from reward_envs.kernels import hindsight as k
from reward_envs.wrappers import HindsightReplayBuffer, RewardError
from tests.hindsight.played import BitFlip, Endless, Line, Mute, buffer, numbers, play, virtual

STRATEGIES = ("future", "final", "episode", "random")
LENGTHS = [[3, 5, 1, 4], [4, 4, 5]]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_goals_are_those_of_the_strategy_evenly_and_of_no_other_episode(strategy: str) -> None:
    replay = buffer(n=2, goal_selection_strategy=strategy)
    play(replay, LENGTHS)
    sample = replay.sample(40_000)
    state, goal = numbers(sample.observations["achieved_goal"]), numbers(sample.observations["desired_goal"])
    np.testing.assert_array_equal(goal, numbers(sample.next_observations["desired_goal"]))
    new = virtual(sample)
    assert new.mean() == pytest.approx(0.8, abs=1e-4) and not new[: len(new) // 5].any()
    rows = [(env, episode, step) for env in (0, 1) for episode, n in enumerate(LENGTHS[env]) for step in range(n)]
    drawn = Counter(state.astype(int).tolist())
    assert chisquare([drawn[1000 * e + 100 * i + s] for e, i, s in rows]).pvalue > 1e-4
    everything = {1000 * e + 100 * i + s + 1 for e, i, s in rows}
    for env, episode, step in rows:
        first, length = 1000 * env + 100 * episode, LENGTHS[env][episode]
        expected = {
            "future": set(range(first + step + 1, first + length + 1)),
            "final": {first + length},
            "episode": set(range(first + 1, first + length + 1)),
            "random": everything,
        }[strategy]
        seen = Counter(goal[new & (state == first + step)].astype(int).tolist())
        assert set(seen) == expected
        if len(expected) > 1:
            assert chisquare([seen[g] for g in sorted(expected)]).pvalue > 1e-5


def test_it_draws_as_sb3_draws_and_pays_what_sb3_pays() -> None:
    """The same share of new goals; the same rewards of the same rows; offsets of the same distribution."""
    ours, theirs = buffer(n=2), buffer(n=2, cls=HerReplayBuffer)
    np.random.seed(0)  # noqa: NPY002  (SB3's)
    found = []
    for replay in (ours, theirs):
        play(replay, LENGTHS)
        sample = replay.sample(20_000)
        new = virtual(sample)
        offset = numbers(sample.observations["desired_goal"]) - numbers(sample.observations["achieved_goal"])
        found.append(Counter(offset[new].astype(int).tolist()))
        reward = numbers(sample.rewards)
        np.testing.assert_array_equal(reward[new], (offset[new] == 1).astype(np.float32))
        assert (reward[~new] == -1).all() and new.sum() == 16_000
    keys = sorted(found[0] | found[1])
    assert keys == sorted(found[0]) == sorted(found[1]) == [1, 2, 3, 4, 5]
    table = np.array([[f[key] for key in keys] for f in found])
    assert chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_termination_is_that_of_the_new_goal(end: str, ends: bool) -> None:
    """Reached by relabelling ends where the task ends on success; an end for the old goal is none for another; a time
    limit is no end."""

    class Task(Line):
        pass

    Task.ends = ends
    replay = buffer(make=Task, goal_selection_strategy="episode")
    play(replay, [[4, 5]], end)
    sample = replay.sample(4000)
    new, last = virtual(sample), np.isin(numbers(sample.next_observations["achieved_goal"]), (4.0, 105.0))
    reached = numbers(sample.next_observations["achieved_goal"]) == numbers(sample.observations["desired_goal"])
    done = numbers(sample.dones)
    np.testing.assert_array_equal(done[new], (reached & ends)[new])
    np.testing.assert_array_equal(done[~new], (last & (end == "terminated"))[~new])


def test_a_time_limit_that_is_not_told_apart_stays_an_end() -> None:
    class Task(Line):
        ends = False

    replay = buffer(make=Task, goal_selection_strategy="final", handle_timeout_termination=False)
    play(replay, [[4, 5]])
    sample = replay.sample(1000)
    last = np.isin(numbers(sample.next_observations["achieved_goal"]), (4.0, 105.0))
    np.testing.assert_array_equal(numbers(sample.dones), last)


def test_the_last_row_with_its_own_goal_is_a_success_and_one_step_episodes_get_goals() -> None:
    replay = buffer(goal_selection_strategy="final")
    play(replay, [[1] * 10])
    sample = replay.sample(200)
    new = virtual(sample)
    assert (numbers(sample.rewards)[new] == 1).all() and (numbers(sample.dones)[new] == 1).all()


def test_each_environment_answers_for_its_own_rows() -> None:
    class Strict(Line):
        near = -1.0  # never there

    venv = DummyVecEnv([Line, Strict])
    replay = HindsightReplayBuffer(
        60, venv.observation_space, venv.action_space, venv, device="cpu", n_envs=2, goal_selection_strategy="final"
    )
    play(replay, [[3] * 4, [3] * 4])
    sample = replay.sample(400)
    new, own = virtual(sample), numbers(sample.observations["achieved_goal"]) < 1000
    reached = numbers(sample.next_observations["achieved_goal"]) == numbers(sample.observations["desired_goal"])
    np.testing.assert_array_equal(numbers(sample.rewards)[new], (reached & own)[new])


def test_environments_that_are_alike_are_asked_once() -> None:
    asked: list[int] = []

    class Noted(Line):
        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            asked.append(len(achieved))
            return super().compute_reward(achieved, desired, info)

    replay = buffer(n=3, make=Noted)
    play(replay, [[3] * 4] * 3)
    replay.sample(100)
    assert len(asked) >= 3 and max(asked) < 80
    replay.env.alike, replay._functions = True, []
    del asked[:]
    sample = replay.sample(100)
    assert asked[-1] == 80 and len(asked) == 4  # of which three probe
    reached = numbers(sample.next_observations["achieved_goal"]) == numbers(sample.observations["desired_goal"])
    np.testing.assert_array_equal(numbers(sample.rewards)[20:], reached[20:])


def test_open_episodes_are_not_drawn_and_old_ones_go_whole() -> None:
    """A naive list of the rows that are there, beside the books of a ring of 12 steps and two environments."""
    rng = np.random.default_rng(0)
    lengths = [rng.integers(1, 8, 40).tolist() for _ in range(2)]
    total = min(map(sum, lengths))
    replay = buffer(24, n=2, goal_selection_strategy="episode")
    assert replay.buffer_size == 12
    place, ring = [(0, 0), (0, 0)], []
    for t in range(total):
        play_one(replay, place, lengths, ring)
        ring = ring[-12:]
        there = {row for step in ring for row in step}
        whole = {
            (e, i, s) for e, i, s in there
            if all((e, i, q) in there for q in range(lengths[e][i]))
        }  # fmt: skip
        assert replay._valid == len(whole) == int((replay.ep_length > 0).sum()), t
        if whole and t % 7 == 0:
            sample = replay.sample(500)
            seen = set(numbers(sample.observations["achieved_goal"]).astype(int).tolist())
            assert seen <= {1000 * e + 100 * i + s for e, i, s in whole}
            new = virtual(sample)
            goals = set(numbers(sample.observations["desired_goal"])[new].astype(int).tolist())
            assert goals <= {1000 * e + 100 * i + s + 1 for e, i, s in whole}
            if len(seen) > 4:
                assert len(seen) == len(whole)


def play_one(into: Any, place: list[tuple[int, int]], lengths: list[list[int]], ring: list[Any]) -> None:
    obs = np.array([[1000.0 * e + 100 * i + s] for e, (i, s) in enumerate(place)])
    ring.append([(e, i, s) for e, (i, s) in enumerate(place)])
    done = np.array([s + 1 == lengths[e][i] for e, (i, s) in enumerate(place)])
    goal = np.full_like(obs, -7.0)
    seen, then = ({"observation": o, "achieved_goal": o, "desired_goal": goal} for o in (obs, obs + 1))
    into.add(seen, then, np.zeros((2, 1)), np.zeros(2), done, [{"TimeLimit.truncated": bool(d)} for d in done])
    for e, (i, s) in enumerate(place):
        place[e] = (i + 1, 0) if done[e] else (i, s + 1)


def test_a_reset_in_mid_episode_ends_it_without_an_end() -> None:
    """No goal of the new episode goes to rows of the old one, and the learner bootstraps beyond the old one's last."""
    replay = buffer(n=2)
    play(replay, [[2, 9], [11]], steps=5)  # the second environment goes on where it stood
    seen = {name: np.array([[2000.0], [1005.0]]) for name in ("observation", "achieved_goal")}
    seen["desired_goal"] = np.full((2, 1), -7.0)
    replay.add(seen, seen, np.zeros((2, 1)), np.zeros(2), np.zeros(2, bool), [{}] * 2)
    assert replay._steps.tolist() == [1, 6] and replay._valid == 5
    assert replay.ep_length[:6, 0].tolist() == [2, 2, 3, 3, 3, 0] and not replay.ep_length[:, 1].any()
    sample = replay.sample(300)
    assert set(numbers(sample.observations["desired_goal"])) == {-7.0, 1.0, 2.0, 101.0, 102.0, 103.0}
    new = virtual(sample)
    assert (numbers(sample.dones)[~new] == 0).all()


def test_learning_twice_mixes_no_episodes() -> None:
    """SB3 resets the environment when it learns anew, in mid-episode and without telling the buffer."""
    model = trained(SAC, "reward_envs/PointReach-v0", 70, learning_starts=1000)
    model.learn(70)
    assert model.replay_buffer.ep_length[:140, 0].tolist() == [50] * 50 + [20] * 20 + [50] * 50 + [0] * 20


def test_few_finished_rows_among_many_are_found() -> None:
    replay = buffer(2000)
    play(replay, [[2, 500]])
    replay.ep_length[2:502] = 0  # as if the long one still ran
    replay._valid = 2
    state = numbers(replay.sample(100).observations["achieved_goal"])
    assert set(state.tolist()) == {0.0, 1.0}


def test_a_function_chooses_goals() -> None:
    def second(step: Any, length: Any, rng: np.random.Generator) -> Any:
        assert (step < length).all()
        return np.minimum(1, length - 1)

    replay = buffer(n=2, goal_selection_strategy=second)
    play(replay, LENGTHS)
    sample = replay.sample(600)
    goal, state = (numbers(sample.observations[n]) for n in ("desired_goal", "achieved_goal"))
    new = virtual(sample)
    expected = np.where(state // 100 == 2, 201, 100 * (state // 100) + 2)
    np.testing.assert_array_equal(goal[new], expected[new])
    replay = buffer(goal_selection_strategy=lambda step, length, rng: length)
    play(replay, [[3]])
    with pytest.raises(RewardError, match="integers from 0 to its length - 1"):
        replay.sample(10)


def test_the_seed_decides_and_nothing_global_does() -> None:
    def drawn(**kwargs: Any) -> Any:
        replay = buffer(n=2, **kwargs)
        play(replay, LENGTHS)
        return numbers(replay.sample(64).observations["desired_goal"])

    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one = drawn(seed=3)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    np.random.seed(9)  # noqa: NPY002
    np.testing.assert_array_equal(one, drawn(seed=3))
    assert (one != drawn(seed=4)).any()
    th.manual_seed(1)
    first = drawn(seed=None)
    th.manual_seed(1)
    np.testing.assert_array_equal(first, drawn(seed=None))


def test_saving_in_mid_episode_goes_on_as_if_nothing_had_been() -> None:
    replay = buffer(n=2)
    play(replay, [[3, 5], [4, 4]])
    rest = [[2, 4], [3, 3]]
    step(replay)
    again = pickle.loads(pickle.dumps(replay))
    assert again.env is None
    again.set_env(replay.env)
    for one in (replay, again):
        play(one, rest)
    for name in ("observations", "next_observations", "rewards", "dones"):
        a, b = getattr(replay.sample(50), name), getattr(again.sample(50), name)
        for x, y in [(a[key], b[key]) for key in a] if isinstance(a, dict) else [(a, b)]:
            assert th.equal(x, y)
    assert again.observations["observation"].base is not None, "SB3's arrays are views of the loaded rows"
    again.observations["observation"][0] = 5.0
    assert again._table["obs/observation"][0, 0] == 5.0


def step(replay: Any) -> None:
    n = replay.n_envs
    seen = {name: np.full((n, 1), 9999.0) for name in ("observation", "achieved_goal", "desired_goal")}
    replay.add(seen, seen, np.zeros((n, 1)), np.zeros(n), np.zeros(n, bool), [{}] * n)


def test_sb3_saves_loads_and_cuts_the_running_episode(tmp_path: Path) -> None:
    model = trained(SAC, "reward_envs/PointReach-v0", 130)
    model.save_replay_buffer(tmp_path / "rows")
    before = model.replay_buffer
    assert before._steps[0] > 0
    other = trained(SAC, "reward_envs/PointReach-v0", 0)
    other.load_replay_buffer(tmp_path / "rows", truncate_last_traj=False)
    assert other.replay_buffer._steps.tolist() == before._steps.tolist()
    other.replay_buffer.sample(10)
    with pytest.warns(UserWarning, match="will be truncated"):
        other.load_replay_buffer(tmp_path / "rows")
    assert other.replay_buffer._steps[0] == 0 and other.replay_buffer._valid == before._valid + before._steps[0]
    wide = SAC("MultiInputPolicy", make_vec_env("reward_envs/PointReach-v0", 2), **settings())
    with pytest.raises(RewardError, match="rows of 1 environments"):
        wide.load_replay_buffer(tmp_path / "rows")


def settings(**more: Any) -> dict[str, Any]:
    return {
        "replay_buffer_class": HindsightReplayBuffer,
        "learning_starts": 60,
        "device": "cpu",
        "seed": 0,
        "policy_kwargs": {"net_arch": [16]},
        **more,
    }


def trained(algo: Any, env: Any, steps: int, **more: Any) -> Any:
    model = algo("MultiInputPolicy", env, **settings(**more))
    return model.learn(steps) if steps else model


@pytest.mark.parametrize("algo", [SAC, TD3, DDPG, "TQC"])
def test_algorithms_with_continuous_actions_train_on_it(algo: Any) -> None:
    algo = pytest.importorskip("sb3_contrib").TQC if algo == "TQC" else algo
    model = trained(algo, sb3_vec("reward_envs/PointReach-v0", 3, seed=0), 240, learning_starts=150)
    assert model.replay_buffer.sample(20).rewards.isfinite().all()


@pytest.mark.parametrize("algo", [DQN, "QRDQN"])
def test_algorithms_with_discrete_actions_and_goals_train_on_it(algo: Any) -> None:
    algo = pytest.importorskip("sb3_contrib").QRDQN if algo == "QRDQN" else algo
    model = trained(algo, make_vec_env(BitFlip, 2), 200)
    sample = model.replay_buffer.sample(200)
    same = (sample.next_observations["achieved_goal"] == sample.observations["desired_goal"]).all(dim=1)
    np.testing.assert_array_equal(numbers(sample.rewards), same.numpy())
    np.testing.assert_array_equal(numbers(sample.dones), same.numpy())


def test_normalised_observations_and_rewards_are_those_of_sb3() -> None:
    venv = VecNormalize(DummyVecEnv([Line]), norm_obs=True, norm_reward=True)
    venv.obs_rms["observation"].mean[:], venv.ret_rms.var = 50.0, 4.0
    replay = HindsightReplayBuffer(60, venv.observation_space, venv.action_space, venv, device="cpu", seed=0)
    play(replay, [[3, 5]])
    plain, normal = copy.deepcopy(replay), replay
    plain.set_env(venv)
    a, b = plain.sample(30), normal.sample(30, env=venv)
    np.testing.assert_allclose(numbers(b.rewards), numbers(a.rewards) / math.sqrt(4.0 + venv.epsilon), rtol=1e-6)
    shifted = venv.normalize_obs({key: value.numpy() for key, value in a.observations.items()})
    np.testing.assert_allclose(numbers(b.observations["observation"]), shifted["observation"][:, 0])


def test_declared_columns_of_info_reach_the_reward_and_nothing_else_is_stored() -> None:
    replay = make_replay("dense")
    assert replay.relabel_info == {"was": (2,), "aside": ()}
    assert not any(name.startswith("info/") for name in make_replay("sparse")._table.dtype.names)
    sample = replay.sample(300)
    gap = {
        name: np.linalg.norm(getattr(sample, of)["achieved_goal"] - sample.observations["desired_goal"], axis=1)
        for name, of in (("was", "observations"), ("now", "next_observations"))
    }
    expected = (gap["now"] <= 0.1) + gap["was"] - gap["now"]
    np.testing.assert_allclose(numbers(sample.rewards), expected, atol=1e-6)


def make_replay(mode: str) -> Any:
    venv = make_vec_env("reward_envs/PointReach-v0", 2, env_kwargs={"reward_mode": mode}, seed=0)
    model = SAC("MultiInputPolicy", venv, **settings(learning_starts=10_000))
    return model.learn(300).replay_buffer


def test_one_object_for_all_worlds_gives_what_many_give() -> None:
    samples = []
    for venv in (sb3_vec("reward_envs/PointReach-v0", 2, seed=0), make_vec_env("reward_envs/PointReach-v0", 2, seed=0)):
        replay = SAC("MultiInputPolicy", venv, **settings(learning_starts=10_000)).learn(300).replay_buffer
        samples.append(replay.sample(100))
    for name in ("rewards", "dones"):
        assert getattr(samples[0], name).shape == getattr(samples[1], name).shape
    one = samples[0]
    near = np.linalg.norm(one.next_observations["achieved_goal"] - one.observations["desired_goal"], axis=1) <= 0.1
    np.testing.assert_array_equal(numbers(one.rewards), near)


def test_images_as_goals_go_as_sb3_turned_them_and_come_back_as_played() -> None:
    class Picture(gym.Env[Any, Any]):
        seen: list[tuple[int, ...]] = []  # noqa: RUF012
        _box = spaces.Box(0, 255, (36, 40, 3), np.uint8)
        observation_space = spaces.Dict({"achieved_goal": _box, "desired_goal": _box})
        action_space = spaces.Box(-1, 1, (1,), np.float32)

        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            self.seen.append(achieved.shape[1:])
            return (achieved == desired).all(axis=(-1, -2, -3)).astype(float)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.t = 0
            return self._look(), {}

        def _look(self) -> Any:
            picture = self.np_random.integers(0, 256, (36, 40, 3), np.uint8)
            return {"achieved_goal": picture, "desired_goal": np.zeros_like(picture)}

        def step(self, action: Any) -> Any:
            self.t += 1
            return self._look(), 0.0, False, self.t == 4, {}

    model = SAC("MultiInputPolicy", Picture(), **settings(learning_starts=1000, buffer_size=40)).learn(20)
    sample = model.replay_buffer.sample(40)
    assert sample.observations["desired_goal"].dtype == th.uint8 and sample.rewards.sum() > 0
    assert set(Picture.seen) == {(36, 40, 3)}
    same = (sample.next_observations["achieved_goal"] == sample.observations["desired_goal"]).flatten(1).all(dim=1)
    np.testing.assert_array_equal(numbers(sample.rewards) == 1, same.numpy())


def test_functions_of_one_row_are_called_row_by_row() -> None:
    class One(Line):
        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return float(np.linalg.norm(achieved - desired) <= 0.5)  # of a batch: of the norm over all of it

        def compute_terminated(self, achieved: Any, desired: Any, info: Any) -> bool:
            return False

    replay = buffer(make=One)
    play(replay, [[3, 5]])
    sample = replay.sample(200)
    reached = numbers(sample.next_observations["achieved_goal"]) == numbers(sample.observations["desired_goal"])
    new = virtual(sample)
    np.testing.assert_array_equal(numbers(sample.rewards)[new], reached[new])


def test_what_cannot_be_gets_a_sentence() -> None:
    with pytest.raises(RewardError, match="no episode has ended yet"):
        buffer().sample(4)
    with pytest.raises(RewardError, match="needs goals: observations are dicts"):
        SAC("MlpPolicy", "Pendulum-v1", **settings())
    with pytest.raises(RewardError, match="did you mean 'future'"):
        buffer(goal_selection_strategy="futre")
    with pytest.raises(RewardError, match="an integer of 1 or more"):
        buffer(n_sampled_goal=0)
    with pytest.raises(RewardError, match="more than 4 steps does not fit"):
        play(buffer(4), [[5]])
    replay = buffer()
    seen = {name: np.zeros((1, 1)) for name in ("observation", "achieved_goal", "desired_goal")}
    with pytest.raises(RewardError, match="are not finite"):
        replay.add(seen, seen, np.zeros((1, 1)), np.array([np.nan]), np.array([False]), [{}])

    class Wild(Line):
        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return np.full(len(achieved), np.nan)

    for make, end, said in (
        (Mute, "truncated", "has no compute_reward"),
        (Endless, "terminated", "has no compute_terminated"),
        (Wild, "truncated", "one finite number a row"),
    ):
        replay = buffer(make=make)
        play(replay, [[3, 5]], end)
        with pytest.raises(RewardError, match=said):
            replay.sample(10)
    with pytest.raises(RewardError, match="SB3's buffers carry only arrays of numbers"):
        HindsightReplayBuffer(8, words(), Line.action_space, DummyVecEnv([Line]))
    with pytest.raises(RewardError, match="relabel_info = {'name': shape}"):
        buffer(copy_info_dict=True)

    class Told(Line):
        relabel_info = {"was": ()}  # noqa: RUF012

    with pytest.raises(RewardError, match=r"reads info\['was'\], and this step has none; it has TimeLimit"):
        play(buffer(make=Told), [[1]])

    class Both(Line):
        def compute_goal(self, achieved: Any, desired: Any, info: Any) -> Any:
            return np.full(len(achieved), np.nan), np.zeros(len(achieved), bool)

    replay = buffer(make=Both)
    play(replay, [[3, 5]])
    with pytest.raises(RewardError, match="compute_goal gave float64 .* one finite number a row"):
        replay.sample(10)
    replay = buffer(make=Endless, compute_terminated=lambda a, d, i: (a == d)[..., 0])
    play(replay, [[3, 5]], "terminated")
    sample = replay.sample(100)
    new = virtual(sample)
    np.testing.assert_array_equal(numbers(sample.dones)[new], numbers(sample.rewards)[new])


def words() -> spaces.Dict:
    return spaces.Dict({"achieved_goal": spaces.Text(5), "desired_goal": spaces.Text(5)})


def test_kernels_equal_their_twins() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2**32, (20, 9), np.uint32)
    index, goal = rng.integers(0, 20, 7), rng.integers(0, 20, 5)
    parts = np.array([[0, 2, 0, -1], [3, 4, 14, 5], [8, 1, 48, -1]])
    out = np.zeros(60, np.uint32)
    k.gather(rows, index, goal, parts, out)
    for lies, size, block, achieved in parts.tolist():
        for b in range(7):
            source = rows[goal[b - 2], achieved:] if b >= 2 and achieved >= 0 else rows[index[b], lies:]
            np.testing.assert_array_equal(out[block + b * size : block + (b + 1) * size], source[:size])
