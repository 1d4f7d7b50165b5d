"""Pages of the gridworld tasks: one table of all, and a page for each group with a picture of every task.

The pictures are drawn once and kept under `docs/images/grid`, since the layouts of all tasks take minutes to compile;
one that is missing is drawn by the next build. Remove a picture whose task has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docstrings import markdown, sections

from reward_envs.grid.fields import FIELDS
from reward_envs.grid.more import KEYWORDS
from reward_envs.grid.objects import OBJECTS
from reward_envs.grid.rooms import ROOMS
from reward_envs.grid.spec import GridSpec
from reward_envs.grid.tasks import TASKS, grid_env
from reward_envs.grid.worlds import Worlds
from reward_envs.registration import PREFIX

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "images" / "grid"
EXPERTS = ROOT / "docs" / "grid-experts.txt"  # what benchmarks/grid_experts.py printed
ABOUT = {
    "goals": "Tasks of a goal to reach",
    "rooms": "Tasks of locked rooms",
    "objects": "Tasks about things",
    "more": "Tasks that MiniGrid lacks",
}


def groups() -> dict[str, dict[str, GridSpec]]:
    """The tasks by page; those of no other group are in `more`."""
    known = {"goals": FIELDS, "rooms": ROOMS, "objects": OBJECTS}
    rest = {name: spec for name, spec in TASKS.items() if not any(name in group for group in known.values())}
    return {**known, "more": rest}


def pages(table: Callable[..., str], defaults: Callable[[Any], Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Each page under `_generated` and its text; `table` and `defaults` as of `generate`."""
    yield "gridworlds/index.md", index_page(table)
    for group, tasks in groups().items():
        body = "\n\n".join(task_section(name, spec, defaults) for name, spec in tasks.items())
        yield f"gridworlds/{group}.md", f"# {ABOUT[group]}\n\n{body}\n"


def index_page(table: Callable[..., str]) -> str:
    """All tasks in one table."""
    succeeded = successes()
    rows = []
    for name, spec in TASKS.items():
        farthest = "–" if spec.steps_to_go_max is None else f"{spec.steps_to_go_max:g}"
        row = [f"[`{PREFIX}{name}`](#{anchor(name)})", f"{spec.width} × {spec.height}", spec.max_steps, farthest]
        row += ["yes" if spec.exact else "a lower bound", "yes" if spec.failing_ends else "no"]
        rows.append(row + list(succeeded.get(name, ("–", "–"))) if succeeded else row)
    head = ["id", "cells", "steps at most", "`steps_to_go` at most", "exact", "can fail"]
    head += ["random", "expert"] if succeeded else []
    told = (
        " The last columns are the share of episodes, of the layouts of 200 seeds, that random play and the task's "
        "[expert](../../gridworlds.md#experts) solve; `python benchmarks/grid_experts.py` measures them."
        if succeeded
        else ""
    )
    return (
        f"# Gallery\n\n{len(TASKS)} gridworld tasks. How to use them is in [gridworlds](../../gridworlds.md)."
        f"{told}\n\n{table(head, rows)}\n\n```{{toctree}}\n:hidden:\n\n" + "\n".join(groups()) + "\n```\n"
    )


def task_section(name: str, spec: GridSpec, defaults: Callable[[Any], Mapping[str, str]]) -> str:
    """Anchor, picture, facts and, where the task takes keywords of its own, what its maker says."""
    through = ", through walls" if spec.see_through else ""
    offered = ", ".join(f"`{hook}`" for hook in grid_env(name).card.hooks)
    facts = [
        f"{spec.width} × {spec.height} cells; the agent sees 7 × 7{through}",
        f"{spec.actions} actions, at most {spec.max_steps} steps",
        f"hooks {offered}",
    ]
    if spec.steps_to_go_max is not None:
        kind = "exact" if spec.exact else "a lower bound"
        facts.append(f"`steps_to_go` is {kind}, at most {spec.steps_to_go_max:g}")
    facts.append(f"milestones: {', '.join(spec.milestone_names)}")
    more = f" and {len(spec.missions) - 1} others" if len(spec.missions) > 1 else ""
    facts.append(f"mission: “{spec.missions[0]}”{more}")
    if columns := (spec.engine or Worlds).columns:
        facts.append(f"`info` always holds {', '.join(f'`{c}`' for c in columns)}")
    if spec.failing_ends:
        facts.append("an episode can end without success")
    if spec.source:
        given = ", ".join(f"{key}={value!r}" for key, value in (spec.kwargs or {}).items())
        facts.append(f"equals `{spec.source.replace(':', '.')}({given})`")
    if name in successes():
        random, expert = successes()[name]
        facts.append(f"random play succeeds in {random} of the episodes, the expert in {expert}")
    picture = f"![A layout of {name}](../../images/grid/{name}.png){{.world}}"
    listed = "\n".join(f"- {fact}" for fact in facts)
    text = f"({anchor(name)})=\n## {name.removesuffix('-v0')}\n\n{picture}\n\n{spec.task}\n\n{listed}"
    if name in KEYWORDS:
        text += f"\n\n{markdown(sections(KEYWORDS[name].__doc__ or ''), defaults(KEYWORDS[name]))}"
    return text


def anchor(name: str) -> str:
    return f"grid-{name.removesuffix('-v0').lower()}"


def successes() -> dict[str, tuple[str, str]]:
    """Shares of episodes that random play and the expert solve, where they were measured."""
    if not EXPERTS.exists():
        return {}
    lines = EXPERTS.read_text(encoding="utf-8").splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: (random, expert) for name, random, _, _, expert, *_ in cells}


def draw_missing(folder: Path = PICTURES) -> None:
    """Draw the tasks that have no picture: the layout of seed 0, about 240 pixels wide, 12 to 24 a cell."""
    from PIL import Image

    from reward_envs.grid.picture import picture

    folder.mkdir(parents=True, exist_ok=True)
    for name, spec in TASKS.items():
        path = folder / f"{name}.png"
        if not path.exists():
            worlds: Worlds = (spec.engine or Worlds)(spec, 1)
            worlds.seed(worlds.all, [0])
            worlds.begin(worlds.all)
            frame = picture(worlds, 0, max(12, min(24, 240 // spec.width)))
            Image.fromarray(frame).quantize(64).save(path, optimize=True)
