"""Many gridworlds side by side: the arrays that the kernels work on, and what they say of a state."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.grid.spec import GridSpec
from reward_envs.kernels import grid as k
from reward_envs.vectors import check_worlds

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
_TABLES: dict[int, NDArray[np.uint16]] = {}
_LARGEST_SEED = 2**64


def _table(view: int) -> NDArray[np.uint16]:
    if view not in _TABLES:
        _TABLES[view] = k.light_table(view) if view <= k.TABLE_VIEW else np.empty(0, np.uint16)
    return _TABLES[view]


class Worlds:
    """N worlds of one task, moved by one kernel call.

    Attributes that callers read, all overwritten by the next call: `image` uint8[N, size, size, 3] (or the whole grid,
    uint8[N, W, H, 3]), `direction` int64[N], `reward` float64[N], `terminated`, `truncated`, `success` bool[N], and the
    state itself, `cells` uint16[N, H * W] and `state` int32[N, columns] as `kernels.grid` has them.

    Parameters
    ----------
    spec
        The task.
    n
        Number of worlds, at least 1.
    view_size
        Cells across the agent's view: odd, 3 to 15.
    full_view
        Whether the agent sees the whole grid.
    threads
        Threads of a step; more than one is worth it from a thousand worlds on.

    A world's generator is one 64-bit word, so that a seed gives one trajectory, alone and in any place of a vector.
    Raises TypeError or ValueError where n, threads or view_size cannot be.
    """

    columns: tuple[str, ...] = ()  # attributes, float64[N], that `info` holds on every step

    def __init__(
        self, spec: GridSpec, n: int, *, view_size: int = 7, full_view: bool = False, threads: int = 1
    ) -> None:
        n, threads = check_worlds(n, threads)
        if not (view_size % 2 == 1 and 3 <= view_size <= 15):
            raise ValueError(f"view_size={view_size}: an agent sees an odd number of cells across, 3 to 15.")
        self.spec, self.n, self.full_view, self.threads = spec, n, full_view, threads
        area = spec.width * spec.height
        pad = -(-(view_size * (spec.width + 1)) // area)
        self._padded = np.full((n + 2 * pad, area), k.WALL, np.uint16)
        self.state = np.zeros((n, k.COLUMNS), np.int32)
        self.words = np.zeros(n, np.uint64)
        sizes = (spec.width, spec.height, spec.max_steps, spec.rule, view_size, int(spec.see_through), pad)
        self.shape = np.array(sizes, np.int64)
        self._params = np.array((spec.width, spec.height, *spec.params), np.int64)
        self._view = np.zeros((n, view_size, view_size, 3), np.uint8)
        self._whole = np.zeros((n, spec.width, spec.height, 3), np.uint8) if full_view else self._view
        self.direction = np.zeros(n, np.int64)
        self.reward = np.zeros(n)
        self._flags = np.zeros((3, n), np.bool_)
        self.all = np.arange(n)
        self._none, self._nowhere = np.zeros(n, np.bool_), np.zeros((n, 0), np.int64)
        self.seed(self.all, np.random.SeedSequence().generate_state(n, np.uint64).tolist())

    @property
    def image(self) -> NDArray[np.uint8]:
        """What the agents see."""
        return self._whole

    # Not kept as views, which a pickle or a copy would tear from what they show.

    @property
    def cells(self) -> NDArray[np.uint16]:
        """The cells of each world."""
        pad = int(self.shape[k.PAD])
        return self._padded[pad : pad + self.n]

    @property
    def terminated(self) -> Bool:
        """Whether each episode has ended by its own rule."""
        flags: Bool = self._flags[0]
        return flags

    @property
    def truncated(self) -> Bool:
        """Whether each episode has come to its last step."""
        flags: Bool = self._flags[1]
        return flags

    @property
    def success(self) -> Bool:
        """Whether each episode has ended in success."""
        flags: Bool = self._flags[2]
        return flags

    def swap(self, image: NDArray[np.uint8]) -> None:
        """Write the partial views into this array from now on, uint8[N, size, size, 3]."""
        self._view = self._whole = image

    def seed(self, rows: NDArray[np.int64], seeds: Sequence[int]) -> None:
        """Begin the random streams of the worlds `rows`; raises ValueError for a negative seed."""
        for seed in seeds:
            if not 0 <= seed < _LARGEST_SEED:
                raise ValueError(f"seed {seed}: it is an integer from 0 to 2**64 - 1.")
        k.seed_words(self.words, rows, np.array(seeds, np.uint64))

    def begin(self, rows: NDArray[np.int64]) -> None:
        """Begin a new episode in the worlds `rows`."""
        self.spec.layout(self.cells, self.state, self.words, rows, self._params)
        self._flags[:, rows] = False
        self.reward[rows] = 0.0
        self.look(rows)

    def look(self, rows: NDArray[np.int64]) -> None:
        """Write what the agents of the worlds `rows` see."""
        if self.full_view:
            self.direction[rows] = self.state[rows, k.DIR]
            k.see_all(self._padded, self.state, rows, self.shape, self._whole)
        else:
            k.look(self._padded, self.state, rows, self.shape, _table(self._view.shape[1]), self._view, self.direction)

    def step(self, actions: NDArray[np.int64], skip: Bool | None = None, moves: Any = None) -> int:
        """Move every world that is not in `skip`; returns how many episodes ended.

        `moves` int64[N, balls] says where the balls of a task with moving balls go, instead of drawing it. Raises
        ValueError for what is no action; then nothing has moved.
        """
        arrays = (
            self._padded,
            self.state,
            self.words,
            actions,
            self._none if skip is None else skip,
            self._nowhere if moves is None else moves,
            self.shape,
            _table(self._view.shape[1]),
            self._view,
            self.direction,
            self.reward,
            self._flags,
        )
        ended = k.step(arrays) if self.threads == 1 else k.step_threaded(arrays, self.threads)
        if ended < 0:
            at = -1 - ended
            raise ValueError(f"action {actions[at]} of world {at}: this task has actions 0 to {self.spec.actions - 1}.")
        if self.full_view:
            self.look(self.all)
        return ended

    def pay(self, rows: NDArray[np.int64], extra: Float) -> None:
        """Add to the rewards of the step just made, float64[len(rows)]."""
        self.reward[rows] += extra

    def mission(self, i: int) -> str:
        """The words that the agent of world i reads."""
        return self.spec.missions[int(self.state[i, k.MISSION])]


def as_actions(actions: Any, n: int) -> NDArray[np.int64]:
    """Actions of n worlds as the kernel takes them; raises where they are no integers or not one a world."""
    array = np.asarray(actions)
    if array.dtype.kind not in "iu":
        raise TypeError(f"actions of type {array.dtype}: they are integers.")
    if array.shape != (n,):
        raise ValueError(f"actions of shape {array.shape} for {n} worlds: one integer a world.")
    if array.dtype == np.uint64 and array.max() >= 2**63:
        raise ValueError(f"action {array.max()}: actions count from 0.")
    return array.astype(np.int64, copy=False)


def as_action(action: Any) -> int:
    """An action as an int; raises TypeError where it is none."""
    try:
        index = operator.index(action.item() if isinstance(action, np.ndarray) and action.ndim == 0 else action)
    except TypeError:
        raise TypeError(f"action {action!r}: it is an integer.") from None
    if abs(index) >= 2**63:
        raise ValueError(f"action {index}: actions count from 0.")
    return index
