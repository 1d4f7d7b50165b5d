"""relabel, relabel_rows and Minari's shape of episodes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from reward_envs.wrappers import Batch, RewardError, Task, from_minari, relabel, relabel_rows


def rows(n: int = 6) -> Batch:
    return Batch.of(
        obs=np.arange(n),
        action=np.zeros(n),
        next_obs=np.arange(1, n + 1),
        reward=np.arange(n),
        terminated=np.arange(n) % 3 == 2,
    )


def test_relabel_serves_every_scope() -> None:
    assert relabel(rows(), "2*task").values.tolist() == [0, 2, 4, 6, 8, 10]
    assert relabel(rows(), "uniform").values.tolist() == [1, 1, 1, 4, 4, 4]
    assert relabel(rows(), "leave_one_out").values.tolist() == [-9] * 3 + [9] * 3


def test_relabel_leaves_the_batch_alone() -> None:
    batch = rows()
    before = batch.copy()
    relabel(batch, "task + count + delay(name=late)")
    for name, column in before.columns().items():
        if isinstance(column, np.ndarray):
            np.testing.assert_array_equal(batch.columns()[name], column)


def test_cut_hands_over_rows_as_a_vector_environment_would() -> None:
    whole, cut = relabel(rows(), "task + count"), relabel(rows(), "task + count", cut=2)
    np.testing.assert_array_equal(whole.values, cut.values)
    with pytest.raises(RewardError, match="uniform must see whole episodes: leave cut out"):
        relabel(rows(), "uniform", cut=2)


def test_unknown_rows_stay_unknown() -> None:
    batch = Batch.of(obs=[0, 1], action=[0, 0], next_obs=[1, 2], reward=[np.nan, 1.0])
    assert relabel(batch, "task").known.tolist() == [False, True]


def test_empty_batch_gives_no_values() -> None:
    assert relabel(rows().rows(np.array([], dtype=int)), "task + count").values.shape == (0,)


def test_relabel_rows_takes_relabellers_only() -> None:
    with pytest.raises(RewardError, match="takes a relabeller such as Hindsight"):
        relabel_rows(rows(), Task())  # type: ignore[arg-type]


def test_minari_episodes_become_rows_with_hooks() -> None:
    episode = SimpleNamespace(
        observations={"x": np.arange(4.0)},
        actions=np.zeros(3),
        rewards=np.array([0.0, 0.0, 1.0]),
        terminations=np.array([False, False, True]),
        truncations=np.zeros(3, bool),
        infos={"progress": np.array([0.0, 0.2, 0.5, 1.0]), "note": np.array(["a"])},
    )
    batch = from_minari([episode, episode])
    assert batch.next_obs["x"].tolist() == [1, 2, 3] * 2
    assert batch.t.tolist() == [0, 1, 2] * 2
    assert list(batch.info) == ["progress"]
    np.testing.assert_allclose(relabel(batch, "progress").values, [0.2, 0.3, 0.5] * 2)
    with pytest.raises(RewardError, match="no episodes"):
        from_minari([])
