"""What a control task says of itself: its model, its beginning, what is seen and reached, and what it pays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from reward_envs.card import Card
from reward_envs.hooks import check_reward_mode
from reward_envs.kernels.goals import distances

if TYPE_CHECKING:
    from reward_envs.control.engine import Bodies

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Mode = Literal["sparse", "dense"]


class ControlTask:
    """Physics and rules of one task, for any number of worlds: every method works on rows [N, ...].

    A task with goals is reached where `achieved` lies within `tolerance` of the goal; one without (`goal_size` 0)
    writes `success` itself.

    Reward: 1 at success, else 0 (`reward_mode="sparse"`). `"dense"` also pays what was gained by the step,
    `closeness(s', g) - closeness(s, g) + aside(s') - aside(s)`: closeness is minus the distance left to the goal in m,
    aside what does not depend on the goal, 0 unless a task says otherwise.

    Parameters
    ----------
    reward_mode
        As above.
    max_steps
        Length at which an episode truncates.
    tolerance
        How near is there, m.
    ends_on_success
        Whether a success ends the episode; else it goes on and pays at every step at the goal.
    """

    xml: ClassVar[str]  # of the model, if it is always the same
    substeps: ClassVar[int]
    action_size: ClassVar[int]
    observation_size: ClassVar[int]
    goal_size: ClassVar[int] = 2
    goal_low: float | Float = -np.inf  # of every goal, or float64[goal_size]
    goal_high: float | Float = np.inf
    memory: ClassVar[int] = 0  # numbers that a world remembers through its episode
    camera: ClassVar[str] = "above"
    offers: ClassVar[tuple[str, ...]] = ("steps_to_go", "progress", "caption")
    milestone_names: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[str]  # the task in a sentence
    failing_ends: ClassVar[bool] = False
    exact: ClassVar[bool] = False

    def __init__(
        self,
        *,
        reward_mode: Mode = "sparse",
        max_steps: int = 50,
        tolerance: float = 0.05,
        ends_on_success: bool = True,
    ) -> None:
        if max_steps < 1:
            raise ValueError(f"max_steps={max_steps}: an episode has at least one step.")
        if not tolerance > 0 or not math.isfinite(tolerance):
            raise ValueError(f"tolerance={tolerance}: it is a length above 0, in m.")
        self.reward_mode = check_reward_mode(reward_mode)
        self.max_steps, self.tolerance, self.ends_on_success = max_steps, tolerance, ends_on_success

    # physics

    def model(self) -> Any:
        """The compiled MuJoCo model."""
        import mujoco

        return mujoco.MjModel.from_xml_string(self.xml)

    def draw(self, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        """The beginning of one episode: qpos, qvel and goal; never solved."""
        raise NotImplementedError

    def control(self, bodies: Bodies, actions: Float) -> Float:
        """What the actuators get for actions in [-1, 1], float64[N, nu]."""
        return actions

    def observation(self, bodies: Bodies) -> Float:
        """float64[N, observation_size]."""
        return np.concatenate([bodies.qpos, bodies.qvel], axis=1)

    def achieved(self, bodies: Bodies) -> Float:
        """What has been reached, in the units of goals: float64[N, goal_size], no view of the bodies."""
        return bodies.qpos[:, : self.goal_size].copy()

    def remember(self, bodies: Bodies, rows: NDArray[np.int64]) -> None:
        """After a step of these worlds: bring `bodies.memory[rows]` up to date, and hold limits that MuJoCo has not."""

    # rules

    def success(self, bodies: Bodies) -> Bool:
        """Which worlds are there, bool[N]."""
        there: Bool = self.near(bodies.achieved, bodies.goal)
        return there

    def near(self, achieved: Any, desired: Any) -> Any:
        """bool[...]: whether what was reached is within tolerance of the goal."""
        return self.gap(achieved, desired) <= self.tolerance

    def gap(self, achieved: Any, desired: Any) -> Any:
        """float64[...]: how far what was reached is from the goal, m."""
        achieved, desired = np.asarray(achieved, np.float64), np.asarray(desired, np.float64)
        if achieved.shape != desired.shape:
            achieved, desired = np.broadcast_arrays(achieved, desired)
        out = np.empty(achieved.shape[:-1])
        rows = out.size, self.goal_size
        distances(achieved.reshape(rows), desired.reshape(rows), out.reshape(-1))
        return out[()]

    def distance(self, achieved: Any, desired: Any) -> Any:
        """float64[...]: the length of the way left, m; the gap, unless something is in the way."""
        return self.gap(achieved, desired)

    def closeness(self, achieved: Any, desired: Any) -> Any:
        """float64[...]: of which the dense reward pays the gain."""
        return -self.distance(achieved, desired)

    def aside(self, bodies: Bodies) -> Float:
        """float64[N]: what else the dense reward pays the gain of, whatever the goal."""
        return np.zeros(bodies.n)

    def pay(self, success: Any, achieved: Any, desired: Any, was: Any, aside: Any) -> Any:
        """float64[...]: the reward of a step, of which `was` had been reached before, and `aside` was gained."""
        reward = np.asarray(success, np.float64)
        if self.reward_mode == "sparse":
            return reward
        return reward + self.closeness(achieved, desired) - self.closeness(was, desired) + aside

    # hooks

    def steps(self, achieved: Any, desired: Any) -> Any:
        """float64[...]: a lower bound of the steps from what was reached to the goal."""
        raise NotImplementedError

    def steps_max(self) -> float:
        """The largest value of `steps`."""
        raise NotImplementedError

    def steps_to_go(self, bodies: Bodies) -> Float:
        """float64[N]."""
        steps: Float = self.steps(bodies.achieved, bodies.goal)
        return steps

    def share(self, bodies: Bodies) -> Float:
        """How much of the way is done now, float64[N] up to 1; `progress` is the best of the episode."""
        left = np.maximum(self.distance(bodies.achieved, bodies.goal) - self.tolerance, 0.0)
        done: Float = 1.0 - left / bodies.way
        return done

    def way(self, bodies: Bodies) -> Float:
        """The whole of it, float64[N] above 0, asked when an episode begins."""
        whole: Float = np.maximum(self.distance(bodies.achieved, bodies.goal) - self.tolerance, 1e-9)
        return whole

    def milestones(self, bodies: Bodies) -> Float:
        """float64[N, K]: which of `milestone_names` hold now; the hook remembers them."""
        raise NotImplementedError

    def caption(self, bodies: Bodies, i: int) -> str:
        """World i in words."""
        raise NotImplementedError

    # people

    def expert(self, bodies: Bodies, i: int) -> NDArray[np.float32]:
        """A good action in world i, float32[action_size]."""
        raise NotImplementedError

    def show(self, data: Any, goal: Float) -> None:
        """Put the goal into the scene that is drawn."""
        if self.goal_size:
            data.mocap_pos[0, : self.goal_size] = goal

    def card(self) -> Card:
        """Facts about the task."""
        return Card(
            task=self.words,
            hooks=self.offers,
            milestone_names=self.milestone_names,
            steps_to_go_max=self.steps_max() if "steps_to_go" in self.offers else None,
            failing_ends=self.failing_ends,
            reward_range=(0.0, 1.0) if self.ends_on_success else (0.0, float(self.max_steps)),
            exact=self.exact,
        )
