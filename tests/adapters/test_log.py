"""The log of one's own loop: the same numbers from every place, and read back from every sink."""

from __future__ import annotations

import csv
import doctest
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList
from stable_baselines3 import PPO
from stable_baselines3.common.logger import CSVOutputFormat, FormatUnsupportedError, HParam, Logger
from stable_baselines3.common.vec_env import DummyVecEnv
from torch.utils.tensorboard import SummaryWriter

from reward_envs import wrappers
from reward_envs.wrappers import (
    Batch,
    Rewarder,
    RewardError,
    RewardLog,
    RewardLogCallback,
    RewardWrapper,
    Task,
    VecReward,
    VectorRewardWrapper,
    WandbOutputFormat,
    csv_sink,
    function,
    sb3,
    tensorboard_sink,
    wandb_sink,
)
from tests.adapters.sb3_tools import Trained
from tests.scripted import Scripted, walk

ENDS = ("terminated", "truncated", "both")
RETURNS = [[0.1, 0.7], [1.0, -2.5, 0.3], [4.0]]  # rewards of the episodes, played again and again
METHOD = 10 * Task() + function(lambda next_obs: 0.1 * next_obs, name="state")
NAMES = ["reward/task_return", "episode_reward/task", "episode_reward/state"]
STEPS = 480  # 80 rounds of 6 steps, so that means are over the last 100 of 240 episodes


def env() -> gym.Env[Any, Any]:
    return Scripted([walk(list(range(len(r) + 1)), end, rewards=r) for r, end in zip(RETURNS, ENDS, strict=True)])


def expected(episodes: int, n: int = 1) -> dict[str, float]:
    """The means by hand, of n environments that end their episodes at the same steps."""
    rows = []
    for i in range(episodes):
        rewards = RETURNS[i % len(RETURNS)]
        rows += [(sum(rewards), 10 * sum(rewards), sum(0.1 * (t + 1) for t in range(len(rewards))))] * n
    return dict(zip(NAMES, np.mean(rows[-100:], axis=0).tolist(), strict=True))


def played(env: Any, steps: int = STEPS) -> RewardLog:
    log = RewardLog()
    env.reset()
    for _ in range(steps):
        *_, terminated, truncated, info = env.step(env.action_space.sample())
        log.add(info)
        if isinstance(env, gym.Env) and (terminated or truncated):
            env.reset()
    return log


def near(values: dict[str, float]) -> Any:
    return pytest.approx(values, rel=1e-12)


# The same numbers


def test_one_environment() -> None:
    assert played(RewardWrapper(env(), METHOD)).means() == near(expected(240))


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("place", ["around", "inside", "list"])
def test_vectors(mode: AutoresetMode, place: str) -> None:
    if place == "around":
        envs: Any = VectorRewardWrapper(SyncVectorEnv([env] * 2, autoreset_mode=mode), METHOD)
    else:
        envs = SyncVectorEnv([lambda: RewardWrapper(env(), METHOD)] * 2, autoreset_mode=mode)
        envs = DictInfoToList(envs) if place == "list" else envs
    steps = STEPS if mode is AutoresetMode.SAME_STEP else STEPS * 9 // 6  # a reset takes a step there
    assert played(envs, steps).means() == near(expected(240, 2))


def test_vectors_that_are_reset_by_mask() -> None:
    envs = VectorRewardWrapper(SyncVectorEnv([env] * 2, autoreset_mode=AutoresetMode.DISABLED), METHOD)
    envs.reset()
    log = RewardLog()
    for _ in range(60):
        *_, terminated, truncated, infos = envs.step(envs.action_space.sample())
        log.add(infos)
        if (terminated | truncated).any():
            envs.reset(options={"reset_mask": terminated | truncated})
    assert log.means() == near(expected(30, 2))


def test_only_the_environments_that_ended_count() -> None:
    log = RewardLog()
    ended = np.array([False, True, False])
    log.add({"episode_task_return": np.array([0.0, 5.0, 0.0]), "_episode_task_return": ended, "task_reward": ended})
    log.add({"task_reward": np.ones(3)})
    assert log.means() == {"reward/task_return": 5.0}


def test_sb3_logs_the_same() -> None:
    settings: dict[str, Any] = {"n_steps": 120, "batch_size": 120, "n_epochs": 1, "device": "cpu", "seed": 0}
    venv, kwargs = sb3(DummyVecEnv([env]), METHOD, PPO)
    for vector, made in ((venv, kwargs), (VecReward(DummyVecEnv([env]), METHOD), {})):
        model = PPO("MlpPolicy", vector, **settings, **made)
        logger = Written()
        model.set_logger(logger)
        model.learn(STEPS, callback=RewardLogCallback())
        got = {name: value for name, value in logger.last.items() if name in NAMES}
        assert got == pytest.approx(expected(240), rel=1e-6)  # SB3 keeps rewards as float32


class Written(Logger):
    def __init__(self) -> None:
        super().__init__(None, [])
        self.last: dict[str, Any] = {}

    def dump(self, step: int = 0) -> None:
        self.last = dict(self.name_to_value)
        super().dump(step)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_a_bare_loop_over_calls_of_any_size(size: int) -> None:
    rows: dict[str, list[Any]] = {
        k: [] for k in ("obs", "next_obs", "reward", "terminated", "truncated", "episode", "t")
    }
    for i in range(30):
        rewards, end = RETURNS[i % 3], ENDS[i % 3]
        for t, r in enumerate(rewards):
            last = t == len(rewards) - 1
            row = (t, t + 1, r, last and end != "truncated", last and end != "terminated", i, t)
            for column, value in zip(rows.values(), row, strict=True):
                column.append(value)
    batch = Batch.of(**rows, action=[0] * len(rows["t"]))
    rewarder, log = Rewarder(METHOD), RewardLog()
    for at in range(0, len(batch), size):
        part = batch.rows(np.arange(at, min(at + size, len(batch))))
        log.add_scored(rewarder.step(part), part)
    assert log.means() == near(expected(30))


def test_an_unknown_row_makes_the_mean_unknown() -> None:
    batch = Batch.of(obs=[0, 0], action=[0, 0], next_obs=[1, 1], reward=[2.0, np.nan], terminated=[False, True])
    log = RewardLog()
    log.add_scored(Rewarder("task").step(batch), batch)
    assert log.means() == pytest.approx({"reward/task_return": 2.0, "episode_reward/task": np.nan}, nan_ok=True)


def test_what_learning_reports_is_logged() -> None:
    batch = Batch.of(obs=[0], action=[0], next_obs=[1], reward=[2.0], terminated=[True])
    log = RewardLog()
    log.add_scored(Rewarder(Task() + Trained()).step(batch), batch)
    assert log.means() == {"reward/task_return": 2.0, "episode_reward/task": 2.0, "episode_reward/trained": 0.0}
    many = Batch.concat([batch] * 256)
    log.add_scored(Rewarder(Task() + Trained()).step(many), many)
    assert log.means()["reward/trained/loss"] == 0.5


# Use


def test_nothing_is_written_before_an_episode_ends() -> None:
    seen: list[Any] = []
    log = RewardLog(lambda steps, values: seen.append((steps, dict(values))))
    assert log.write(0) == {}
    log.add({"task_reward": 1.0})
    assert log.write(1) == {} and seen == []
    log.add({"task_reward": 1.0, "episode_task_return": 2.0, "episode_reward/task": 3.0})
    assert log.write(2) == {"reward/task_return": 2.0, "episode_reward/task": 3.0}
    assert seen == [(2, log.means())]


def test_a_bare_environment_is_told() -> None:
    log = RewardLog()
    log.add({})
    with pytest.raises(RewardError, match="wrap it, with_reward"):
        log.write(1)


def test_a_vector_without_its_masks_is_told() -> None:
    with pytest.raises(RewardError, match=r"info\['_episode_task_return'\] is missing"):
        RewardLog().add({"episode_task_return": np.zeros(2)})


@pytest.mark.parametrize("name", ["RewardLog", "csv_sink", "tensorboard_sink", "wandb_sink", "WandbOutputFormat"])
def test_examples_run(name: str) -> None:
    if "wandb" in name.lower():
        pytest.importorskip("wandb", reason="needs the wandb extra")
    (test,) = doctest.DocTestFinder(recurse=False).find(getattr(wrappers, name), name, globs={})
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_the_module_loads_neither_torch_nor_sb3() -> None:
    names = "torch", "stable_baselines3", "wandb", "tensorboard"
    code = f"import sys, reward_envs.wrappers.adapters.log; sys.exit(any(n in sys.modules for n in {names}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("missing", "extra", "use"),
    [
        ("torch.utils.tensorboard", "tensorboard", lambda: tensorboard_sink("nowhere")),
        ("wandb", "wandb", wandb_sink),
        ("wandb", "wandb", WandbOutputFormat),
    ],
)
def test_a_missing_package_names_the_extra(missing: str, extra: str, use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf'pip install "reward-envs\[{extra}\]"'):
        use()


# Sinks

ROWS: list[tuple[int, dict[str, float]]] = [
    (10, {"a": 0.1 + 0.2, "b, c": -1e-300}),
    (20, {"a": float("inf"), 'd "e"': 1.0}),
    (30, {"b, c": 1 / 3}),
]


def read(path: Path) -> list[dict[str, float]]:
    with path.open(newline="", encoding="utf-8") as opened:
        return [{k: float(v) for k, v in row.items() if v} for row in csv.DictReader(opened)]


def as_read(rows: Sequence[tuple[int, dict[str, float]]]) -> list[dict[str, float]]:
    return [{"steps": steps, **values} for steps, values in rows]


def test_csv_reads_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "new" / "log.csv"
    sink = csv_sink(path)
    for i, (steps, values) in enumerate(ROWS, 1):
        sink(steps, values)
        assert read(path) == as_read(ROWS[:i])  # also while the run goes on, and after columns came
    csv_sink(str(path))(40, {"f": np.float64(0.1)})  # a run that goes on
    assert read(path) == as_read([*ROWS, (40, {"f": 0.1})])
    assert [p.name for p in path.parent.iterdir()] == ["log.csv"]
    assert path.read_text(encoding="utf-8").splitlines()[0] == 'steps,a,"b, c","d ""e""",f'


def test_csv_leaves_other_files_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("x,y\n1,2\n", encoding="utf-8")
    with pytest.raises(RewardError, match=r"other\.csv begins with 'x' .* name another file"):
        csv_sink(path)(1, {"a": 1.0})
    assert path.read_text(encoding="utf-8") == "x,y\n1,2\n"


@pytest.mark.parametrize("given", ["folder", "writer"])
def test_tensorboard_reads_back(given: str, tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard")
    writer = SummaryWriter(str(tmp_path)) if given == "writer" else None
    sink = tensorboard_sink(writer or tmp_path)
    rows = [(10, {"episode_reward/a": 0.1, "b": 2.0}), (20, {"episode_reward/a": 0.3})]
    for steps, values in rows:
        sink(steps, values)
    told = events.EventAccumulator(str(tmp_path)).Reload()
    assert sorted(told.Tags()["scalars"]) == ["b", "episode_reward/a"]
    got = {(e.step, name): e.value for name in told.Tags()["scalars"] for e in told.Scalars(name)}
    assert got == {(steps, name): np.float32(v) for steps, values in rows for name, v in values.items()}
    if writer is not None:
        writer.close()


# W&B


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An offline run; its helper process goes with it."""
    wandb = pytest.importorskip("wandb", reason="needs the wandb extra")
    for name in ("WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    run = wandb.init(mode="offline", dir=tmp_path, settings=wandb.Settings(console="off", silent=True))
    yield run
    run.finish()
    wandb.teardown()


def summary(run: Any) -> dict[str, Any]:
    run.log({}, commit=True)  # W&B holds a row back until the next step
    return {name: value for name, value in dict(run.summary).items() if not name.startswith("_") or name == "_step"}


def kept(run: Any) -> bytes:
    run.finish()
    (file,) = Path(run.dir).parent.glob("run-*.wandb")
    return file.read_bytes()


def test_wandb_offline(run: Any) -> None:
    log = RewardLog(wandb_sink(run), wandb_sink())  # the run that is going is the same
    log.add({"task_reward": 1.0, "episode_task_return": 0.1, "episode_reward/task": 0.3})
    log.write(5)
    assert summary(run) == {"_step": 5, "reward/task_return": 0.1, "episode_reward/task": 0.3}
    log.add({"task_reward": 1.0, "episode_task_return": 0.3, "episode_reward/task": 1.3})
    log.write(10)
    assert summary(run) == {"_step": 10, **log.means()}
    assert log.means() == {"reward/task_return": 0.2, "episode_reward/task": 0.8}
    data = kept(run)
    assert all(part in data for part in (b"episode_reward/task", b"reward/task_return", b"0.3", b"0.8"))


def test_wandb_beside_csv_in_the_log_of_sb3(run: Any, tmp_path: Path) -> None:
    venv, kwargs = sb3(DummyVecEnv([env]), METHOD, PPO)
    model = PPO("MlpPolicy", venv, n_steps=60, batch_size=60, n_epochs=1, device="cpu", seed=0, **kwargs)
    model.set_logger(Logger(str(tmp_path), [CSVOutputFormat(str(tmp_path / "log.csv")), WandbOutputFormat(run)]))
    model.learn(120, callback=RewardLogCallback())
    model.logger.close()
    last = read(tmp_path / "log.csv")[-1]
    sent = summary(run)
    assert sent.pop("_step") == 120
    assert sent == last  # every key, the callback's among them
    assert {name: last[name] for name in NAMES} == pytest.approx(expected(60), rel=1e-6)


def test_wandb_leaves_out_what_is_excluded_and_refuses_media(run: Any) -> None:
    logger = Logger(None, [WandbOutputFormat(run)])
    logger.record("mine", np.float32(0.5))
    logger.record("not mine", HParam({}, {"mine": 0.0}), exclude="wandb")
    logger.dump(3)
    assert summary(run) == {"_step": 3, "mine": 0.5}
    logger.record("hparams", HParam({}, {"mine": 0.0}))
    with pytest.raises(FormatUnsupportedError, match="hparam"):
        logger.dump(4)


def test_wandb_needs_a_run() -> None:
    pytest.importorskip("wandb", reason="needs the wandb extra")
    with pytest.raises(RewardError, match="no W&B run is going"):
        wandb_sink()
