"""What is fixed for every run of a comparison: the task, the algorithm and its settings. Imports no torch."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym

from reward_envs.registration import engine_of
from reward_envs.wrappers.errors import RewardError

MINIGRID = ("MiniGrid-", "BabyAI-")


@dataclass(frozen=True)
class Default:
    """What an algorithm starts from: number of environments, how it acts in evaluation, the standard deviation of the
    normal noise on its actions in training (on the scale of [-1, 1]), and its hyperparameters."""

    n_envs: int = 1
    deterministic: bool = True
    noise: float = 0.0
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)


_OFF_POLICY = {"learning_starts": 1_000, "buffer_size": 100_000, "policy_kwargs": {"net_arch": [64, 64]}}
DEFAULTS: dict[str, Default] = {
    "ppo": Default(
        n_envs=16,
        deterministic=False,
        hyperparameters={
            "n_steps": 128,
            "batch_size": 256,
            "n_epochs": 4,
            "learning_rate": 1e-3,
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "ent_coef": 0.01,
            "policy_kwargs": {"net_arch": [64, 64]},
        },
    ),
    "a2c": Default(
        n_envs=16,
        deterministic=False,
        hyperparameters={
            "n_steps": 16,
            "learning_rate": 2e-3,
            "gamma": 0.99,
            "ent_coef": 0.01,
            "policy_kwargs": {"net_arch": [64, 64]},
        },
    ),
    "dqn": Default(
        n_envs=4,
        hyperparameters={
            **_OFF_POLICY,
            "learning_rate": 5e-4,
            "gamma": 0.9,  # what an action that does nothing costs is (1 - gamma) V: at 0.99 less than the nets err
            "train_freq": 1,
            "tau": 0.005,
            "target_update_interval": 4,  # every step of the four
        },
    ),
    # SB3's entropy bonus begins at 1, beside which a sparse reward is nothing for thousands of steps.
    "sac": Default(hyperparameters={**_OFF_POLICY, "learning_rate": 1e-3, "gamma": 0.99, "ent_coef": "auto_0.02"}),
    "td3": Default(noise=0.2, hyperparameters={**_OFF_POLICY, "learning_rate": 1e-3, "gamma": 0.99}),
    "ddpg": Default(noise=0.2, hyperparameters={**_OFF_POLICY, "learning_rate": 1e-3, "gamma": 0.99}),
}
# of sb3_contrib
DEFAULTS |= {
    "maskableppo": DEFAULTS["ppo"],
    "tqc": DEFAULTS["sac"],
    "qrdqn": replace(
        DEFAULTS["dqn"],
        hyperparameters={
            **DEFAULTS["dqn"].hyperparameters,
            "policy_kwargs": {"net_arch": [64, 64], "n_quantiles": 50},
        },
    ),
}


@dataclass(frozen=True)
class Plan:
    """How a reward is trained: all that its runs share, whatever the reward and the seed.

    Parameters
    ----------
    env
        A Gymnasium id. Of MiniGrid and BabyAI, and of tasks with their observations, the agent sees the flattened
        image of its partial view.
    algo
        ppo, a2c, dqn, sac, td3 or ddpg; with `reward-envs[contrib]` also tqc, qrdqn and, where the environment has
        `action_masks()`, maskableppo.
    steps
        Environment steps of training; on-policy algorithms go on to the end of the rollout.
    n_envs
        Environments side by side; 0 takes the algorithm's default.
    eval_every
        Steps between evaluations; 0 takes a twelfth of `steps`. There is one before training and one after it.
    eval_episodes
        Episodes of an evaluation, on bare environments.
    deterministic
        How the agent acts in evaluation: by default PPO and A2C sample actions as in training, the others act greedily.
    hindsight
        How many rows with a goal that was reached go with each row that keeps its own, for goal environments and
        off-policy algorithms (`HindsightReplayBuffer`); 0 for none.
    hyperparameters
        Of the algorithm's class, over the defaults of `DEFAULTS`.

    Raises RewardError for an unknown algorithm and for counts below 1.

    >>> Plan("CartPole-v1", steps=12_000).eval_every
    1000
    """

    env: str
    algo: str = "ppo"
    steps: int = 60_000
    n_envs: int = 0
    eval_every: int = 0
    eval_episodes: int = 20
    deterministic: bool | None = None
    hindsight: int = 0
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name = self.algo.lower()
        if name not in DEFAULTS:
            near = difflib.get_close_matches(name, DEFAULTS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(DEFAULTS)}."
            raise RewardError(f"no algorithm {self.algo!r}: {hint}")
        default = DEFAULTS[name]
        filled = {
            "algo": name,
            "n_envs": self.n_envs or default.n_envs,
            "eval_every": self.eval_every or max(1, self.steps // 12),
            "deterministic": default.deterministic if self.deterministic is None else self.deterministic,
            "hyperparameters": {**default.hyperparameters, **self.hyperparameters},
        }
        for key, value in filled.items():
            object.__setattr__(self, key, value)
        if self.hindsight < 0:
            raise RewardError(f"hindsight={self.hindsight}: it is 0 for none, or how many rows go with each.")
        for key in ("steps", "n_envs", "eval_every", "eval_episodes"):
            if getattr(self, key) < 1:
                raise RewardError(f"{key}={getattr(self, key)}: it is at least 1.")

    @property
    def gamma(self) -> float | None:
        """The learner's discount; None where it is SB3's own default."""
        return self.hyperparameters.get("gamma")

    def asdict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return dataclasses.asdict(self)


def make(env_id: str, **kwargs: Any) -> gym.Env[Any, Any]:
    """The bare environment as the agent sees it: `gym.make`, with the flattened image of a MiniGrid observation, or a
    text task's admissible actions as vectors.

    Raises RewardError where Gymnasium knows no such id.
    """
    if env_id.startswith(MINIGRID):
        import minigrid

        assert minigrid.__name__  # its import registers the ids
    try:
        env = gym.make(env_id, **kwargs)
    except (gym.error.Error, ImportError) as error:
        raise RewardError(f"cannot make {env_id!r}: {error}") from None
    space = env.observation_space
    if engine_of(env_id) == "grid":
        from reward_envs.grid.env import FlatView

        return FlatView(env)
    if engine_of(env_id) == "text":
        from reward_envs.text.views import AdmissibleActions

        return AdmissibleActions(env)
    if isinstance(space, gym.spaces.Dict) and {"image", "mission"} <= set(space.spaces):
        from minigrid.minigrid_env import MiniGridEnv
        from minigrid.wrappers import ImgObsWrapper

        from reward_envs.grid.view import see_fast

        if isinstance(env.unwrapped, MiniGridEnv):
            see_fast(env.unwrapped)
        return gym.wrappers.FlattenObservation(ImgObsWrapper(env))  # type: ignore[no-untyped-call]
    return env
