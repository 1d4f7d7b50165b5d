"""The page of a comparison: one file to open in a browser, with everything in it."""

from __future__ import annotations

import html
import io
import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reward_envs.agents.report import COLOURS, MARKERS, THRESHOLD, Curves, band, curves, dress, term_colours, thousands
from reward_envs.agents.statistics import interval, iqm, median, steps_to

if TYPE_CHECKING:
    import pandas as pd

_ASSETS = Path(__file__).with_name("page")


def write_page(table: pd.DataFrame, spec: Mapping[str, Any], episodes: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the page.

    Parameters
    ----------
    table
        The rows of `results.parquet`.
    spec
        The content of `spec.json`, its answer included.
    episodes
        What `reward_envs.agents.episodes.watch` recorded, one of each reward.
    path
        The file, self-contained: styles, script, pictures and frames lie in it.
    """
    rewards = [r for r in spec["rewards"] if len(curves(table, r, "eval/task_return").steps)]
    success = any(len(curves(table, r, "eval/success_rate").steps) for r in rewards)
    metrics = [("eval/success_rate", "Success rate")] if success else []
    parts = {
        "title": html.escape(spec["answer"]),
        "subtitle": html.escape(_subtitle(spec)),
        "table": _summary(table, rewards, success),
        "curves": _svg(_curves(table, rewards, [*metrics, ("eval/task_return", "Task return")])),
        "threshold": _svg(_threshold(table, rewards)) if success else "<p>This task has no success rate.</p>",
        "terms": _svg(_stacked(table, rewards)),
        "command": html.escape(spec["command"]),
        "spec": html.escape(json.dumps({k: v for k, v in spec.items() if k != "answer"}, indent=2)),
        "episodes": json.dumps([_coloured(e) for e in episodes]).replace("<", "\\u003c"),
        "style": (_ASSETS / "style.css").read_text(encoding="utf-8"),
        "script": (_ASSETS / "viewer.js").read_text(encoding="utf-8"),
    }
    page = (_ASSETS / "page.html").read_text(encoding="utf-8")
    for name, content in parts.items():
        page = page.replace(f"<!--{name}-->", content)
    path.write_text(page, encoding="utf-8")


def _coloured(episode: Mapping[str, Any]) -> dict[str, Any]:
    """An episode with the colours of its terms."""
    colours = term_colours(episode["terms"])
    return {**episode, "colours": [colours[name] for name in episode["terms"]]}


def _subtitle(spec: Mapping[str, Any]) -> str:
    plan, seeds = spec["plan"], len(spec["seeds"])
    how_long = f"{thousands(plan['steps'])} steps, {seeds} seed{'s' * (seeds != 1)}"
    return f"{plan['env']}, {plan['algo'].upper()}, {how_long}; {spec['success']}"


def _summary(table: pd.DataFrame, rewards: Sequence[str], success: bool) -> str:
    goal = f"{THRESHOLD:.0%} success"
    head = ["reward", "task return at the end"]
    head += ["success at the end", f"seeds that reached {goal}", f"median steps to {goal}"] if success else []
    rows = []
    for k, reward in enumerate(rewards):
        swatch = f'<span class="swatch" style="background:{COLOURS[k % len(COLOURS)]}"></span>'
        cells = [
            f"{swatch}<code>{html.escape(reward)}</code>",
            _final(curves(table, reward, "eval/task_return"), "{:.3g}"),
        ]
        if success:
            curve = curves(table, reward, "eval/success_rate")
            at = steps_to(*curve, THRESHOLD)
            cells += [_final(curve, "{:.0%}"), f"{int(np.isfinite(at).sum())} of {len(at)}", _median_steps(at, curve)]
        rows.append("<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    top = "".join(f"<th>{h}</th>" for h in head)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _final(curve: Curves, form: str) -> str:
    last = curve.values[:, -1:]
    low, high = interval([last]) if len(last) > 1 else (last[0], last[0])
    middle, low, high = (form.format(float(v[0])) for v in (iqm(last), low, high))
    return f"{middle} <small>[{low}, {high}]</small>"


def _median_steps(at: Any, curve: Curves) -> str:
    middle = median(at)
    return thousands(middle) if math.isfinite(middle) else f"beyond {thousands(curve.steps[-1])}"


# pictures


def _figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _svg(figure: Any) -> str:
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "reward-envs", "font.family": "sans-serif"}):
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    text = out.getvalue()
    return text[text.index("<svg") :]


def _curves(table: pd.DataFrame, rewards: Sequence[str], metrics: Sequence[tuple[str, str]]) -> Any:
    figure = _figure(11, 3.8)
    for axes, (metric, label) in zip(np.ravel(figure.subplots(1, len(metrics))), metrics, strict=True):
        for k, reward in enumerate(rewards):
            band(axes, curves(table, reward, metric), COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)], reward)
        dress(axes, f"{label}, in evaluation")
        if metric == "eval/success_rate":
            axes.set_ylim(-0.03, 1.03)
            axes.axhline(THRESHOLD, color="#999999", linewidth=1, linestyle=(0, (4, 4)), zorder=0)
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, min(len(labels), 130 // (max(map(len, labels), default=1) + 8)))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize=10)
    return figure


def _threshold(table: pd.DataFrame, rewards: Sequence[str]) -> Any:
    """A dot for each seed; a seed that never got there stands at the end as an open arrow."""
    figure = _figure(11, 0.9 + 0.55 * len(rewards))
    axes = figure.subplots()
    for k, reward in enumerate(rewards):
        curve = curves(table, reward, "eval/success_rate")
        at, last = steps_to(*curve, THRESHOLD), curve.steps[-1]
        there = np.isfinite(at)
        lift = np.linspace(-0.16, 0.16, len(at)) if len(at) > 1 else np.zeros(1)
        colour = COLOURS[k % len(COLOURS)]
        axes.scatter(at[there], -k + lift[there], color=colour, s=36, marker=MARKERS[k % len(MARKERS)], zorder=3)
        never = int((~there).sum())
        axes.scatter([last] * never, -k + lift[~there], facecolors="none", edgecolors=colour, s=55, marker=">")
        if math.isfinite(middle := median(at)):
            axes.plot([middle, middle], [-k - 0.32, -k + 0.32], color=colour, linewidth=2.5)
        if never:
            said = f"{never} of {len(at)} never in {thousands(last)}"
            axes.annotate(said, (last, -k + 0.3), ha="right", va="bottom", fontsize=9, color="#555555")
    axes.set_yticks([-k for k in range(len(rewards))], rewards)
    axes.set_ylim(-len(rewards) + 0.4, 0.7)
    axes.set_xlim(left=0)
    dress(axes, f"Steps to {THRESHOLD:.0%} success: a mark a seed, bar at the median")
    return figure


def _stacked(table: pd.DataFrame, rewards: Sequence[str]) -> Any:
    """What each term paid an episode, stacked: gains upwards, losses downwards."""
    prefix = "train/episode_reward/"
    columns = max(1, min(3, len(rewards)))
    below = math.ceil(len(rewards) / columns)
    figure = _figure(11, 2.9 * below)
    panels = np.ravel(figure.subplots(below, columns, squeeze=False))
    for axes, reward in zip(panels, rewards, strict=False):
        own = table.loc[table["reward"] == reward, "metric"]
        names = {m.removeprefix(prefix) for m in own if m.startswith(prefix)}
        up = down = np.zeros(1)
        for name, colour in term_colours(names).items():
            curve = curves(table, reward, prefix + name)
            if not len(curve.steps):
                continue
            middle = iqm(curve.values)
            gain, loss = np.maximum(middle, 0), np.minimum(middle, 0)
            axes.fill_between(curve.steps, up, up + gain, color=colour, alpha=0.75, linewidth=0, label=name)
            axes.fill_between(curve.steps, down, down + loss, color=colour, alpha=0.75, linewidth=0)
            up, down = up + gain, down + loss
        axes.axhline(0, color="black", linewidth=0.8)
        dress(axes, textwrap.shorten(reward, 110 // columns, placeholder=" ..."))
        if names:
            axes.legend(frameon=False, fontsize=9, loc="best")
    for axes in panels[len(rewards) :]:
        axes.set_visible(False)
    return figure
