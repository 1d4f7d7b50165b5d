"""Random words, numbers and names of generated tasks, with other words in each split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
SPLITS = ("train", "validation", "test")

# In each split the words at its own places: what is generated there names a word that no other split has.
WORDS = """
    acorn adobe agate alder amber anvil apple apron arbor arrow aspen atlas attic autumn badge bagel balsa
    bamboo banjo barley basil basin beacon beaver birch bison bloom bobbin bonnet border bottle boulder bramble brass
    brick bridge bronze brook bucket bugle butter button cabin cable cactus camel candle canoe canyon carbon cargo
    carpet castle cedar cellar chalk cherry chisel cider cinder circle citrus clover cobalt cobble cocoa comet compass
    copper coral cotton cradle crane crater cricket crimson crown crystal cuckoo currant cymbal daisy damson delta
    denim desert diesel dolphin dragon drawer dune eagle easel ebony elbow elder ember emerald engine falcon
    feather fennel fern fiddle finch flagon flint flute forest fossil fountain fox galley garden garlic garnet gazelle
    ginger glacier globe goblet granite grape gravel grotto guitar gull hammer harbor harvest hazel heather helmet
    heron hickory honey hornet iguana indigo iris island ivory jacket jasmine jasper juniper kayak kernel kettle kiosk
    kite ladder lagoon lantern larch laurel lemon lichen lilac linen lizard lobster locket lotus magnet mallow mango
    maple marble market marsh meadow melon mercury meteor mill mineral mirror mitten monsoon mortar mosaic moss moth
    muffin mulberry mustard napkin nectar needle nettle nickel nutmeg oasis ocean olive onyx opal orchid otter oyster
    paddle pagoda palm panther papaya parade parrot pebble pelican pepper piano pigeon pillar pine planet plaza plum
    pocket pollen poplar portal prairie puffin pumice quartz quill quilt rabbit radish raft raisin raven reef ribbon
    river robin rocket rose ruby saddle saffron salmon sandal sapphire satin scarf shadow shell silver sky slate
    sorrel sparrow spice spruce squash stable stone summit sunset tango teapot temple thistle thunder tiger timber
    topaz torch tower trellis trout tulip tunnel turnip turtle umber valley vanilla velvet violet walnut walrus water
    willow window winter yarrow zebra zephyr zinc
""".split()  # noqa: SIM905
PEOPLE = """
    ada ben cleo dan eve finn gail hugo ines jon kim leo mia ned olga pam quin rosa sam tess uma vic wim zoe
""".split()  # noqa: SIM905


_PROSE = 24  # words of a split that only prose is made of


class Draw:
    """A seeded source of what a task is made of.

    Parameters
    ----------
    rng
        The generator.
    split
        train, validation or test: which third of the words is drawn from.
    """

    def __init__(self, rng: np.random.Generator, split: str = "train") -> None:
        if split not in SPLITS:
            raise ValueError(f"split={split!r}: it is one of {', '.join(SPLITS)}.")
        self.rng = rng
        own = WORDS[SPLITS.index(split) :: len(SPLITS)]
        self._words, self._prose = own[_PROSE:], own[:_PROSE]
        self._left: list[str] = []

    def words(self, n: int) -> list[str]:
        """So many different words of the split, and others than those before while there are any."""
        if len(self._left) < n:
            self._left = self.mixed(self._words)
        taken, self._left = self._left[:n], self._left[n:]
        return taken

    def word(self) -> str:
        return self.words(1)[0]

    def people(self, n: int) -> list[str]:
        """So many different first names."""
        return [PEOPLE[i] for i in self.rng.permutation(len(PEOPLE))[:n]]

    def number(self, low: int, high: int) -> int:
        """Any of low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def numbers(self, n: int, low: int, high: int) -> list[int]:
        """So many different ones."""
        return [int(x) + low for x in self.rng.permutation(high - low + 1)[:n]]

    def pick(self, of: Sequence[T]) -> T:
        return of[int(self.rng.integers(len(of)))]

    def mixed(self, of: Sequence[T]) -> list[T]:
        """The same in a random order."""
        return [of[i] for i in self.rng.permutation(len(of))]

    def prose(self, n: int, length: int = 6) -> list[str]:
        """So many lines of words that `words` does not give."""
        return [" ".join(self.pick(self._prose) for _ in range(length)) for _ in range(n)]
