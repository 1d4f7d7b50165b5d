"""A single-file actor-critic loop with a bonus: the rows of a rollout are scored at once by a Rewarder.

    python examples/cleanrl_style_bonus.py --steps 20000

The learner sees task + bonus. What is printed about the agent is the task's own return.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn

from reward_envs.wrappers import Batch, Rewarder, Spec

N, ROLLOUT, GAMMA = 8, 16, 0.95
REWARD = "task + 0.1*count"


def main(steps: int, seed: int = 0) -> None:
    torch.manual_seed(seed)
    # SAME_STEP: every row is a transition, and the successor at an end is in infos["final_obs"].
    lakes = [lambda: gym.make("FrozenLake-v1", is_slippery=False)] * N
    envs = SyncVectorEnv(lakes, autoreset_mode=AutoresetMode.SAME_STEP)
    spec = Spec(envs.single_observation_space, envs.single_action_space, GAMMA, max_steps=100)
    rewarder = Rewarder(REWARD, spec, n=N, seed=seed)

    net = nn.Sequential(nn.Embedding(16, 64), nn.Tanh(), nn.Linear(64, 5))  # four logits and the value
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    obs, _ = envs.reset(seed=seed)
    episode, t, played = np.arange(N), np.zeros(N, np.int64), N
    returns: list[float] = []
    bonuses: list[float] = []
    for _ in range(max(1, steps // (N * ROLLOUT))):
        rows: list[dict[str, np.ndarray]] = []
        for _ in range(ROLLOUT):
            with torch.no_grad():
                logits = net(torch.as_tensor(obs))[:, :4]
            action = torch.distributions.Categorical(logits=logits).sample().numpy()
            after, reward, terminated, truncated, infos = envs.step(action)
            over, successor = terminated | truncated, after.copy()
            if over.any():
                successor[over] = infos["final_obs"][over].astype(np.int64)
                returns += reward[over].tolist()
            row = {"obs": obs, "action": action, "next_obs": successor, "reward": reward}
            row |= {"terminated": terminated, "truncated": truncated, "stream": np.arange(N)}
            rows.append(row | {"episode": episode.copy(), "t": t.copy()})
            episode[over] = np.arange(played, played + over.sum())
            played, t, obs = played + int(over.sum()), np.where(over, 0, t + 1), after

        batch = Batch.of(**{name: np.concatenate([row[name] for row in rows]) for name in rows[0]})
        scored = rewarder.step(batch)
        bonuses.append(scored.terms["count"].mean())
        learn(net, optimiser, batch, scored.values)
    tenth = max(1, len(returns) // 10)
    print(f"episodes {len(returns)}")
    print(f"first_task_return {np.mean(returns[:tenth]):.3f}")
    print(f"last_task_return {np.mean(returns[-tenth:]):.3f}")
    print(f"first_bonus {bonuses[0]:.4f}")
    print(f"last_bonus {bonuses[-1]:.4f}")


def learn(net: nn.Module, optimiser: torch.optim.Optimizer, batch: Batch, paid: np.ndarray) -> None:
    """One step of advantage actor-critic, bootstrapping beyond truncations and not beyond terminations."""
    out = net(torch.as_tensor(batch.obs)).reshape(ROLLOUT, N, 5)
    with torch.no_grad():
        after = net(torch.as_tensor(batch.next_obs))[:, 4].numpy() * ~batch.terminated
    target, later = np.zeros((ROLLOUT, N)), after.reshape(ROLLOUT, N)
    for k in reversed(range(ROLLOUT)):
        ended = batch.ended.reshape(ROLLOUT, N)[k] | (k == ROLLOUT - 1)
        target[k] = paid.reshape(ROLLOUT, N)[k] + GAMMA * np.where(ended, later[k], target[min(k + 1, ROLLOUT - 1)])
    policy = torch.distributions.Categorical(logits=out[..., :4])
    advantage = torch.as_tensor(target, dtype=torch.float32) - out[..., 4]
    chosen = policy.log_prob(torch.as_tensor(batch.action).reshape(ROLLOUT, N))
    loss = -(chosen * advantage.detach()).mean() + 0.5 * advantage.square().mean() - 0.01 * policy.entropy().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000)
    main(parser.parse_args().steps)
