"""Every template: the reference solution scores 1, nothing done scores 0, and nobody is paid for what others did."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from reward_envs.text.terminal.draw import SPLITS, WORDS
from reward_envs.text.terminal.packs import PACKS, TEMPLATES, draw_instance
from reward_envs.text.terminal.template import as_bytes
from tests.text.terminal.folder import Folder, solution

CUES, LONG = list(PACKS["cues"]), list(PACKS["long"])


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_the_solution_scores_one_and_nothing_scores_nothing(name: str, split: str, tmp_path: Path) -> None:
    for seed in range(2):
        instance = draw_instance(name, seed, split)
        assert sum(check.weight for check in instance.checks) == pytest.approx(1.0, abs=1e-12)
        assert len({check.name for check in instance.checks}) == len(instance.checks)
        (root := tmp_path / str(seed)).mkdir()
        workspace = Folder(root, instance)
        assert workspace.score == 0.0
        workspace.run(solution(instance))
        assert workspace.score == pytest.approx(1.0, abs=1e-12), instance.passed(workspace)
        assert instance.passed(workspace) == instance.passed(workspace)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_seed_makes_the_instance(name: str) -> None:
    first, again = draw_instance(name, 5), draw_instance(name, 5)
    assert first.instructions == again.instructions and dict(first.files) == dict(again.files)
    drawn = [draw_instance(name, seed) for seed in range(6)]
    assert len({str(instance.files) + instance.instructions for instance in drawn}) == 6


@pytest.mark.parametrize("name", TEMPLATES)
def test_splits_have_words_of_their_own(name: str) -> None:
    for at, split in enumerate(SPLITS):
        own, found = set(WORDS[at :: len(SPLITS)]), set()
        for seed in range(3):
            instance = draw_instance(name, seed, split)
            texts = [
                instance.instructions,
                *instance.files,
                *(as_bytes(c).decode("latin-1") for c in instance.files.values()),
            ]
            found |= set(re.findall("[a-z]+", " ".join(texts).lower())) & set(WORDS)
        assert found and found <= own, found - own


@pytest.mark.parametrize("name", [n for n in TEMPLATES if draw_instance(n, 0).keep])
def test_who_changes_what_must_stay_is_paid_nothing(name: str, tmp_path: Path) -> None:
    instance = draw_instance(name, 1)
    workspace = Folder(tmp_path, instance)
    workspace.run([*solution(instance), f"echo >> '{instance.keep[0]}'"])
    assert workspace.score == 0.0


@pytest.mark.parametrize(("name", "first"), [("release", 0), ("sum-by-group", 0), ("slowest-request", 0)])
def test_the_order_of_independent_steps_does_not_matter(name: str, first: int, tmp_path: Path) -> None:
    instance = draw_instance(name, 2)
    steps = solution(instance)
    steps[first], steps[first + 1] = steps[first + 1], steps[first]
    workspace = Folder(tmp_path, instance)
    workspace.run(steps)
    assert workspace.score == pytest.approx(1.0)


def test_subtasks_are_paid_one_by_one(tmp_path: Path) -> None:
    instance = draw_instance("release", 0)
    workspace, scores = Folder(tmp_path, instance), []
    for step in solution(instance):
        workspace.run([step])
        scores.append(workspace.score)
    assert scores == pytest.approx([0.25, 0.5, 0.75, 1.0])


def test_the_property_of_graded_long_work(tmp_path: Path) -> None:
    """Weights sum to 1; 1 for the reference, 0 for nothing; more checks passed never score less, so that more pass at a
    lower threshold and the mean score is at least the share that pass in full."""
    rng, scores = np.random.default_rng(0), []
    for i, name in enumerate([*LONG, "release", "inventory", "sum-program", "rotate-logs"] * 3):
        instance = draw_instance(name, i)
        steps = solution(instance)
        (root := tmp_path / str(i)).mkdir()
        workspace, passed, before = Folder(root, instance), set(), 0.0
        assert workspace.score == 0.0
        done = steps[: int(rng.integers(len(steps) + 1))] if i % 3 else steps
        for part in np.array_split(np.array(done, object), 3):
            workspace.run(part.tolist())
            now = {c.name for c, ok in zip(instance.checks, instance.passed(workspace), strict=True) if ok}
            assert workspace.score >= before or not passed <= now
            passed, before = now, workspace.score
        scores.append(workspace.score)
        assert i % 3 or workspace.score == pytest.approx(1.0)
    at = lambda threshold: np.mean(np.array(scores) >= threshold - 1e-9)  # noqa: E731
    assert at(0.5) >= at(0.95) >= at(1.0) > 0 and np.mean(scores) >= at(1.0)


@pytest.mark.parametrize("name", LONG)
def test_long_work_takes_many_commands_and_cannot_be_written_down_before(name: str, tmp_path: Path) -> None:
    plans = [solution(draw_instance(name, seed)) for seed in range(4)]
    assert all(len(plan) > 50 for plan in plans)
    for seed in range(3):
        (root := tmp_path / str(seed)).mkdir()
        workspace = Folder(root, draw_instance(name, seed))
        workspace.run(plans[seed + 1])
        assert workspace.score < 0.5


@pytest.mark.parametrize("name", CUES)
def test_the_property_of_cues_and_distractors(name: str, tmp_path: Path) -> None:
    """Who follows everything is capable and not aligned, who ignores everything guesses, the oracle is both."""
    for seed in range(4):
        instance = draw_instance(name, seed)
        distractor, right = instance.distractor, solution(instance)[-1]
        assert distractor is not None and len(set(instance.guesses)) == 4 and right in instance.guesses
        where = [p for p, c in instance.files.items() if instance.cue in as_bytes(c).decode()]
        assert len(where) == 1 and distractor.command in as_bytes(instance.files[where[0]]).decode()

        def played(label: str, commands: list[str]) -> tuple[float, bool]:
            (root := tmp_path / f"{seed}-{label}").mkdir()  # noqa: B023
            workspace = Folder(root, instance)  # noqa: B023
            workspace.run(commands)
            return workspace.score, distractor.followed(workspace)  # noqa: B023

        assert played("oracle", [right]) == (1.0, False)
        assert played("everything", [distractor.command, right]) == (1.0, True)
        guessed = [played(f"guess{i}", [guess]) for i, guess in enumerate(instance.guesses)]
        assert sorted(guessed) == [(0.0, False)] * 3 + [(1.0, False)]


@pytest.mark.parametrize("name", CUES)
def test_without_the_cue_no_option_stands_out(name: str) -> None:
    """Each option is right equally often, and the files beside the artefact name all of them alike."""
    right = [draw_instance(name, seed).guesses.index(solution(draw_instance(name, seed))[-1]) for seed in range(200)]
    assert min(right.count(i) for i in range(4)) > 25
    instance = draw_instance(name, 0)
    others = [
        f"{path} {as_bytes(c).decode()}"
        for path, c in instance.files.items()
        if instance.cue not in as_bytes(c).decode()
    ]
    options = [set(re.findall("[a-z0-9]+", guess)) for guess in instance.guesses]
    common = set.intersection(*options)
    named = [sum(bool((option - common) & set(re.findall("[a-z0-9]+", o))) for o in others) for option in options]
    assert len(set(named)) == 1
