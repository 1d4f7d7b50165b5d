"""Pictures of gridworlds, drawn by the minigrid package; heat maps over a layout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.grid.distance import distances
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k

TILE = 32  # pixels a cell
WRITTEN = 11  # cells across, up to which a heat map has its numbers in the cells


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


# heat maps


def heat_map(
    axes: Any,
    worlds: Worlds,
    i: int,
    values: NDArray[np.float64],
    *,
    title: str = "",
    label: str = "",
    log: bool = False,
    size: float = 10.0,
) -> None:
    """Draw numbers over the layout of world i, on axes of matplotlib's: colours under walls, things and the agent.

    Parameters
    ----------
    axes
        Of a matplotlib figure.
    worlds, i
        The world as it stands.
    values
        float64[H, W]; a cell of NaN or inf stays black.
    title, label
        Above the map, and beside its colour bar.
    log
        Whether the colours stand for the logarithm; then 0 stays black as well.
    size
        Of the text in points.

    In maps of up to 11 cells across the numbers are written into the cells. Raises ValueError for another shape.
    """
    width, height = worlds.spec.width, worlds.spec.height
    if values.shape != (height, width):
        raise ValueError(f"values of shape {values.shape} over {width} columns and {height} rows: give [H, W].")
    shown = np.ma.masked_where(~np.isfinite(values) | (log & (values <= 0.0)), values)
    box = (0, width, height, 0)
    colours = axes.imshow(shown, extent=box, cmap="viridis", norm="log" if log and shown.count() else None)
    axes.imshow(_without_floor(worlds, i), extent=box)
    axes.set_facecolor("black")
    axes.set_title(title, fontsize=1.15 * size)
    axes.set(xticks=[], yticks=[])
    bar = axes.figure.colorbar(colours, ax=axes, shrink=0.8)
    bar.set_label(label, fontsize=size)
    if log and shown.count():
        _tick(bar.ax.yaxis)
    bar.ax.tick_params(labelsize=size)
    if width <= WRITTEN:
        _write(axes, shown, 0.75 * size)


def heat_maps(env: Any, *, seed: int = 0, steps: int = 2000) -> Any:
    """A figure of one layout of a gridworld task: `steps_to_go` from each cell, and where random play goes.

    Parameters
    ----------
    env
        A `GridEnv`; it is played.
    seed
        Of the layout, which every episode begins anew, and of the actions.
    steps
        Of random play.

    The first map shows the smallest over the four directions, for an agent that holds nothing; it is left out where the
    task does not give the hook. The second counts the steps begun in a cell. Random play is not what an agent explores:
    it shows where a sparse reward would have to be met by chance.

    >>> import gymnasium as gym, reward_envs
    >>> import gymnasium as gym, reward_envs
    >>> figure = heat_maps(gym.make("reward_envs/DoorKey-5x5-v0").unwrapped, steps=100)
    >>> [axes.get_title() for axes in figure.axes if axes.get_title()]
    ['steps to go (black: no way)', '100 random steps (black: none)']
    """
    from matplotlib.figure import Figure

    visits = _visits(env, seed, steps)
    worlds, spec = env.worlds, env.task
    maps: list[dict[str, Any]] = []
    if spec.steps_to_go_max is not None:
        fewest = distances(worlds).poses(0).min(axis=2)
        label = "fewest actions to success" if spec.exact else "fewest actions to success, or less"
        maps.append({"values": fewest, "title": "steps to go (black: no way)", "label": label})
    label = "steps begun in the cell (log scale)"
    maps.append({"values": visits, "title": f"{steps:,} random steps (black: none)", "label": label, "log": True})
    beside = spec.width < 1.5 * spec.height
    width = max(4.0 if beside else 6.0, 0.3 * spec.width)
    size = 2.3 * width if beside else 1.7 * width
    grid = (1, len(maps)) if beside else (len(maps), 1)
    inches = (grid[1] * 1.3 * width, grid[0] * (width * spec.height / spec.width + 0.05 * size))
    figure = Figure(figsize=inches, dpi=100, layout="constrained")
    for axes, drawn in zip(figure.subplots(*grid, squeeze=False).flat, maps, strict=True):
        heat_map(axes, worlds, 0, size=size, **drawn)
    return figure


def _visits(env: Any, seed: int, steps: int) -> NDArray[np.float64]:
    """float64[H, W]: steps of random play begun in each cell; leaves `env` at the layout's beginning."""
    rng = np.random.default_rng(seed)
    visits = np.zeros((env.task.height, env.task.width))
    env.reset(seed=seed)
    for action in rng.integers(env.task.actions, size=steps).tolist():
        visits[env.worlds.state[0, k.Y], env.worlds.state[0, k.X]] += 1.0
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset(seed=seed)
    env.reset(seed=seed)
    return visits


def _without_floor(worlds: Worlds, i: int) -> NDArray[np.uint8]:
    """uint8[H * TILE, W * TILE, 4]: the picture of world i, clear where it is black, but for an edge of 2 pixels."""
    state = worlds.state[i]
    frame = as_minigrid(worlds, i).render(TILE, (int(state[k.X]), int(state[k.Y])), int(state[k.DIR]))
    there = edged = frame.max(axis=2) > 60
    for axis in (0, 1):
        edged = np.any([np.roll(edged, shift, axis) for shift in range(-2, 3)], axis=0)
    return np.dstack([frame * there[..., None], 255 * edged]).astype(np.uint8)


def _tick(axis: Any) -> None:
    """Ticks of a logarithmic axis at 1, 2, 5, 10, written out."""
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(ScalarFormatter())


def _write(axes: Any, shown: Any, size: float) -> None:
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=2, foreground="black")]
    for (y, x), hidden in np.ndenumerate(np.ma.getmaskarray(shown)):
        if not hidden:
            place = {"ha": "right", "va": "bottom", "fontsize": size, "color": "white", "path_effects": outline}
            axes.text(x + 0.95, y + 0.95, f"{shown[y, x]:g}", **place)
