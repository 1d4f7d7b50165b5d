"""The engine: one trajectory a seed wherever a world lies, autoreset, views, hooks, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.grid import sb3_vec
from reward_envs.grid.env import GridEnv, GridVector
from reward_envs.grid.hooks import GridHooks
from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from reward_envs.registration import IDS, engine_of

EXACT = [n for n, s in TASKS.items() if s.steps_to_go_max is not None and s.exact]
FEW = ["DoorKey-6x6-v0", "MultiRoom-N2-S4-v0", "LavaGapS5-v0"]
ROLL = 60


def actions(seed: int, steps: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 7, (steps, n))


def test_ids_are_those_of_the_tasks() -> None:
    assert {n for n in IDS if engine_of(f"reward_envs/{n}") == "grid"} == set(TASKS)


@pytest.mark.parametrize("name", FEW)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_accepts_the_environment(name: str) -> None:
    check_env(gym.make(f"reward_envs/{name}", disable_env_checker=True).unwrapped, skip_render_check=True)


# one word a world


@pytest.mark.parametrize("name", FEW)
def test_a_world_goes_its_way_alone_and_in_any_place_of_a_vector(name: str) -> None:
    single = GridEnv(TASKS[name])
    vector = GridVector(TASKS[name], 5, autoreset_mode="SameStep")
    seen, _ = vector.reset(seed=40)
    alone = [single.reset(seed=43)[0]]
    rows = [(seen["image"][3], seen["direction"][3], seen["mission"][3])]
    for step in actions(1, 4 * ROLL, 5):
        seen, reward, terminated, truncated, infos = vector.step(step)
        obs, *end, info = single.step(int(step[3]))
        assert end == [reward[3], terminated[3], truncated[3]]
        if end[1] or end[2]:
            last = infos["final_obs"][3]
            np.testing.assert_array_equal(last["image"], obs["image"])
            assert infos["final_info"]["is_success"][3] == info["is_success"]
            obs = single.reset()[0]
        alone.append(obs)
        rows.append((seen["image"][3], seen["direction"][3], seen["mission"][3]))
    for obs, (image, direction, mission) in zip(alone, rows, strict=True):
        np.testing.assert_array_equal(obs["image"], image)
        assert (obs["direction"], obs["mission"]) == (direction, mission)


def test_resets_go_on_with_the_stream_and_pickles_keep_it() -> None:
    one, two = GridEnv(TASKS["FourRooms-v0"]), GridEnv(TASKS["FourRooms-v0"])
    one.reset(seed=7), two.reset(seed=7)
    for other in (two, pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        here = copy.deepcopy(one)
        for _ in range(3):
            np.testing.assert_array_equal(here.reset()[0]["image"], other.reset()[0]["image"])
    free = {GridEnv(TASKS["FourRooms-v0"]).reset()[0]["image"].tobytes() for _ in range(8)}
    assert len(free) > 1


@pytest.mark.parametrize("name", FEW)
def test_autoreset_modes_tell_the_same_story(name: str) -> None:
    """Rows of NEXT_STEP without the dead ones, and those of DISABLED with resets by mask, are those of SAME_STEP."""
    n, steps = 4, actions(5, 3 * ROLL, 4)
    vectors = {mode: GridVector(TASKS[name], n, autoreset_mode=mode) for mode in AutoresetMode}
    stories: dict[Any, list[list[Any]]] = {mode: [[] for _ in range(n)] for mode in vectors}
    for mode, vector in vectors.items():
        vector.reset(seed=3)
        queues = [list(steps[:, i]) for i in range(n)]
        over = np.zeros(n, bool)
        while all(queues):
            dead = over & (mode is AutoresetMode.NEXT_STEP)
            acts = np.array([0 if dead[i] else queues[i].pop(0) for i in range(n)])
            seen, reward, terminated, truncated, infos = vector.step(acts)
            for i in np.flatnonzero(~dead):
                image = seen["image"][i]
                if mode is AutoresetMode.SAME_STEP and (terminated[i] or truncated[i]):
                    image = infos["final_obs"][i]["image"]
                stories[mode][i].append((image.tobytes(), reward[i], terminated[i], truncated[i]))
            if dead.any():
                assert not reward[dead].any() and not (terminated | truncated)[dead].any()
            over = terminated | truncated
            if mode is AutoresetMode.DISABLED and over.any():
                vector.reset(options={"reset_mask": over})
    for i in range(n):
        told = [stories[mode][i] for mode in vectors]
        shortest = min(map(len, told))
        assert shortest > ROLL and all(t[:shortest] == told[0][:shortest] for t in told)


@pytest.mark.parametrize("name", FEW)
def test_sb3_sees_the_same_rows(name: str) -> None:
    vector = GridVector(TASKS[name], 3, autoreset_mode="SameStep", hooks=("progress",))
    venv = sb3_vec(f"reward_envs/{name}", 3, seed=9, hooks=("progress",))
    np.testing.assert_array_equal(venv.reset(), vector.reset(seed=9)[0]["image"].reshape(3, -1))
    for step in actions(2, 3 * ROLL, 3):
        seen, reward, terminated, truncated, infos = vector.step(step)
        obs, paid, dones, each = venv.step(step)
        np.testing.assert_array_equal(obs, seen["image"].reshape(3, -1))
        np.testing.assert_array_equal(paid, reward.astype(np.float32))
        np.testing.assert_array_equal(dones, terminated | truncated)
        for i, info in enumerate(each):
            told = infos["final_info"] if dones[i] else infos
            assert info["is_success"] == told["is_success"][i] and info["progress"] == told["progress"][i]
            assert info.get("TimeLimit.truncated", False) == (truncated[i] and not terminated[i])
            if dones[i]:
                np.testing.assert_array_equal(info["terminal_observation"], infos["final_obs"][i]["image"].ravel())


def test_threads_change_nothing() -> None:
    one, two = (GridVector(TASKS["MultiRoom-N6-v0"], 37, threads=t) for t in (1, 2))
    one.reset(seed=0), two.reset(seed=0)
    for step in actions(4, 3 * ROLL, 37):
        for a, b in zip(one.step(step)[:4], two.step(step)[:4], strict=True):
            many = isinstance(a, dict)
            for x, y in zip(a.values() if many else [a], b.values() if many else [b], strict=True):
                np.testing.assert_array_equal(x, y)
    with pytest.raises(ValueError, match="action 8 of world 20"):
        two.step(np.where(np.arange(37) == 20, 8, 0))
    with pytest.raises(ValueError, match="threads=0"):
        GridVector(TASKS["MultiRoom-N6-v0"], 3, threads=0)


# views


@pytest.mark.parametrize("size", [3, 5, 9, 11])
def test_other_views_equal_minigrids(size: int) -> None:
    wrappers = pytest.importorskip("minigrid.wrappers")
    from tests.grid.minigrid_layouts import load, theirs

    for name in ("MultiRoom-N6-v0", "FourRooms-v0", "DistShift1-v0"):
        spec = TASKS[name]
        env = wrappers.ViewSizeWrapper(theirs(spec), agent_view_size=size)
        worlds = Worlds(spec, 1, view_size=size)
        for seed in range(4):
            obs, _ = env.reset(seed=seed)
            load(worlds, 0, env.unwrapped)
            worlds.look(worlds.all)
            for action in actions(seed, ROLL, 1):
                np.testing.assert_array_equal(worlds.image[0], obs["image"])
                obs = env.step(int(action[0]))[0]
                worlds.step(action)


def test_the_whole_grid_equals_minigrids() -> None:
    wrappers = pytest.importorskip("minigrid.wrappers")
    from tests.grid.minigrid_layouts import load, theirs

    env = wrappers.FullyObsWrapper(theirs(TASKS["DoorKey-8x8-v0"]))
    worlds = Worlds(TASKS["DoorKey-8x8-v0"], 1, full_view=True)
    obs, _ = env.reset(seed=1)
    load(worlds, 0, env.unwrapped)
    worlds.look(worlds.all)
    for action in actions(0, ROLL, 1):
        np.testing.assert_array_equal(worlds.image[0], obs["image"])
        obs = env.step(int(action[0]))[0]
        worlds.step(action)


def test_the_table_of_light_equals_its_rule() -> None:
    table = k.light_table(5)
    assert [int(table[i]) for i in range(1 << 10)] == [k.light(i >> 5, i & 31, 5) for i in range(1 << 10)]


@pytest.mark.parametrize("name", FEW)
def test_pictures_equal_minigrids(name: str) -> None:
    pytest.importorskip("minigrid")
    from reward_envs.grid.picture import picture
    from tests.grid.minigrid_layouts import load, theirs

    env, worlds = theirs(TASKS[name]), Worlds(TASKS[name], 1)
    env.reset(seed=2)
    load(worlds, 0, env)
    for action in actions(3, 6, 1):
        worlds.look(worlds.all)
        np.testing.assert_array_equal(picture(worlds, 0), env.get_frame(tile_size=32))
        env.step(int(action[0]))
        worlds.step(action)


# hooks


def successors(worlds: Worlds) -> np.ndarray:
    """float64[actions]: steps to go after each action in world 0, 0 at success and inf at failure."""
    n = worlds.spec.actions
    many = Worlds(worlds.spec, n)
    many.cells[:], many.state[:], many.words[:] = worlds.cells[0], worlds.state[0], worlds.words[0]
    many.step(np.arange(n))
    return GridHooks(many).steps_to_go(many.all)


@pytest.mark.parametrize("name", EXACT)
def test_steps_to_go_are_kept_step_by_step_and_never_beaten(name: str) -> None:
    """From states that random play reaches: the best action leaves exactly one step less, and none leaves fewer."""
    worlds = Worlds(TASKS[name], 1)
    hooks = GridHooks(worlds)
    rng = np.random.default_rng(0)
    for seed in range(12 if worlds.spec.width < 20 else 4):
        worlds.seed(worlds.all, [seed])
        worlds.begin(worlds.all)
        hooks.begin(worlds.all)
        for _ in range(15):
            after = successors(worlds)
            safe = np.flatnonzero(np.isfinite(after) & (after > 0))
            if len(safe) == 0:
                break
            worlds.step(np.array([rng.choice(safe)]))
        left = hooks.steps_to_go(worlds.all)[0]
        assert left <= (worlds.spec.steps_to_go_max or 0)
        while left > 0:
            after = successors(worlds)
            assert after.min() == left - 1
            worlds.step(np.array([int(after.argmin())]))
            left = hooks.steps_to_go(worlds.all)[0]
            assert left == after.min()
        assert worlds.success[0] and worlds.terminated[0]


def test_steps_to_go_are_worked_out_again_where_the_key_lies_elsewhere() -> None:
    env = gym.make("reward_envs/DoorKey-8x8-v0", hooks=("steps_to_go", "milestones", "progress", "caption"))
    worlds = env.unwrapped.worlds
    _, info = env.reset(seed=4)
    assert env.unwrapped.card.milestone_names == ("take the key", "open the locked door", "succeed")
    while not info["milestones"][0]:
        info = env.step(int(successors(worlds).argmin()))[4]
    assert "carries the yellow key" in info["caption"] and "locked" in info["caption"]
    before = info["steps_to_go"]
    info = env.step(k.DROP)[4]
    assert info["steps_to_go"] == before + 1 and info["milestones"].tolist() == [1, 0, 0]
    assert info["progress"] == pytest.approx(1 / 3)


def test_steps_to_go_asked_for_late_are_those_asked_for_from_the_start() -> None:
    """Also where the door is unlocked by then and the key lies somewhere."""
    asked, late = (Worlds(TASKS["DoorKey-8x8-v0"], 64) for _ in range(2))
    hooks = GridHooks(asked)
    for worlds in (asked, late):
        worlds.seed(worlds.all, list(range(64)))
        worlds.begin(worlds.all)
        worlds.state[:, k.CARRY] = k.pack(k.KEY, k.YELLOW, 0)
        worlds.cells[(worlds.cells & 15) == k.KEY] = k.EMPTY
        worlds.cells[(worlds.cells & 15) == k.DOOR] = k.pack(k.DOOR, k.YELLOW, k.CLOSED)
    hooks.begin(asked.all)
    for step in actions(6, 30, 64):
        asked.step(step), late.step(step)
        np.testing.assert_array_equal(hooks.steps_to_go(worlds.all), GridHooks(late).steps_to_go(worlds.all))


def test_lava_is_infinitely_far() -> None:
    env = gym.make("reward_envs/LavaCrossingS9N1-v0", hooks=("steps_to_go",), reward_mode="dense")
    task = env.unwrapped
    assert task.card.failing_ends and not gym.make("reward_envs/DoorKey-5x5-v0").unwrapped.card.failing_ends
    for seed in range(200):
        start = env.reset(seed=seed)[1]["steps_to_go"]
        total, terminated, truncated, info = 0.0, False, False, {}
        for action in actions(seed, 400, 1)[:, 0]:
            _, reward, terminated, truncated, info = env.step(int(action))
            total += reward
            if terminated or truncated:
                break
        if terminated and not info["is_success"]:
            assert info["steps_to_go"] == np.inf
            assert total == pytest.approx(start / task.card.steps_to_go_max - 1)
            return
    pytest.fail("no episode ended in lava")


@pytest.mark.parametrize("n", [1, 3])
def test_dense_pay_adds_up_to_the_way_made(n: int) -> None:
    sparse = GridVector(TASKS["DoorKey-6x6-v0"], n, hooks=("steps_to_go",))
    dense = GridVector(TASKS["DoorKey-6x6-v0"], n, reward_mode="dense")
    start = sparse.reset(seed=4)[1]["steps_to_go"]
    dense.reset(seed=4)
    extra, infos = np.zeros(n), {}
    for step in actions(8, 40, n):
        _, plain, terminated, _, infos = sparse.step(step)
        extra += dense.step(step)[1] - plain
        assert not terminated.any()
    assert extra == pytest.approx((start - infos["steps_to_go"]) / sparse.card.steps_to_go_max)


def test_the_same_reward_in_single_and_vector_under_a_method() -> None:
    text = "task + potential(steps_to_go) + milestones((0.2, 0.3, 0.0))"
    single = gym.make("reward_envs/DoorKey-6x6-v0", reward=text, gamma=0.9)
    vector = gym.make_vec("reward_envs/DoorKey-6x6-v0", 3, reward=text, gamma=0.9)
    single.reset(seed=12), vector.reset(seed=11)
    for step in actions(3, ROLL, 3):
        info, infos = single.step(int(step[1]))[4], vector.step(step)[4]
        for term in ("task", "potential", "milestones"):
            assert info[f"reward/{term}"] == infos[f"reward/{term}"][1]


def test_specs_rebuild() -> None:
    env = gym.make("reward_envs/DoorKey-5x5-v0", reward="task + potential(steps_to_go)", gamma=0.9, view_size=5)
    again = gym.make(env.spec)
    for e in (env, again):
        e.reset(seed=1)
    assert env.step(2)[1] == again.step(2)[1]
    vector = gym.make_vec("reward_envs/DoorKey-5x5-v0", 2, autoreset_mode="SameStep")
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


# what it refuses


def test_hooks_cost_nothing_unless_asked_for_and_unknown_ones_are_refused() -> None:
    env = gym.make("reward_envs/DoorKey-5x5-v0")
    assert set(env.reset(seed=0)[1]) == {"is_success"}
    with pytest.raises(ValueError, match="no hook 'height': this task gives steps_to_go, progress, milestones, capt"):
        gym.make("reward_envs/DoorKey-5x5-v0", hooks=("height",))
    with pytest.raises(ValueError, match="reward_mode='rich': it is 'sparse' or 'dense'"):
        gym.make("reward_envs/DoorKey-5x5-v0", reward_mode="rich")


def test_wrong_actions_move_nothing() -> None:
    vector = GridVector(TASKS["DoorKey-5x5-v0"], 3)
    vector.reset(seed=0)
    before = vector.worlds.state.copy()
    for wrong, error, words in (
        ([0, 7, 0], ValueError, "action 7 of world 1: this task has actions 0 to 6"),
        ([0, 0, -1], ValueError, "action -1 of world 2"),
        ([0.0, 1.0, 2.0], TypeError, "actions of type float64: they are integers"),
        ([0, 1], ValueError, r"actions of shape \(2,\) for 3 worlds"),
    ):
        with pytest.raises(error, match=words):
            vector.step(wrong)
        np.testing.assert_array_equal(vector.worlds.state, before)
    single = GridEnv(TASKS["DoorKey-5x5-v0"])
    with pytest.raises(gym.error.ResetNeeded, match="call reset"):
        single.step(0)
    single.reset(seed=0)
    with pytest.raises(TypeError, match="action 1.5: it is an integer"):
        single.step(1.5)
    with pytest.raises(ValueError, match="action 9 of world 0"):
        single.step(np.int64(9))
    with pytest.raises(ValueError, match=f"action {2**70}: actions count from 0"):
        single.step(2**70)
    with pytest.raises(ValueError, match=f"action {2**63 + 1}: actions count from 0"):
        vector.step(np.array([0, 2**63 + 1, 0], np.uint64))
    assert single.step(np.array(2))[2] is False


def test_wrong_sizes_seeds_and_masks_are_refused() -> None:
    spec = TASKS["DoorKey-5x5-v0"]
    for size, error in ((0, ValueError), (-2, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError)):
        with pytest.raises(error, match=f"num_envs={size!r}: it is a whole number of at least 1"):
            GridVector(spec, size)
        with pytest.raises(error, match=f"threads={size!r}: it is a whole number of at least 1"):
            GridVector(spec, 2, threads=size)
    with pytest.raises(ValueError, match="view_size=4: an agent sees an odd number"):
        GridEnv(spec, view_size=4)
    vector = GridVector(spec, 2, autoreset_mode="Disabled")
    with pytest.raises(ValueError, match="seed -3"):
        vector.reset(seed=[-3, 1])
    with pytest.raises(ValueError, match="1 seeds for 2 worlds"):
        vector.reset(seed=[1])
    for mask in (np.zeros(2, bool), np.ones(3, bool), [True, False]):
        with pytest.raises(ValueError, match="reset_mask"):
            vector.reset(options={"reset_mask": mask})
    vector.reset(seed=0)
    vector._over[1] = True
    with pytest.raises(ValueError, match="the episode of world 1 is over"):
        vector.step([0, 0])
    with pytest.raises(ValueError, match="no gridworld task"):
        sb3_vec("CartPole-v1", 2)
