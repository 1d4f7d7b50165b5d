"""Execution components: calls of tools, paid for how they parse, fit their schemas, run and answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reward_envs.text.tools.components import execution_value
from reward_envs.wrappers.batch import Batch, Float, all_true
from reward_envs.wrappers.core import Masked, Method
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register

COUNTS = 7  # columns of the hook


@register(
    "execution_components",
    example="execution_components",
    role="replace",
    source="kulkarni2026tier",
    claims=("bounded(-1, 1)", "resets_each_episode", "cut_invariant"),
    covers={26: "tests/text/test_components.py::test_values_invariances_and_depth"},
)
@dataclass(frozen=True, repr=False)
class ExecutionComponents(Method):
    """The change of what the episode's calls are worth, none of them compared with a reference.

    `r_t = R(s_{t+1}) - R(s_t)`, float64[N], with
    `R = format (1 + name (1 + param + type + exec (1 + w answer))) / (5 + w)`: format, name and exec are 1 where no
    call of the episode failed to parse, named an unknown tool, or did not run, else 0; param and type are
    `max(0, 1 - penalty n)` for n mismatches of parameter names and of values; answer is 1 after the right answer. The
    sum over an episode that starts without calls is R of all its calls, in [0, 1] whatever their number.

    Parameters
    ----------
    penalty
        What a mismatch costs.
    answer_weight
        w, the weight of the answer beside the five other components.

    Needs the hook `execution`, [N, 7]: calls, unparsed, unknown, names, values, failed, answer. A row that lacks it
    (NaN) at s or s' is unknown. Raises RewardError where it has another shape, or a field is negative or not finite.
    Misleads where a failing call is a way to learn: one error of the episode costs exec and the answer, however well it
    ends. A first call that runs is worth a half, so an agent may stop there while it cannot find answers.

    Source: Kulkarni et al. 2026, "TIER: Trajectory-Invariant Execution Rewards for Multi-Step Tool Composition",
    arXiv:2605.16790, whose weights are the defaults; there a finished sequence is paid at once.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> none, one, answered = [0] * 7, [1, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 1]
    >>> counts = dict(info={"execution": [none, one]}, next_info={"execution": [one, answered]})
    >>> batch = Batch.of(obs=[0] * 2, action=[0] * 2, next_obs=[0] * 2, reward=[0] * 2, **counts)
    >>> Rewarder("execution_components").step(batch).values.tolist()
    [0.5, 0.5]
    """

    needs: ClassVar[tuple[str, ...]] = ("execution",)

    penalty: float = 0.25
    answer_weight: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("penalty", "answer_weight"):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise RewardError(f"{self.label}: {name}={value}; write a finite number of 0 or more.")

    def score(self, state: Any, carry: Any, batch: Batch) -> tuple[Float | Masked, Any]:
        before, after = (self._worth(column, len(batch)) for column in batch.hook("execution"))
        values = after - before
        known = ~np.isnan(values)
        return (values if all_true(known) else Masked(values, known)), None

    def _worth(self, column: Any, n: int) -> Float:
        counts = np.asarray(column, np.float64)
        if counts.shape != (n, COUNTS):
            raise RewardError(f"{self.label}: the hook 'execution' has shape {counts.shape}; it is [{n}, {COUNTS}].")
        return execution_value(counts, self.penalty, self.answer_weight)
