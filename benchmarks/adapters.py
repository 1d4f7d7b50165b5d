"""Microseconds that a reward adds to an environment step, beside Gymnasium's NormalizeReward and SB3's VecNormalize.

Bare and wrapped environments take turns on the same actions, so a busy machine slows both; the ratio is what counts.

    PYTHONPATH=. python benchmarks/adapters.py
"""

import pathlib
import sys
from typing import ClassVar

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import _common as common

parser = common.parser(__doc__, repeats=15)
parser.add_argument("--steps", type=int, default=4000)
options = parser.parse_args()
common.set_threads(1)

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecNormalize
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from reward_envs.wrappers import Potential, RewardWrapper, Task, VecReward, VectorRewardWrapper

N = 16
SPACE, ACTIONS = gym.spaces.Box(-1, 1, (4,), np.float32), gym.spaces.Discrete(2)


def height(obs):
    return 0.0


def heights(obs):
    return np.zeros(len(obs))


class Null(gym.Env):
    """A step that costs nothing, so that the added time is the wrapper's own."""

    observation_space, action_space = SPACE, ACTIONS
    _obs = np.zeros(4, np.float32)

    def reset(self, *, seed=None, options=None):
        return self._obs, {}

    def step(self, action):
        return self._obs, 1.0, False, False, {}


class NullVector(gym.vector.VectorEnv):
    num_envs = N
    metadata: ClassVar = {"autoreset_mode": gym.vector.AutoresetMode.NEXT_STEP}
    single_observation_space, single_action_space = SPACE, ACTIONS
    observation_space = gym.vector.utils.batch_space(SPACE, N)
    action_space = gym.vector.utils.batch_space(ACTIONS, N)
    _row = (np.zeros((N, 4), np.float32), np.ones(N), np.zeros(N, bool), np.zeros(N, bool))

    def reset(self, *, seed=None, options=None):
        return self._row[0], {}

    def step(self, actions):
        return (*self._row, {})


class NullVec(VecEnv):
    def __init__(self):
        super().__init__(N, SPACE, ACTIONS)
        self.reset_infos = [{} for _ in range(N)]

    def reset(self):
        return np.zeros((N, 4), np.float32)

    def step_async(self, actions):
        pass

    def step_wait(self):
        return np.zeros((N, 4), np.float32), np.ones(N, np.float32), np.zeros(N, bool), [{} for _ in range(N)]

    def close(self):
        pass

    def get_attr(self, attr_name, indices=None):
        return [None] * N

    def set_attr(self, attr_name, value, indices=None):
        pass

    def env_method(self, method_name, *args, indices=None, **kwargs):
        return [False] * N

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * N


def run(env, action, steps):
    env.reset()

    def play():
        for _ in range(steps):
            env.step(action)

    return play


def methods(phi, rowwise):
    potential = Potential(phi, gamma=0.99, rowwise=rowwise)
    return {
        "task": Task(),
        "task + potential": Task() + potential,
        "task + potential + 1 term": Task() + potential + Task(name="a"),
        "task + potential + 2 terms": Task() + potential + Task(name="a") + Task(name="b"),
    }


actions = np.zeros(N, np.int64)
vector_peer = gym.wrappers.vector.NormalizeReward
PLACES = {
    "single": (Null, gym.wrappers.NormalizeReward, "NormalizeReward", RewardWrapper, 0, height),
    "vector 16": (NullVector, vector_peer, "NormalizeReward", VectorRewardWrapper, actions, heights),
    "SB3 16": (NullVec, lambda e: VecNormalize(e, norm_obs=False), "VecNormalize", VecReward, actions, heights),
}


def cost(make, wrapped, action):
    """Microseconds of CPU that the wrapper adds to a step, median of the alternating runs."""
    bare = run(make(), action, options.steps)
    return common.paired(bare, run(wrapped, action, options.steps), options.repeats, options.steps)["added_us_cpu"][
        "med"
    ]


figures = {}
for place, (make, peer, peer_name, ours, action, phi) in PLACES.items():
    reference = cost(make, peer(make()), action)
    print(f"{place:10s} {peer_name:30s} {reference:6.2f} us", file=sys.stderr)
    for name, method in methods(phi, rowwise=phi is height).items():
        added = cost(make, ours(make(), method), action)
        figures[f"{place}/{name}"] = {"us": added, "peer_us": reference, "ratio": added / reference}
        print(f"{place:10s} {name:30s} {added:6.2f} us   {added / reference:5.2f} x {peer_name}", file=sys.stderr)
common.emit("reward adapters", figures, ("gymnasium", "stable-baselines3", "numpy", "numba"))
