"""Pages that the registries write: methods by family, environments, the public names, references, the catalogue."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gallery
import gymnasium as gym
from bibliography import Reference, read
from docstrings import markdown, sections

from reward_envs.registration import IDS, PREFIX, engine_of
from reward_envs.text.terminal.packs import PACKS, draw_instance
from reward_envs.wrappers import registry
from reward_envs.wrappers.core import Relabel

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = {
    "shaping": "Shaping: rewards read off the transition itself",
    "curiosity": "Curiosity: bonuses for what is new",
    "hindsight": "Hindsight: other goals for the same rows",
    "redistribution": "Redistribution: the return of an episode, moved to its steps",
    "credit": "Credit: advantages from groups of episodes",
    "learned": "Learned rewards: models fitted to preferences, demonstrations or labels",
    "language": "Language: rewards from text and from language models",
    "transform": "Transforms: methods of other methods",
}
ROLES = {
    "add": "a term beside `task`",
    "replace": "stands for the reward that it holds",
    "rows": "makes other rows; it has no text",
}


def write(folder: Path) -> None:
    """Write every page into `folder`, and remove what an earlier build left there."""
    gallery.draw_missing()
    pages = render()
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in pages:
            path.unlink()
    for name, page in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def render() -> dict[str, str]:
    """Every page by its name under `_generated`."""
    references = read((ROOT / "reward_envs" / "references.bib").read_text(encoding="utf-8"))
    families: dict[str, list[registry.Entry]] = defaultdict(list)
    for entry in registry.methods().values():
        families[entry.family].append(entry)
    order = sorted(families, key=lambda f: (list(FAMILIES).index(f) if f in FAMILIES else len(FAMILIES), f))
    pages = {f"methods/{f}.md": family_page(f, families[f], references) for f in order}
    return pages | {
        "methods/index.md": methods_page({f: families[f] for f in order}),
        "environments.md": environments_page(),
        "terminal-templates.md": terminal_templates(),
        **dict(gallery.pages(table, defaults)),
        "reference.md": reference_page(),
        "references.md": references_page(references),
        "catalogue.md": catalogue_page(),
    }


# methods


def methods_page(families: Mapping[str, Sequence[registry.Entry]]) -> str:
    """All methods in one table, and the family pages below it."""
    rows = [
        (f"[`{e.name}`](#method-{e.name})", family, scope_of(e), one_line(e.summary))
        for family, entries in families.items()
        for e in entries
    ]
    names = "\n".join(f"{family}" for family in families)
    return (
        "# Methods\n\n"
        f"{len(rows)} methods are registered. The tables of this part are written from the registry at every build, "
        "and the text of each method is its docstring. How to write them down is in [the text form](../../text.md); "
        "what the scopes mean is in [the three ideas](../../ideas.md#scope-is-a-promise).\n\n"
        f"{table(('name', 'family', 'scope', 'what it is'), rows)}\n\n{claims_list(families)}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )


def claims_list(families: Mapping[str, Sequence[registry.Entry]]) -> str:
    """Which methods make which claim; a claim's arguments are left out."""
    by_claim: dict[str, set[str]] = defaultdict(set)
    for entry in (e for entries in families.values() for e in entries):
        for claim in entry.claims:
            by_claim[claim.partition("(")[0]].add(entry.name)
    rows = [(f"`{c}`", ", ".join(f"[`{n}`](#method-{n})" for n in sorted(by_claim[c]))) for c in sorted(by_claim)]
    return (
        "## Claims\n\nA claim is the name of a property test that runs for every method that makes it. "
        "A method without a claim may have the property all the same; nobody tests it.\n\n"
        f"{table(('claim', 'made by'), rows)}"
    )


def family_page(family: str, entries: Sequence[registry.Entry], references: Mapping[str, Reference]) -> str:
    """The table of a family, then each method."""
    rows = [
        (
            f"[`{e.name}`](#method-{e.name})",
            scope_of(e),
            kind_of(e),
            e.role,
            one_line(e.summary),
            ", ".join(f"`{c}`" for c in e.claims) or "–",
            ", ".join(cite(k, references) for k in e.source) or "–",
        )
        for e in entries
    ]
    head = table(("name", "scope", "kind", "role", "what it is", "claims", "sources"), rows)
    body = "\n\n".join(method_section(e, references) for e in entries)
    return f"# {FAMILIES.get(family, family.capitalize())}\n\n{head}\n\n{body}\n"


def method_section(entry: registry.Entry, references: Mapping[str, Reference]) -> str:
    """Anchor, heading, facts and docstring of a method."""
    text = sections(entry.cls.__doc__ or "")
    facts = [f"`{entry.cls.__name__}` in `{entry.cls.__module__}`", f"scope {scope_of(entry)}", kind_of(entry)]
    facts.append(ROLES.get(entry.role, entry.role))
    lines = ["; ".join(facts) + "."]
    if hooks := getattr(entry.cls, "needs", ()):
        lines.append(f"Needs the hooks {', '.join(f'`{h}`' for h in hooks)}.")
    if entry.role != "rows":
        lines.append(f"Example: `{entry.example}`")
    if entry.claims:
        lines.append(f"Claims: {', '.join(f'`{c}`' for c in entry.claims)}.")
    if entry.source:
        lines.append(f"References: {'; '.join(cite(k, references) for k in entry.source)}.")
    for number, test in sorted(entry.covers.items()):
        lines.append(f"Covers [row {number} of the catalogue](#system-{number}), tested by `{test}`.")
    return (
        f"(method-{entry.name})=\n## {entry.name}\n\n"
        + "\\\n".join(lines)
        + f"\n\n{markdown(text, defaults(entry.cls))}"
    )


def scope_of(entry: registry.Entry) -> str:
    """The scope's name; of a relabeller, which has none, a dash."""
    return "–" if issubclass(entry.cls, Relabel) else entry.cls.own_scope.name.lower()


def kind_of(entry: registry.Entry) -> str:
    """reward, advantage or rows."""
    if issubclass(entry.cls, Relabel):
        return "rows"
    return entry.cls.kind if isinstance(entry.cls.kind, str) else "the kind of what it holds"


def defaults(cls: type[Any]) -> dict[str, str]:
    """`type = default` of each field of a dataclass, or of each parameter of a class or function."""
    if dataclasses.is_dataclass(cls):
        made = {f.name: f for f in dataclasses.fields(cls)}
        return {k: str(f.type) + default_of(f.default, dataclasses.MISSING) for k, f in made.items()}
    if not callable(cls) or (isinstance(cls, type) and issubclass(cls, Exception)):
        return {}
    given = inspect.signature(cls).parameters
    return {k: annotation(p.annotation) + default_of(p.default, p.empty) for k, p in given.items()}


def annotation(value: Any) -> str:
    return "" if value is inspect.Parameter.empty else str(value)


def default_of(value: Any, missing: Any) -> str:
    return "" if value is missing else f" = {value!r}"


# environments


def environments_page() -> str:
    """Every id with what its card says, then the docstring of each class of tasks."""
    rows, tasks = [], []
    for name in IDS:
        env = gym.make(PREFIX + name)
        card = env.unwrapped.card
        if type(env.unwrapped) not in tasks:
            tasks.append(type(env.unwrapped))
        farthest = "–" if card.steps_to_go_max is None else f"{card.steps_to_go_max:g}"
        exact = "" if card.exact else " (a lower bound)"
        fails = {True: "yes", False: "no", None: "unknown"}[card.failing_ends]
        shown = (
            f"[`{PREFIX}{name}`](#{gallery.anchor(name)})"
            if engine_of(PREFIX + name) == "grid"
            else f"`{PREFIX}{name}`"
        )
        rows.append((shown, card.task, ", ".join(f"`{h}`" for h in card.hooks), farthest + exact, fails))
        env.close()
    head = table(("id", "task", "hooks", "`steps_to_go` at most", "can fail"), rows)
    body = "\n\n".join(f"## {c.__name__}\n\n{task_text(c)}" for c in tasks)
    return (
        "(ids-and-tasks)=\n# Ids and tasks\n\n"
        "Each id is made by `gym.make(id, reward=..., reward_mode=..., hooks=...)` after "
        '`import reward_envs`. The reward is sparse unless `reward_mode="dense"` is given. A task truncates itself, so '
        "nothing has to sit outside the reward. A gridworld's id leads to its picture.\n\n"
        f"{head}\n\n{body}\n"
    )


def terminal_templates() -> str:
    """A table of each pack of terminal tasks: one instance of each template."""
    parts = []
    for pack, templates in PACKS.items():
        rows = []
        for name in templates:
            drawn = draw_instance(name, seed=0)
            rows.append((f"`{name}`", one_line(drawn.instructions), len(drawn.checks), len(list(drawn.solve()))))
        parts.append(f"## {pack}\n\n" + table(("template", "an instance", "checks", "commands"), rows))
    head = "# Terminal templates\n\nAn instance of each, with how many checks it has and how many commands solve it."
    return "\n\n".join([head, *parts]) + "\n"


def task_text(cls: type[Any]) -> str:
    """The docstring of a task, without the parameters that its ids fix."""
    text, given = sections(cls.__doc__ or ""), defaults(cls)
    text.parameters = [(names, told) for names, told in text.parameters if " = " in given.get(names.split(", ")[0], "")]
    return markdown(text, given)


# public names


def reference_page() -> str:
    """The public names of `reward_envs.wrappers` that are no methods, with their docstrings."""
    public = importlib.import_module("reward_envs.wrappers")
    of_methods = {e.cls.__name__ for e in registry.methods().values()}
    parts = [
        "# Public names\n\nImport these from `reward_envs.wrappers`. "
        "Methods have [pages of their own](methods/index.md)."
    ]
    for name in (n for n in dir(public) if n not in of_methods):
        thing = getattr(public, name)
        parts.append(f"## {name}\n\n`{thing.__module__}`\n\n{markdown(sections(thing.__doc__ or ''), defaults(thing))}")
    return "\n\n".join(parts) + "\n"


# references and catalogue


def references_page(references: Mapping[str, Reference]) -> str:
    """The bibliography; each entry is the target of its key."""
    entries = "\n\n".join(f"({key})=\n{reference.text}" for key, reference in sorted(references.items()))
    return f"# References\n\nWritten from `reward_envs/references.bib`.\n\n{entries}\n"


def cite(key: str, references: Mapping[str, Reference]) -> str:
    """A link to an entry of the bibliography."""
    if key not in references:
        raise KeyError(f"a method names the source {key!r}, which reward_envs/references.bib does not hold.")
    return f"[{references[key].label}](#{key})"


def catalogue_page() -> str:
    """The published systems: those that a method covers with a test, then the others."""
    rows = registry.catalogue()
    covered = [r for r in rows if r["covered_by"]]
    lines = [
        (
            f"[{r['id']}]{{#system-{r['id']}}}",
            r["system"],
            ", ".join(f"[`{n}`](#{target(n)})" for n in r["covered_by"]),
            f"`{r['property_test'].partition('::')[2]}`",
        )
        for r in covered
    ]
    others = [(r["id"], r["system"]) for r in rows if not r["covered_by"]]
    return (
        "# Catalogue\n\nPublished systems that give agents rewards, and what of them is in this package. A row is "
        "covered where a method names it together with the test of a property that defines the system. "
        f"{len(covered)} of {len(rows)} rows are.\n\n"
        f"{table(('row', 'system', 'covered by', 'test of its property'), lines)}\n\n"
        f"## Not covered\n\n{table(('row', 'system'), others)}\n"
    )


def target(name: str) -> str:
    """The anchor of a method, of a gridworld's id, or of the page of all ids."""
    if not name.startswith(PREFIX):
        return f"method-{name}"
    return gallery.anchor(name.removeprefix(PREFIX)) if engine_of(name) == "grid" else "ids-and-tasks"


# Markdown


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(c).replace("|", "\\|") for c in line) + " |" for line in lines)


def one_line(text: str) -> str:
    """The first paragraph of a text on one line."""
    return " ".join(text.strip().split("\n\n")[0].split())
