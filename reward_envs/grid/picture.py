"""Pictures of gridworlds, drawn by the minigrid package; heat maps over a layout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k

TILE = 32  # pixels a cell


def picture(worlds: Worlds, i: int, tile: int = TILE) -> NDArray[np.uint8]:
    """World i as minigrid draws it, uint8[H * tile, W * tile, 3]; what the agent sees is lighter."""
    state = worlds.state[i]
    at = int(state[k.X]), int(state[k.Y])
    frame = as_minigrid(worlds, i).render(tile, at, int(state[k.DIR]), highlight_mask=_seen(worlds, i))
    return np.asarray(frame, np.uint8)


def as_minigrid(worlds: Worlds, i: int) -> Any:
    """World i as a `Grid` of the minigrid package."""
    from minigrid.core.grid import Grid
    from minigrid.core.world_object import WorldObj

    width, height = worlds.spec.width, worlds.spec.height
    grid = Grid(width, height)
    for at, code in enumerate(worlds.cells[i].tolist()):
        if code & 15 != k.EMPTY:
            grid.set(at % width, at // width, WorldObj.decode(code & 15, code >> 4 & 7, code >> 7 & 3))
    return grid


def _seen(worlds: Worlds, i: int) -> NDArray[np.bool_]:
    """bool[W, H]: the cells that the agent sees."""
    width, height, size = worlds.spec.width, worlds.spec.height, int(worlds.shape[k.VIEW])
    seen = np.zeros((width, height), np.bool_)
    if worlds.full_view:
        return ~seen
    x, y, heading = (int(worlds.state[i, c]) for c in (k.X, k.Y, k.DIR))
    fx, fy = ((1, 0), (0, 1), (-1, 0), (0, -1))[heading]
    for a, b in np.argwhere(worlds.image[i, :, :, 0] != k.UNSEEN):
        ahead, aside = size - 1 - b, a - size // 2
        at = x + fx * ahead - fy * aside, y + fy * ahead + fx * aside
        if 0 <= at[0] < width and 0 <= at[1] < height:
            seen[at] = True
    return seen


def show(env: Any, frame: NDArray[np.uint8]) -> None:
    """Show a frame in a window of pygame's, which the environment keeps in `env.window`."""
    import pygame

    size = frame.shape[1], frame.shape[0]
    if getattr(env, "window", None) is None:
        pygame.init()
        env.window = pygame.display.set_mode(size)
    env.window.blit(pygame.surfarray.make_surface(np.transpose(frame, (1, 0, 2))), (0, 0))
    pygame.event.pump()
    pygame.display.flip()


def heat_map(axes: Any, worlds: Worlds, i: int, values: NDArray[np.float64], title: str = "") -> None:
    """Draw float64[H, W] over world i on matplotlib axes; cells that are NaN or inf show the world alone."""
    axes.imshow(picture(worlds, i), extent=(0, worlds.spec.width, worlds.spec.height, 0))
    shown = np.ma.masked_invalid(values)
    image = axes.imshow(shown, extent=(0, worlds.spec.width, worlds.spec.height, 0), alpha=0.75, cmap="viridis")
    axes.figure.colorbar(image, ax=axes, shrink=0.8)
    axes.set(title=title, xticks=[], yticks=[])
