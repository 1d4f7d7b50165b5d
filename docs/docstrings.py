"""Docstrings as Markdown: paragraphs, lists, parameters as definitions, examples as code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

LEADS = ("Raises", "Misleads", "Warns", "Source", "Needs", "Memory", "Returns")


@dataclass
class Sections:
    """The blocks of a docstring before and after its parameters, and the parameters `name -> text`."""

    before: list[str] = field(default_factory=list)
    parameters: list[tuple[str, str]] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


def sections(docstring: str) -> Sections:
    """Take a docstring apart: blocks are separated by empty lines, parameters stand under their underlined heading."""
    lines = inspect.cleandoc(docstring).splitlines()
    found = Sections()
    blocks, into = blocks_of(lines), found.before
    for block in blocks:
        title = block[0] if len(block) > 1 and re.fullmatch(r"-{3,}", block[1]) else None
        if title in ("Parameters", "Attributes"):
            found.parameters += definitions(block[2:])
            into = found.after
        elif title is not None:
            into.append(f"**{title}**\n\n" + definition_list(definitions(block[2:]), {}))
        else:
            into += paragraphs(block)
    return found


def blocks_of(lines: list[str]) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [b for b in blocks if b]


def paragraphs(block: list[str]) -> list[str]:
    """A block as Markdown: an example as code, else text in which a line that opens with a lead word starts anew."""
    if block[0].lstrip().startswith(">>>"):
        return ["```pycon\n" + "\n".join(block) + "\n```"]
    if block[0].startswith("    ") and not re.match(r"\s*([-*]|\d+\.) ", block[0]):
        return ["```text\n" + inspect.cleandoc("\n".join(block)) + "\n```"]
    parts: list[list[str]] = [[]]
    for line in block:
        lead = line.split(" ")[0].rstrip(":")
        if lead in LEADS and (not parts[-1] or line[0].isupper()):
            parts.append([f"**{lead}**{line[len(lead) :]}"])
        else:
            parts[-1].append(line)
    return ["\n".join(p) for p in parts if p]


def definitions(lines: list[str]) -> list[tuple[str, str]]:
    """Names at the margin and their indented texts."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" ") and found:
            found[-1][1].append(line.strip())
        else:
            found.append((line.strip(), []))
    return [(name, " ".join(text)) for name, text in found]


def markdown(parts: Sections, defaults: Mapping[str, str]) -> str:
    """The docstring as Markdown; `defaults` says "type = value" of each parameter."""
    blocks = list(parts.before)
    if parts.parameters:
        blocks.append(definition_list(parts.parameters, defaults))
    return "\n\n".join([*blocks, *parts.after])


def definition_list(items: list[tuple[str, str]], defaults: Mapping[str, str]) -> str:
    entries = []
    for term, text in items:
        names, _, told = term.partition(" : ")
        given = [f"`{n}`" + (f": `{defaults[n]}`" if defaults.get(n) else "") for n in names.split(", ")]
        kind = f": {told}" if told and not any(defaults.get(n) for n in names.split(", ")) else ""
        entries.append(", ".join(given) + kind + f"\n: {text or '–'}")
    return "\n\n".join(entries)
