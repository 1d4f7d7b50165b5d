"""Drives the real code with the plain inputs of the cases."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

from reward_envs.text import TaskError, TextEnv, Transcript
from reward_envs.text.transcript import reward_place
from reward_envs.text.workspace import graded
from reward_envs.wrappers import (
    RND,
    Batch,
    Clip,
    Function,
    Hindsight,
    Normalise,
    Potential,
    Rewarder,
    RewardWrapper,
    Spec,
    Task,
    VectorRewardWrapper,
    relabel,
    relabel_rows,
    with_reward,
)
from reward_envs.wrappers.core import Sum
from reward_envs.wrappers.transform.normalise import ReturnScale
from tests.adapters.sb3_tools import rollout_by_hand
from tests.scripted import Episode, Scripted
from tests.text.tasks import Replayed, scored
from tests.text.tasks import play as play_text


def play(env: gym.Env[Any, Any], steps: int) -> tuple[list[float], list[dict[str, Any]]]:
    env.reset()
    results = [env.step(0) for _ in range(steps)]
    return [r[1] for r in results], [r[4] for r in results]


def written(rewards: Any, terminated: Any, truncated: Any) -> Batch:
    n = len(rewards)
    return Batch.of(
        obs=np.arange(n),
        action=np.zeros(n),
        next_obs=np.arange(1, n + 1),
        reward=rewards,
        terminated=terminated,
        truncated=truncated,
    )


def shape_episode(gamma: float, phi: Any, states: Any, rewards: Any, terminated: Any, truncated: Any) -> Any:
    env = Scripted([Episode(states, rewards, terminated, truncated)], gym.spaces.Discrete(len(phi)))
    return {"shaped": play(RewardWrapper(env, Task() + Potential(tuple(phi), gamma=gamma)), len(rewards))[0]}


class _Steps(VectorEnv[Any, Any, Any]):
    """A SAME_STEP vector environment that replays written steps."""

    def __init__(self, reset_obs: Any, steps: Any, states: int) -> None:
        self.num_envs, self.reset_obs, self.written = len(reset_obs), reset_obs, iter(steps)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space, self.single_action_space = gym.spaces.Discrete(states), gym.spaces.Discrete(1)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, self.num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.array(self.reset_obs), {}

    def step(self, actions: Any) -> Any:
        step = next(self.written)
        final = np.full(self.num_envs, None, dtype=object)
        final[:] = step["final_obs"]
        flags = (np.array(step["terminated"]), np.array(step["truncated"]))
        return np.array(step["obs"]), np.array(step["reward"]), *flags, {"final_obs": final, "final_info": {}}


def shape_vector_same_step(gamma: float, phi: Any, reset_obs: Any, steps: Any) -> Any:
    envs = VectorRewardWrapper(_Steps(reset_obs, steps, len(phi)), Task() + Potential(tuple(phi), gamma=gamma))
    envs.reset()
    return {"shaped": [envs.step(np.zeros(len(reset_obs), np.int64))[1].tolist() for _ in steps]}


def normalise_stream(gamma: float, epsilon: float, rewards: Any, terminated: Any, truncated: Any, probe: Any) -> Any:
    runner = Rewarder(Normalise(Task(), gamma=gamma, epsilon=epsilon))
    batch = written(rewards, terminated, truncated)
    for i in range(len(rewards)):
        runner.step(batch.rows([i]))
    returns = ReturnScale(gamma).observe(batch.reward, batch.stream, batch.first)
    frozen = runner.freeze()
    scale = 1.0 / frozen.step(written([1.0], [False], [False])).values[0]
    paid = [float(frozen.step(written([p], [False], [False])).values[0]) for p in probe]
    return {"returns": returns, "scale": scale, "frozen": paid}


def redistribute(rewards: Any, terminated: Any, truncated: Any, mode: str, gamma: Any) -> Any:
    if mode not in ("delayed", "even"):
        pytest.skip(f"nothing here redistributes by {mode} yet")
    batch = written(rewards, terminated, truncated)
    if mode == "even":
        return {"rewards": relabel(batch, "uniform").values, "pending": 0.0}
    runner = Rewarder("delay")
    values = runner.step(batch).values
    probe = runner.freeze()
    for node, carry in zip(probe._nodes, runner.carries, strict=True):
        node.carry = carry
    last = batch.rows([len(rewards) - 1])
    last.t[:], last.terminated[:], last.reward[:] = 1, True, 0.0
    return {"rewards": values, "pending": float(probe.step(last).values[0])}


def advantages_with_bonus(
    gamma: float, lam: float, r_ext: Any, r_int: Any, beta: float, values: Any, end: str, final_value: float
) -> Any:
    buffer = rollout_by_hand(r_ext, r_int, beta, values, end, final_value, gamma=gamma, gae_lambda=lam)
    return {"returns": buffer.returns.ravel().tolist(), "advantages": buffer.advantages.ravel().tolist()}


def episode_report(task: Any, scale: float, clip: Any, terms: Any) -> Any:
    n = len(task)
    trained = task_term = scale * Task()
    if clip:
        trained = Clip(task_term, float(clip[0]), float(clip[1]), name="task")
    extra = tuple(Function(_Column(tuple(v)), name=k) for k, v in terms.items())
    end = [False] * (n - 1) + [True]
    scripted = Scripted([Episode(list(range(n + 1)), task, end, [False] * n)])
    rewards, infos = play(with_reward(scripted, Sum((trained, *extra))), n)
    return {
        "true_return": infos[-1]["episode_task_return"],
        "training_return": sum(rewards),
        "evaluation_return": float(np.ravel(infos[-1]["episode"]["r"])[0]),
        "length": int(np.ravel(infos[-1]["episode"]["l"])[0]),
        "terms": {k: infos[-1][f"episode_reward/{k}"] for k in terms},
    }


class _Column:
    """A written column, by the step of the row."""

    def __init__(self, values: tuple[float, ...]) -> None:
        self.values = np.array(values)

    def __call__(self, t: Any) -> Any:
        return self.values[t]


def combine_rewards(samples: int, results: Any, weights: Any) -> Any:
    def fixed(values: Any) -> Any:
        return lambda t: np.array(values)

    method = sum(weights[k] * Function(fixed(v), name=k) for k, v in results.items())
    scored = Rewarder(method).step(written([0.0] * samples, [False] * samples, [False] * samples))
    logged = sum(float(v.mean()) for v in scored.terms.values())
    return {"total": scored.values, "logged_mean": logged}


def rnd_return_scale(gamma_int: float, r_int: Any, dones: Any) -> Any:
    steps, n = np.shape(r_int)
    batch = Batch.of(
        obs=np.zeros(steps * n),
        action=np.zeros(steps * n),
        next_obs=np.zeros(steps * n),
        reward=np.zeros(steps * n),
        terminated=np.ravel(dones),
        stream=np.tile(np.arange(n), steps),
    )
    bonus = RND(gamma=gamma_int)
    state = bonus.init(Spec(), np.random.default_rng(0))
    returns = []
    for t in range(steps):
        bonus.observe(state, batch.rows(np.arange(t * n, t * n + n)), np.array(r_int[t]))
        returns.append(state.scale.running.tolist())
    return {"returns": returns, "std": state.scale.scale}


def reaching(next_achieved: Any, achieved: Any = None, **columns: Any) -> Batch:
    """An episode of goal observations that asks for goal -1."""
    n = len(next_achieved)
    was, now = (
        {"achieved_goal": np.array(a, float), "desired_goal": np.full(n, -1.0)}
        for a in (next_achieved if achieved is None else achieved, next_achieved)
    )
    return Batch.of(obs=was, action=np.zeros(n), next_obs=now, reward=np.zeros(n), **columns)


def her_goals(strategy: str, achieved: Any, next_achieved: Any, t: int, draws: int) -> Any:
    batch = reaching(next_achieved, achieved, terminated=[False] * (len(achieved) - 1) + [True])

    def met(achieved: Any, desired: Any, info: Any) -> Any:
        return achieved == desired

    how = Hindsight(strategy, k=draws, compute_reward=met, compute_terminated=met)
    goals = relabel_rows(batch, how, seed=0).obs["desired_goal"].reshape(draws, -1)[:, t]
    return {"goals": np.unique(goals).tolist()}


def her_relabel(
    next_achieved: float,
    new_goal: float,
    tolerance: float,
    terminated: bool,
    truncated: bool,
    ends_on_success: bool,
    gamma: float,
    next_q: float,
) -> Any:
    def met(achieved: Any, desired: Any, info: Any) -> Any:
        return np.abs(achieved - desired) <= tolerance

    def ends(achieved: Any, desired: Any, info: Any) -> Any:
        return met(achieved, desired, info) & ends_on_success

    flags = {"terminated": [terminated, False], "truncated": [truncated, True], "t": [0, 1], "episode": [0, 0]}
    how = Hindsight("final", k=1, compute_reward=met, compute_terminated=ends)
    new = relabel_rows(reaching([next_achieved, new_goal], **flags), how, seed=0)
    reward, ended = float(new.reward[0]), bool(new.terminated[0])
    target = reward + (0.0 if ended else gamma * next_q)
    return {"reward": reward, "terminated": ended, "truncated": bool(new.truncated[0]), "target": target}


def score_rollout(words: Any, policy: Any, present: Any, answer: str) -> Any:
    transcript, offsets, at = Transcript(), [], 0
    for turn, (word, mine, there) in enumerate(zip(words, policy, present, strict=True)):
        if there:
            transcript.add("agent" if mine else "tool", word + " ", turn)
        offsets.append((at, at + len(word)) if there else (0, 0))
        at += (len(word) + 1) * there
    mask = transcript.token_mask(offsets)
    seen = [transcript.text[a:b] for (a, b), mine in zip(offsets, mask, strict=True) if mine]
    return {"seen": " ".join(seen), "reward": float(answer in seen), "place": reward_place(mask)}


def grade_workspace(agent_files: Any, verifier_files: Any, passed: int, total: int) -> Any:
    def verifier(files: Any, out: dict[str, str]) -> dict[str, bool]:
        out.update(verifier_files)
        return {str(i): i < passed for i in range(total)}

    try:
        return {"reward": graded(agent_files, verifier).score, "status": "ok"}
    except TaskError:
        return {"reward": None, "status": "error"}


def text_rewards(start: float, scores: Any, full: float, end: str) -> Any:
    source = Replayed([scored(s / full) for s in (start, *scores)], ends=end != "out_of_steps")
    steps = play_text(TextEnv(source, reward_mode="dense"), [""] * len(scores))
    rewards = [full * s[1] for s in steps]
    *_, terminated, truncated, info = steps[-1]
    flags = {"success": info["is_success"], "terminated": terminated, "truncated": truncated}
    return {"rewards": rewards, "total": sum(rewards), **flags}
