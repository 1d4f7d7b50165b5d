"""A MiniGrid step with our partial view beside minigrid's own: the same task, seeds and actions, taking turns.

python benchmarks/view.py
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import _common as common

parser = common.parser(__doc__, repeats=9)
parser.add_argument("--steps", type=int, default=3000)
options = parser.parse_args()
common.set_threads(1)

import gymnasium as gym
import minigrid
import numpy as np

from reward_envs.grid.view import see_fast

assert minigrid.__name__  # its import registers the ids
figures = {}
for name in ("MiniGrid-DoorKey-5x5-v0", "MiniGrid-DoorKey-8x8-v0", "MiniGrid-MultiRoom-N2-S4-v0"):
    theirs, ours = (gym.make(name, disable_env_checker=True) for _ in range(2))
    see_fast(ours.unwrapped)
    actions = np.random.default_rng(options.seed).integers(0, 6, options.steps).tolist()

    def play(env, actions=actions):
        env.reset(seed=options.seed)
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    pair = common.paired(lambda e=theirs: play(e), lambda e=ours: play(e), options.repeats, options.steps)
    peer, own = pair["base_us_cpu"]["med"], pair["us_cpu"]["med"]
    figures[name] = {"peer_us": peer, "us": own, "ratio": peer / own}
    print(f"{name:30s} minigrid {peer:7.1f} us   ours {own:7.1f} us   {peer / own:4.1f} times faster", file=sys.stderr)
common.emit("MiniGrid's partial view", figures, ("minigrid", "gymnasium", "numpy"))
