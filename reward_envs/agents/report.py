"""The report of a comparison: its answer in a sentence, and the picture of its curves."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reward_envs.agents.statistics import interval, iqm, median, steps_to

if TYPE_CHECKING:
    import pandas as pd

THRESHOLD = 0.9  # success rate that the answer asks for
Float: TypeAlias = NDArray[np.float64]

# Okabe and Ito's colours, told apart by every kind of colour vision; black and the pale yellow left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
TASK_COLOUR = "#444444"
MARKERS = ("o", "s", "^", "D", "v", "P")
TERM_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (1, 3)), (0, (5, 1, 1, 1, 1, 1)))


def term_colours(names: Iterable[str]) -> dict[str, str]:
    """The colour of each term in every picture of a report, the task's own reward first and in grey."""
    ordered = sorted(names, key=lambda n: (n != "task", n))
    return {n: TASK_COLOUR if n == "task" else COLOURS[(k + 2) % len(COLOURS)] for k, n in enumerate(ordered)}


class Curves(NamedTuple):
    """A metric of one reward: steps [T] that all seeds have, and values [seeds, T]."""

    steps: Float
    values: Float


def curves(table: pd.DataFrame, reward: str, metric: str) -> Curves:
    """The curves of a metric, a seed each; steps that a seed lacks are left out."""
    rows = table[(table["reward"] == reward) & (table["metric"] == metric)]
    wide = rows.pivot(index="steps", columns="seed", values="value").sort_index().dropna()
    return Curves(wide.index.to_numpy(np.float64), wide.to_numpy(np.float64).T)


def conclude(table: pd.DataFrame, rewards: Sequence[str], threshold: float = THRESHOLD) -> str:
    """What came out, in a sentence, the best reward first: how many seeds reached the success rate, in how many steps.

    A seed reached it at its first evaluation of `threshold` or more. The median counts seeds that did not as infinite.
    Where the task has no success rate, it is the return of the last evaluation: interquartile mean over seeds.
    """
    reached: list[tuple[int, float, str, str]] = []
    returned: list[tuple[float, str]] = []
    for reward in rewards:
        name = "task alone" if reward == "task" and len(rewards) > 1 else reward
        success, last = curves(table, reward, "eval/success_rate"), curves(table, reward, "eval/task_return")
        if len(success.steps):
            at = steps_to(*success, threshold)
            there, middle = int(np.isfinite(at).sum()), median(at)
            when = f"median {thousands(middle)} steps" if math.isfinite(middle) else "median not reached"
            share = f"in {there} of {_seeds(len(at))}" + (f", {when}" if there else "")
            reached.append((-there, middle, name, share))
        if len(last.steps):
            mean = float(iqm(last.values[:, -1]))
            returned.append((-mean, f"{name} {mean:.3g}"))
    if reached:
        best, *rest = _tied(sorted(reached))
        if len(reached) > 1 and not any(there for there, *_ in reached):
            return f"No reward reached {100 * threshold:.0f} % success {best[1].replace('in 0 of', 'in any of')}."
        goal = f"{best[0]} reached {100 * threshold:.0f} % success {best[1]}"
        return "; ".join([goal, *(f"{names} {share}" for names, share in rest)]) + "."
    return "Task return after training: " + "; ".join(sentence for _, sentence in sorted(returned)) + "."


def _seeds(n: int) -> str:
    return f"{n} seed{'s' * (n != 1)}"


def _tied(reached: list[tuple[int, float, str, str]]) -> list[tuple[str, str]]:
    """Names and what they reached, those together that reached the same."""
    groups = itertools.groupby(reached, key=lambda r: (r[:2], r[3]))
    return [(" and ".join(name for *_, name, _ in group), share) for (_, share), group in groups]


def thousands(steps: float) -> str:
    """Steps as a person says them: 41k."""
    return f"{steps / 1000:.3g}k" if steps >= 1000 else f"{steps:.0f}"


def draw(table: pd.DataFrame, rewards: Sequence[str], path: Path, *, title: str, subtitle: str = "") -> None:
    """Write the picture, 1200 pixels wide.

    Above, over the environment steps of training: the task's own return, and the success rate (the episodes' length
    where there is none). Thick lines are interquartile means over seeds, bands their 95 % bootstrap intervals, thin
    lines the seeds. Below, for each reward, what each of its terms paid an episode of training, weight included.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    there = [r for r in rewards if len(curves(table, r, "eval/task_return").steps)]
    columns = 3 if len(there) in (3, 5, 6) or len(there) > 8 else 2
    below = math.ceil(len(there) / columns)
    lines = textwrap.wrap(_plain(title), 104)
    head = 0.26 * len(lines) + 0.6  # inches of title and subtitle
    figure = Figure(figsize=(12, head + 0.3 + 3.6 + 2.7 * below), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    height = figure.get_figheight()
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 1, 1 - head / height), w_pad=0.08, h_pad=0.06)
    top, bottom = np.ravel(figure.subfigures(2, 1, height_ratios=(3.6, 2.7 * below), squeeze=False))
    figure.text(0.012, 1 - 0.12 / height, "\n".join(lines), va="top", fontsize=14, weight="bold")
    grey = f"{subtitle}\n{_legend(table)}"
    figure.text(0.012, 1 - (0.26 * len(lines) + 0.17) / height, grey, va="top", fontsize=10.5, color="#555555")

    left, right = top.subplots(1, 2)
    success = any(len(curves(table, r, "eval/success_rate").steps) for r in there)
    second = ("eval/success_rate", "Success rate") if success else ("eval/length", "Episode length (steps)")
    for axes, metric, label in ((left, "eval/task_return", "Task return"), (right, *second)):
        for k, reward in enumerate(there):
            band(
                axes,
                curves(table, reward, metric),
                COLOURS[k % len(COLOURS)],
                MARKERS[k % len(MARKERS)],
                _plain(reward),
            )
        dress(axes, f"{label}, in evaluation")
    if success:
        right.set_ylim(-0.03, 1.03)
        right.axhline(THRESHOLD, color="#999999", linewidth=1, linestyle=(0, (4, 4)), zorder=0)
        right.text(
            1,
            THRESHOLD - 0.02,
            f"{100 * THRESHOLD:.0f} %",
            transform=right.get_yaxis_transform(),
            color="#777777",
            ha="right",
            va="top",
        )
    handles, labels = left.get_legend_handles_labels()
    ncols = max(1, min(len(labels), 150 // (max(map(len, labels), default=1) + 8)))
    top.legend(handles, labels, loc="outside upper left", ncols=ncols, frameon=False, fontsize=11)
    _terms(bottom.subplots(below, columns, squeeze=False, sharex=True, sharey=True).ravel(), table, there)
    figure.savefig(path, format="png")


def band(axes: Any, curve: Curves, colour: str, marker: str, label: str) -> None:
    """Draw a curve: interquartile mean, its bootstrap band, and the seeds."""
    steps, values = curve
    if not len(steps):
        return
    if len(values) > 1:
        axes.fill_between(steps, *interval([values]), color=colour, alpha=0.15, linewidth=0)
        for seed in values:
            axes.plot(steps, seed, color=colour, alpha=0.4, linewidth=0.8)
    axes.plot(steps, iqm(values), color=colour, linewidth=2.4, marker=marker, markersize=5, label=label)


def _terms(panels: Any, table: pd.DataFrame, rewards: Sequence[str]) -> None:
    prefix = "train/episode_reward/"
    metrics = table.loc[table["metric"].str.startswith(prefix), ["reward", "metric"]].drop_duplicates()
    for axes in panels[len(rewards) :]:
        axes.set_visible(False)
    for axes, reward in zip(panels, rewards, strict=False):
        names = [m.removeprefix(prefix) for m in metrics.loc[metrics["reward"] == reward, "metric"]]
        for k, (name, colour) in enumerate(term_colours(names).items()):
            curve = curves(table, reward, prefix + name)
            if not len(curve.steps):
                continue
            if len(curve.values) > 1:
                axes.fill_between(curve.steps, *interval([curve.values]), color=colour, alpha=0.12, linewidth=0)
            dash = TERM_DASHES[k % len(TERM_DASHES)]
            axes.plot(curve.steps, iqm(curve.values), color=colour, linewidth=2, linestyle=dash, label=_plain(name))
        dress(axes, "Paid per episode: " + (reward if len(reward) <= 24 else f"{reward[:22]} ..."))
        if names:
            axes.legend(frameon=False, fontsize=10)
        else:
            axes.text(0.5, 0.5, "no episode ended in training", transform=axes.transAxes, ha="center", color="#555555")


def dress(axes: Any, title: str) -> None:
    """Title, steps axis and quiet grid of a panel."""
    axes.set_title(_plain(title), loc="left", fontsize=12)
    axes.set_xlim(left=0)
    axes.set_xlabel("environment steps of training", fontsize=10)
    axes.xaxis.set_major_formatter(lambda x, _: thousands(x) if x else "0")
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=10)
    axes.set_axisbelow(True)


def _legend(table: pd.DataFrame) -> str:
    seeds = table["seed"].nunique()
    lines = f"Lines: interquartile mean of {seeds} seeds, each a thin line; bands: 95 % bootstrap intervals."
    below = "Below: means over the last 100 training episodes."
    return f"{lines if seeds > 1 else 'One seed says nothing of the spread.'} {below}"


def _plain(words: str) -> str:
    """The words as they stand, where matplotlib would read mathematics."""
    return words.replace("$", r"\$")
