"""The one decorator of every kernel, so that all share their flags."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, overload

import numba

F = TypeVar("F", bound=Callable[..., Any])
_STAMP: Final = tuple((p.name, p.stat().st_mtime_ns) for p in sorted(Path(__file__).parent.glob("*.py")))

# error_model="numpy": dividing by zero gives inf or nan as in numpy, instead of raising from the middle of a loop.
# fastmath stays off: it may reorder sums and drop nan, so results would differ from the twin's and between machines.
FLAGS: Final[dict[str, Any]] = {"cache": True, "error_model": "numpy", "nogil": True, "fastmath": False}


def _watch_the_folder(compiled: Any) -> None:
    """Let the cached code grow stale with any kernel's file: numba looks at the caller's alone, not at its helpers'."""
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = _STAMP


@overload
def kernel(function: F, /) -> F: ...


@overload
def kernel(*, parallel: bool = False, inline: bool = False) -> Callable[[F], F]: ...


def kernel(function: F | None = None, /, *, parallel: bool = False, inline: bool = False) -> F | Callable[[F], F]:
    """Compile a function at its first call, and keep the result on disk.

    Parameters
    ----------
    function
        The function, where the decorator is written bare: `@kernel`.
    parallel
        Spread the `numba.prange` loops over threads: `@kernel(parallel=True)`. Worth it only for long loops whose turns
        are independent; the order of a parallel sum, hence its last digits, depends on the number of threads.
    inline
        Put the body where it is called, so that the compiler knows the constants that it is called with.

    Returns
    -------
    The compiled function, of the same type for a type checker; or the decorator, where `function` is left out.

    Notes
    -----
    The cache lies beside the source, or in the user's cache folder where that cannot be written, or where
    `NUMBA_CACHE_DIR` says. So a kernel is written in a file, never at a prompt:

        @kernel
        def total(x):
            s = 0.0
            for i in range(x.size):
                s += x[i]
            return s
    """

    def decorate(f: F) -> F:
        compiled: F = numba.njit(parallel=parallel, inline="always" if inline else "never", **FLAGS)(f)
        _watch_the_folder(compiled)
        return compiled

    return decorate if function is None else decorate(function)
