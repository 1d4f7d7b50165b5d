"""BibTeX entries as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "c": "\u0327", "v": "\u030c"}
LETTERS = {
    r"\o": "ø",
    r"\O": "Ø",
    r"\aa": "å",
    r"\AA": "Å",
    r"\ss": "ß",
    r"\l": "ł",
    r"\L": "Ł",
    r"\i": "ı",
    r"\ae": "æ",
}


@dataclass(frozen=True)
class Reference:
    """How an entry is cited ("Ng et al. 1999"), and its full text."""

    label: str
    text: str


def read(source: str) -> dict[str, Reference]:
    """The entries of a BibTeX file by key."""
    return {key: reference(fields) for key, fields in entries(source)}


def entries(source: str) -> Iterator[tuple[str, dict[str, str]]]:
    """(key, fields) of each entry, braces kept."""
    for found in re.finditer(r"^@\w+\{([^,\s]+),", source, re.MULTILINE):
        end = closing(source, found.start() + source[found.start() :].index("{"))
        body = source[found.end() : end]
        fields = {}
        at = 0
        while field := re.compile(r"\s*(\w+)\s*=\s*").match(body, at):
            start = field.end()
            if body[start] == "{":
                at = closing(body, start) + 1
                value = body[start + 1 : at - 1]
            else:
                at = (body.find(",", start) + len(body) + 1) % (len(body) + 1)
                value = body[start:at].strip().strip('"')
            fields[field[1].lower()] = " ".join(value.split())
            at += body[at : at + 1] == ","
        yield found[1], fields


def closing(text: str, opening: int) -> int:
    """Where the brace that opens at `opening` closes."""
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    raise ValueError(f"no closing brace for {text[opening : opening + 40]!r}")


def plain(value: str) -> str:
    """LaTeX as text: accents, letters, escapes, dashes; braces go."""
    for command, letter in LETTERS.items():
        value = re.sub(re.escape(command) + r"(?![a-zA-Z])\s?", letter, value)

    def accented(found: re.Match[str]) -> str:
        return unicodedata.normalize("NFC", (found[2] or found[3]).replace("ı", "i") + ACCENTS[found[1]])

    value = re.sub(r"\\(['`^\"~])\s*(?:\{(\w)\}|(\w))", accented, value)
    value = re.sub(r"\\([cv])\s*(?:\{(\w)\}|(?<=\s)(\w))", accented, value)
    return re.sub(r"\\([#&%$_])", r"\1", value).replace("---", "—").replace("--", "–").translate({123: None, 125: None})


def reference(fields: dict[str, str]) -> Reference:
    people = [plain(p) for p in re.split(r"\s+and\s+", fields.get("author", fields.get("editor", "")))]
    last = [p.split(",")[0] if "," in p else p.split(" ")[-1] for p in people if p != "others"]
    year = fields.get("year", "")
    label = f"{last[0]} et al." if len(people) > 2 or "others" in people else " and ".join(last)
    title = plain(fields.get("title", "")).replace("*", r"\*").rstrip(".")
    where = plain(fields.get("booktitle") or fields.get("journal") or fields.get("publisher") or "")
    arxiv = arxiv_id(fields)
    if arxiv and arxiv in where:
        where = ""
    volume = fields.get("volume", "") + (f"({fields['number']})" if "number" in fields else "")
    details = [d for d in (where, volume, plain(fields.get("pages", "")), year) if d]
    links = [f"[arXiv:{arxiv}](https://arxiv.org/abs/{arxiv})"] if arxiv else []
    links += [f"<{fields['url']}>"] if "url" in fields and not arxiv else []
    links += [f"[doi:{fields['doi']}](https://doi.org/{fields['doi']})"] if "doi" in fields else []
    stop = "" if title.endswith(("?", "!")) else "."
    text = f"{listed(people)}. *{title}{stop}* {', '.join(details)}." + (f" {'. '.join(links)}." if links else "")
    return Reference(f"{label} {year}".strip(), text)


def listed(people: list[str]) -> str:
    """Names as they are spoken, the last after "and"."""
    spoken = [" ".join(reversed([part.strip() for part in p.split(",", 1)])) if "," in p else p for p in people]
    spoken = ["others" if p == "others" else p for p in spoken]
    return spoken[0] if len(spoken) == 1 else f"{', '.join(spoken[:-1])} and {spoken[-1]}"


def arxiv_id(fields: dict[str, str]) -> str | None:
    """The arXiv number, from `eprint` or from a mention."""
    if "eprint" in fields:
        return fields["eprint"]
    found = re.search(r"arXiv[: ](?:preprint arXiv:)?(\d{4}\.\d{4,5})", " ".join(fields.values()))
    return found[1] if found else None
