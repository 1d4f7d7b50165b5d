"""Random network distillation."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reward_envs.wrappers import RND, Batch, Rewarder, RewardError, Schedule, Spec
from reward_envs.wrappers.encode import features
from reward_envs.wrappers.state import export

BOX = Spec(gym.spaces.Box(-1, 1, (3,), np.float32))
SMALL = RND(width=16, outputs=8, learning_rate=1e-2, warmup=0)


def rows(obs: Any, **columns: Any) -> Batch:
    n = len(next(iter(obs.values())) if isinstance(obs, dict) else obs)
    return Batch.of(obs=obs, action=np.zeros(n), next_obs=obs, reward=np.zeros(n), **columns)


def draw(n: int, seed: int = 0, shift: float = 0.0) -> Any:
    return (np.random.default_rng(seed).uniform(-1, 1, (n, 3)) + shift).astype(np.float32)


def test_the_bonus_is_the_error_over_the_spread_of_its_returns() -> None:
    rewarder = Rewarder(SMALL, BOX, seed=0, schedule=Schedule(learn_every=10**6))
    values = rewarder.step(rows(draw(64))).values
    nets, bonus = rewarder.states
    frozen = Rewarder(SMALL, BOX, seed=0)  # the same networks, before any statistics
    errors = frozen.states[0].distillation.errors(np.clip(draw(64), -5, 5))
    f, running = [], 0.0
    for e in errors:
        running = 0.99 * running + e
        f.append(running)
    np.testing.assert_allclose(values, errors / np.sqrt(np.var(f) + 1e-8), rtol=1e-6)
    np.testing.assert_allclose(nets.mean, draw(64).mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(nets.var, draw(64).var(axis=0), rtol=1e-5)
    assert bonus.rows == 64


def test_statistics_of_many_batches_are_those_of_all_rows() -> None:
    rewarder = Rewarder(SMALL, BOX, seed=0)
    parts = [draw(n, seed=n, shift=n / 10) for n in (1, 7, 30)]
    for part in parts:
        rewarder.step(rows(part))
    together = np.concatenate(parts).astype(np.float64)
    np.testing.assert_allclose(rewarder.states[0].mean, together.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(rewarder.states[0].var, together.var(axis=0), rtol=1e-6)


def test_what_was_seen_often_pays_less_than_what_is_new() -> None:
    rewarder = Rewarder(SMALL, BOX, seed=0, schedule=Schedule(learn_every=64, minibatch=64, epochs=4))
    for k in range(60):
        rewarder.step(rows(draw(64, seed=k)))
    old = rewarder.score(rows(draw(200, seed=99))).values.mean()
    new = rewarder.score(rows(draw(200, seed=99, shift=4.0))).values.mean()
    assert new > 5 * old


def test_warm_up_pays_nothing_and_settles_the_statistics() -> None:
    rewarder = Rewarder("rnd(width=16, outputs=8, warmup=10)", BOX, seed=0)
    values = np.concatenate([rewarder.step(rows(draw(6, seed=k))).values for k in range(3)])
    assert (values[:10] == 0).all() and (values[10:] > 0).all()
    assert rewarder.states[0].count == 18


def test_a_predictor_that_is_the_target_pays_nothing() -> None:
    rewarder = Rewarder(SMALL, BOX, seed=0, schedule=Schedule(learn_every=10**6))
    nets = rewarder.states[0].distillation
    nets.predictor = nets.target
    assert rewarder.step(rows(draw(5))).values.tolist() == [0.0] * 5


def test_evaluation_moves_nothing() -> None:
    rewarder = Rewarder(SMALL, BOX, seed=0)
    rewarder.step(rows(draw(300)))
    before = str([export(s) for s in rewarder.states])
    frozen = rewarder.freeze()
    first, second = (frozen.step(rows(draw(300, seed=1))).values for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert str([export(s) for s in rewarder.states]) == before


def test_saved_and_loaded_goes_on_the_same() -> None:
    one, two = (Rewarder(SMALL, BOX, seed=s, schedule=Schedule(learn_every=50, minibatch=20)) for s in (1, 2))
    for k in range(3):
        one.step(rows(draw(40, seed=k)))
    two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
    for k in range(3, 6):
        np.testing.assert_array_equal(one.step(rows(draw(40, seed=k))).values, two.step(rows(draw(40, seed=k))).values)


def test_a_seed_decides_the_networks_and_torch_is_left_alone() -> None:
    import torch

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    a, b = (Rewarder(SMALL, BOX, seed=3).step(rows(draw(9))).values for _ in range(2))
    assert torch.equal(torch.rand(3), expected)
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(40, 48, 3), (4, 40, 48)])
def test_images_get_convolutions_either_way_round(shape: tuple[int, ...]) -> None:
    space = gym.spaces.Box(0, 255, shape, np.uint8)
    images = np.random.default_rng(0).integers(0, 255, (4, *shape), dtype=np.uint8)
    rewarder = Rewarder("rnd(width=8, outputs=4, warmup=0)", Spec(space), seed=0)
    assert (rewarder.step(rows(images)).values > 0).all()
    assert "Conv2d" in str(rewarder.states[0].distillation.target)


def test_observations_of_every_kind_become_features() -> None:
    space = gym.spaces.Dict(
        {
            "a": gym.spaces.Discrete(3, start=1),
            "b": gym.spaces.MultiDiscrete([2, 2]),
            "c": gym.spaces.Tuple((gym.spaces.MultiBinary(2), gym.spaces.Text(9))),
        }
    )
    obs = {
        "a": np.array([1, 3]),
        "b": np.array([[0, 1], [1, 0]]),
        "c": (np.array([[0, 1], [1, 1]]), np.array(["key", "key"], dtype=object)),
    }
    out = features(obs, space)
    assert out.shape == (2, 3 + 4 + 2 + 64)
    assert out[0, :9].tolist() == [1, 0, 0, 1, 0, 0, 1, 0, 1]
    assert out[1, :9].tolist() == [0, 0, 1, 0, 1, 1, 0, 1, 1]
    np.testing.assert_array_equal(out[0, 9:], out[1, 9:])
    assert np.linalg.norm(out[0, 9:]) == pytest.approx(1.0)
    assert Rewarder(SMALL, Spec(space), seed=0).step(rows(obs)).values.shape == (2,)
    with pytest.raises(RewardError, match="no features for a Graph space"):
        features(np.zeros(1), gym.spaces.Graph(gym.spaces.Discrete(2), None))


def test_without_a_space_or_with_wrong_fields_it_says_so() -> None:
    with pytest.raises(RewardError, match=r"hand Spec\(observation_space=...\)"):
        Rewarder("rnd")
    with pytest.raises(RewardError, match="warmup at least 0"):
        RND(warmup=-1)
