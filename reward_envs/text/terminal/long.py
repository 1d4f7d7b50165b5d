"""Long work: more than fifty commands, of which later ones need what earlier ones showed."""

from __future__ import annotations

from collections.abc import Callable

from reward_envs.text.terminal.draw import Draw
from reward_envs.text.terminal.template import Check, Instance, Pack, Solution, State, every, says, text

LONG = Pack()
_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
]
_UNITS += ["eighteen", "nineteen"]
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
STOPS = 27


def in_words(n: int) -> str:
    """A number below 100 in words.

    >>> in_words(42)
    'forty-two'
    """
    if n < len(_UNITS):
        return _UNITS[n]
    return _TENS[n // 10] + (f"-{_UNITS[n % 10]}" if n % 10 else "")


def _thirds(items: list[Callable[[State], bool]], what: str) -> tuple[Check, ...]:
    """Three checks: the first third of the work, two thirds, and all of it."""
    cuts = (len(items) // 3, 2 * len(items) // 3, len(items))
    names = (f"a third of {what}", f"two thirds of {what}", f"all of {what}")
    return tuple(
        Check(name, weight, every(*items[:cut]))
        for name, weight, cut in zip(names, (0.25, 0.25, 0.5), cuts, strict=True)
    )


_NEXT = (
    "When that is done, look under {}.",
    "{} knows how it goes on.",
    "Then it is the turn of {}.",
    "What follows lies with {}.",
    "Do not go home yet: {} has the next page.",
)
_KEEP = (
    "Write down {n} for it.",
    "The number here is {n}.",
    "Here it was {n}, nothing else.",
    "Somebody scratched {n} into the wood.",
    "Count on {n} at this place.",
)


@LONG
def paper_trail(d: Draw) -> Instance:
    names = d.words(STOPS + 6)
    stops, numbers = names[:STOPS], [d.number(3, 99) for _ in range(STOPS)]
    files = {}
    for i, stop in enumerate(stops):
        onward = d.pick(_NEXT).format(stops[i + 1]) if i + 1 < STOPS else "This was the last page."
        lines = d.mixed([d.pick(_KEEP).format(n=in_words(numbers[i])), onward])
        files[f"pages/{stop}.txt"] = text([*d.prose(1), *lines])
    for other in names[STOPS:]:
        files[f"pages/{other}.txt"] = text([*d.prose(1), d.pick(_KEEP).format(n=in_words(d.number(3, 99)))])
    lines = [f"{stop} {n}" for stop, n in zip(stops, numbers, strict=True)]

    def solve() -> Solution:
        for stop, line in zip(stops, lines, strict=True):
            yield f"cat pages/{stop}.txt"
            yield f"echo {line} >> trail.txt"

    begins: list[Callable[[State], bool]] = [_begins("trail.txt", lines[: i + 1]) for i in range(STOPS - 1)]
    return Instance(
        f"Follow the pages in pages/, beginning with pages/{stops[0]}.txt. Each says in words a number and which "
        "page is next. Write a "
        f"line for each page into trail.txt, in their order: the page's name without .txt, and its number in digits, "
        "such as: "
        f"{stops[0]} {numbers[0]}. Some pages are not on the way.",
        files,
        _thirds([*begins, says("trail.txt", text(lines))], "the trail"),
        solve,
        keep=tuple(files),
    )


def _begins(path: str, lines: list[str]) -> Callable[[State], bool]:
    wanted = text(lines).encode()
    return lambda state: (state.read(path) or b"").startswith(wanted)


_MOVES = (
    "{a} gives {n} to {b}.",
    "{b} gets {n} from {a}.",
    "{n} go from {a} to {b}.",
    "What {a} owes to {b}, which is {n}, is paid.",
)


@LONG
def ledger(d: Draw) -> Instance:
    people, slips = d.people(5), d.words(STOPS)
    money = {name: d.number(300, 900) for name in people}
    files = {f"accounts/{name}": f"{amount}\n" for name, amount in money.items()}
    steps: list[tuple[str, dict[str, int]]] = []
    for i, slip in enumerate(slips):
        a, b = d.mixed(people)[:2]
        n = d.number(3, 60)
        money[a], money[b] = money[a] - n, money[b] + n
        onward = d.pick(_NEXT).format(slips[i + 1]) if i + 1 < STOPS else "That is all."
        files[f"slips/{slip}"] = text(d.mixed([d.pick(_MOVES).format(a=a, b=b, n=in_words(n)), onward]))
        steps.append((slip, {a: money[a], b: money[b]}))
    right = every(*(says(f"accounts/{name}", amount) for name, amount in money.items()))
    done = [_begins("done.txt", slips[: i + 1]) for i in range(STOPS - 1)]

    def solve() -> Solution:
        for slip, now in steps:
            yield f"cat slips/{slip}"
            yield (
                "; ".join(f"echo {amount} > accounts/{name}" for name, amount in now.items())
                + f"; echo {slip} >> done.txt"
            )

    return Instance(
        f"accounts/ has a file for each person with what they own. Book the slips of slips/ one after the other, "
        "beginning with "
        f"slips/{slips[0]}: each says in words who gives how much to whom, and which slip is next. After each, add "
        "its name as a "
        "line to done.txt. At the end the accounts must be right.",
        files,
        _thirds([*done, every(right, says("done.txt", text(slips)))], "the slips"),
        solve,
        keep=tuple(f"slips/{slip}" for slip in slips),
    )


_KINDS = {
    "animals": ("it barked", "it laid eggs", "it purred", "it had four hooves", "it spun a web", "it was fed on hay"),
    "music": (
        "it had six strings",
        "it was blown",
        "one played it with a bow",
        "it was drummed on",
        "it had black and white keys",
    ),
    "ships": (
        "it had two masts",
        "its anchor is lost",
        "it sank in a storm",
        "it was rowed by twelve",
        "its keel was of oak",
    ),
    "kitchen": (
        "soup was cooked in it",
        "it was for frying",
        "dough was rolled with it",
        "it held the salt",
        "tea was poured from it",
    ),
}


@LONG
def museum(d: Draw) -> Instance:
    names = d.words(STOPS)
    kinds = [d.pick(list(_KINDS)) for _ in names]
    files = {}
    for name, kind in zip(names, kinds, strict=True):
        about = [f"number {d.number(100, 999)}", d.pick(_KINDS[kind]), f"found beside the {d.prose(1, 1)[0]}"]
        files[f"crate/{name}.card"] = text(d.mixed(about))
    placed = [
        every(says(f"hall/{kind}/{name}.card", files[f"crate/{name}.card"]), _no(f"crate/{name}.card"))
        for name, kind in zip(names, kinds, strict=True)
    ]

    def solve() -> Solution:
        yield "mkdir -p hall/animals hall/music hall/ships hall/kitchen"
        for name, kind in zip(names, kinds, strict=True):
            yield f"cat crate/{name}.card"
            yield f"mv crate/{name}.card hall/{kind}/"

    by_kind = [[p for p, k in zip(placed, kinds, strict=True) if k == kind] for kind in sorted(set(kinds))]
    nothing_else = _only(f"hall/{kind}/{name}.card" for name, kind in zip(names, kinds, strict=True))
    checks = [every(*part) for part in by_kind]
    return Instance(
        "Each card of crate/ tells of a thing. Move every card into the room of hall/ where its thing belongs: "
        "animals, music, ships "
        "or kitchen, such as hall/ships/name.card. A card says it in its own words.",
        files,
        (
            *(
                Check(f"room {kind}", 0.5 / len(checks), check)
                for kind, check in zip(sorted(set(kinds)), checks, strict=True)
            ),
            Check("all cards, each in one room", 0.5, every(*checks, nothing_else)),
        ),
        solve,
    )


def _no(path: str) -> Callable[[State], bool]:
    return lambda state: state.read(path) is None


def _only(paths: object) -> Callable[[State], bool]:
    wanted = sorted(paths)  # type: ignore[call-overload]
    return lambda state: [path for path in state.files() if path.startswith(("hall/", "crate/"))] == wanted
