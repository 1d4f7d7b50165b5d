"""Draws the pictures of the control tasks that the documentation shows, one a task, under `docs/images/control`.

MUJOCO_GL=egl python docs/control_pictures.py [id ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium as gym
from PIL import Image

from reward_envs.registration import PREFIX

PICTURES = Path(__file__).resolve().parent / "images" / "control"
SIZE = 320  # pixels
# By id: the seed of the episode, and the steps of the expert that it shows.
SCENES = {
    "CartPoleSwingUp-v0": (0, 78),
    "Reach-v0": (0, 2),
    "Push-v0": (1, 14),
    "PickPlace-v0": (1, 14),
    "PointMaze-UMaze-v0": (3, 12),
    "PointMaze-Medium-v0": (0, 20),
    "PointMaze-Large-v0": (0, 20),
    "AntMaze-UMaze-v0": (1, 60),
    "AntMaze-Medium-v0": (1, 60),
}


def draw(name: str, seed: int, steps: int, folder: Path = PICTURES) -> Path:
    """Draw a task after some steps of its expert; where the picture lies. Raises RuntimeError where MuJoCo cannot."""
    env = gym.make(PREFIX + name, render_mode="rgb_array").unwrapped
    env.reset(seed=seed)
    for _ in range(steps):
        env.step(env.expert())  # type: ignore[attr-defined]
    picture = Image.fromarray(env.render()).resize((SIZE, SIZE), Image.Resampling.LANCZOS)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    picture.quantize(128, Image.Quantize.FASTOCTREE).save(path, optimize=True)
    env.close()
    return path


if __name__ == "__main__":
    for name in sys.argv[1:] or SCENES:
        path = draw(name, *SCENES[name])
        print(f"{path.relative_to(Path.cwd())}: {path.stat().st_size / 1000:.0f} kB")
