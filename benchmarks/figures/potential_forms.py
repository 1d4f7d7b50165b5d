"""What five potentials of one distance pay: on a walk to the goal, for waiting, and for an end in failure.

    python benchmarks/figures/potential_forms.py --out docs/images/potential-forms.png

Every number is what the package pays for a row; no formula is written a second time here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reward_envs.agents.report import COLOURS, MARKERS
from reward_envs.wrappers import Batch, Potential, relabel

GAMMA, FARTHEST = 0.99, 20
DISTANCE = tuple(range(FARTHEST + 1))  # as a table: state d lies d steps from the goal
FORMS = {
    "-d/20": Potential(DISTANCE, d_max=FARTHEST),
    "-d": Potential(DISTANCE, d_max=FARTHEST, scale=20.0),
    "2 (γ^d - 1)": Potential(DISTANCE, decay=GAMMA, scale=2.0, offset=-1.0),
    "5 γ^d": Potential(DISTANCE, decay=GAMMA, scale=5.0),
    "1 - d/d_max": Potential(DISTANCE, d_max=FARTHEST, offset=1.0),
}
TICKS = (-10, -1, -0.1, -0.01, 0, 0.01, 0.1, 1, 10)
PANELS = (
    ("A step nearer; the step from 1 is the goal", "walk"),
    ("A step that stays where it is", "wait"),
    ("A step into a failing end", "fail"),
)


def paid(form: Potential, kind: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What the form pays for one step from each distance 1, ..., FARTHEST: float64[FARTHEST]."""
    at = np.arange(1, FARTHEST + 1)
    after = at - 1 if kind == "walk" else at
    ends = {"walk": after == 0, "wait": np.zeros(len(at), bool), "fail": np.ones(len(at), bool)}[kind]
    batch = Batch.of(obs=at, action=0 * at, next_obs=after, reward=0.0 * at, terminated=ends, stream=at - 1)
    return relabel(batch, form, gamma=GAMMA).values


def draw(path: Path) -> None:
    figure = Figure(figsize=(12, 4.4), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (title, kind) in zip(panels, PANELS, strict=True):
        for k, (name, form) in enumerate(FORMS.items()):
            steps = np.arange(1, FARTHEST + 1)
            axes.plot(
                steps, paid(form, kind), color=COLOURS[k], marker=MARKERS[k], markersize=4, linewidth=1.6, label=name
            )
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_yscale("symlog", linthresh=0.01, linscale=0.7)
        axes.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.set_xlim(FARTHEST + 0.7, 0.3)  # the goal lies to the right
        axes.set_xticks([20, 15, 10, 5, 1])
        axes.set_title(title, loc="left", fontsize=12)
        axes.set_xlabel("distance d before the step")
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
    panels[0].set_ylabel("paid by the potential for the step")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), frameon=False, fontsize=11)
    figure.savefig(path, format="png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/images/potential-forms.png"))
    draw(parser.parse_args().out)


if __name__ == "__main__":
    main()
