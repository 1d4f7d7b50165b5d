"""Text tasks as a Gymnasium environment."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import gymnasium as gym
from gymnasium import spaces

from reward_envs.hooks import check_render_mode
from reward_envs.text.episode import Episode, Limits, Plan
from reward_envs.text.spaces import text_space
from reward_envs.text.task import Source, TextTask
from reward_envs.text.transcript import Transcript


def episode_seed(rng: Any) -> int:
    """The next episode's seed, drawn from a world's generator."""
    return int(rng.integers(2**63))


class _Texts:
    """What the single environment and the vector share: the plan, its spaces and card, and the hooks asked for."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def _open(
        self,
        source: Source,
        split: str,
        reward_mode: str,
        max_steps: int | None,
        seconds: float,
        max_action: int,
        max_output: int,
    ) -> None:
        limits = Limits(source.max_steps if max_steps is None else max_steps, seconds, max_action, max_output)
        self.plan = Plan(source, split, reward_mode, limits)
        self.card = source.card
        self.max_steps, self.reward_mode = limits.turns, reward_mode  # where adapters look

    def _spaces(self) -> tuple[spaces.Text, spaces.Text]:
        return text_space(self.plan.limits.output), text_space(self.plan.limits.action)

    def _asked(self, hooks: Iterable[str], before: tuple[str, ...] = ()) -> tuple[str, ...]:
        asked = {hooks} if isinstance(hooks, str) else set(hooks)
        if unknown := sorted(asked - set(self.card.hooks)):
            raise ValueError(f"no hook {unknown[0]!r}: this task gives {', '.join(self.card.hooks) or 'none'}.")
        return tuple(h for h in self.card.hooks if h in asked or h in before)


class TextEnv(_Texts, gym.Env[str, str]):
    """A text task: the agent reads text and writes text, and is graded at the end.

    Observation: what the agent newly sees, the instructions at reset. Action: a text. Both of `spaces.CHARSET`; what a
    task prints beyond it is shown as U+FFFD. Reward: sparse, 1 where the episode ends with every check of the grade
    passed, else 0; `reward_mode="dense"`: each step pays the change of the task's value, its score unless the task says
    otherwise, so that an episode's sum is the last value less the first. NaN is an unknown reward: the grader abstained
    (`info["grade"].known`) or the task failed (`info["error"]`).

    `info["is_success"]` stands on every step: the episode has ended and the score is 1, an end alone is no success. An
    ended episode's info holds its `grade`; one that was cut short by a limit names it as `limit`. An action that is no
    text, too long or not of the charset gets a message as its outcome and costs a turn.

    Parameters
    ----------
    source
        Where tasks come from.
    split
        "train", "validation" or "test"; no instance is in two of them.
    reward_mode, hooks, render_mode
        As above; hooks are `progress` (the score), `milestones` (checks that hold), `admissible` (a list of texts) and
        `caption`, as far as `card.hooks` names them; "ansi" renders the transcript.
    max_steps, seconds, max_action, max_output
        Limits, see `Limits`; the number of turns is the source's own unless given.

    Raises ValueError for an unknown split, mode or hook.

    >>> import gymnasium as gym, reward_envs
    >>> env = gym.make("reward_envs/Tools-v0", depth=1)
    >>> _ = env.reset(seed=0)
    >>> _, reward, terminated, _, info = env.step("what?")
    >>> reward, terminated, info["is_success"]
    (0.0, False, False)
    """

    def __init__(
        self,
        source: Source,
        *,
        split: str = "train",
        reward_mode: str = "sparse",
        hooks: Iterable[str] = (),
        render_mode: str | None = None,
        max_steps: int | None = None,
        seconds: float = math.inf,
        max_action: int = 4_000,
        max_output: int = 16_000,
    ) -> None:
        self._open(source, split, reward_mode, max_steps, seconds, max_action, max_output)
        self.render_mode = check_render_mode(render_mode, self.metadata)
        self.observation_space, self.action_space = self._spaces()
        self.episode = Episode(self.plan)
        self.request_hooks(hooks)

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hooks asked for."""
        return self.episode.hooks

    @property
    def task(self) -> TextTask:
        """The running instance."""
        return self.episode.task

    @property
    def transcript(self) -> Transcript:
        """What was said in this episode."""
        return self.episode.transcript

    def request_hooks(self, hooks: Iterable[str]) -> None:
        """Give these hooks in `info` from the next reset on; they add to those asked for before."""
        self.episode.hooks = self._asked(hooks, self.episode.hooks)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return self.episode.begin(episode_seed(self.np_random))

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return self.episode.step(action)

    def expert(self) -> str:
        """A good action at the present state."""
        return self.task.expert()

    def render(self) -> str | None:
        return str(self.transcript) if self.render_mode == "ansi" else None

    def close(self) -> None:
        self.episode.close()
