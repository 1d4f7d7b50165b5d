"""Pictures of control tasks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.task import ControlTask

if TYPE_CHECKING:
    from reward_envs.control.engine import Bodies

SIZE = 480  # pixels across
_cannot = ""  # why MuJoCo cannot draw in this process, in which a second try would be an abort


class Pictures:
    """Draws worlds of a task by its own camera; opens MuJoCo's renderer at the first picture."""

    def __init__(self, task: ControlTask, model: Any) -> None:
        self._task, self._model = task, model
        self._renderer: Any = None
        self._data: Any = None

    def draw(self, bodies: Bodies, i: int) -> NDArray[np.uint8]:
        """World i, uint8[480, 480, 3]. Raises RuntimeError where MuJoCo cannot draw."""
        import mujoco

        if self._renderer is None:
            self._renderer, self._data = _open(self._model), mujoco.MjData(self._model)
        mujoco.mj_setState(self._model, self._data, bodies.state[i], int(mujoco.mjtState.mjSTATE_FULLPHYSICS))
        self._task.show(self._data, bodies.goal[i])
        mujoco.mj_forward(self._model, self._data)
        self._renderer.update_scene(self._data, camera=self._task.camera)
        picture: NDArray[np.uint8] = self._renderer.render()
        return picture

    def close(self) -> None:
        """Let go of the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_renderer": None, "_data": None}


def _open(model: Any) -> Any:
    """MuJoCo's renderer, or RuntimeError with what to do."""
    global _cannot
    import mujoco

    screen = sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if not _cannot and not screen and os.environ.get("MUJOCO_GL", "").lower() not in ("egl", "osmesa"):
        _cannot = "there is no screen"
    if not _cannot:
        try:
            return mujoco.Renderer(model, SIZE, SIZE)
        except (mujoco.FatalError, AttributeError) as error:  # the latter from its own clean-up
            _cannot = str(error)
    raise RuntimeError(
        f"MuJoCo cannot draw here ({_cannot}): without a screen set MUJOCO_GL=egl or MUJOCO_GL=osmesa before Python "
        f"starts, and install that library."
    )
