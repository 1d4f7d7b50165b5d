"""Hashes and visit counts against their twins, and rows a person can redo."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import numba
import numpy as np
import pytest
from hypothesis import given, settings

from reward_envs.kernels import counts
from tests import naive

checked = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)
I64, U64, BOOL = np.int64, np.uint64, np.bool_


def keys(*values):
    return np.array(values, U64)


def look_up(table, query):
    out = np.empty(query.size, I64)
    counts.lookup_ranked(table[0], table[1], query, out)
    return out.tolist()


def stored(table):
    used = table[1] > 0
    return Counter(dict(zip(table[0][used].tolist(), table[1][used].tolist(), strict=True)))


# hashes


def test_mix_golden_first_number_of_splitmix64_from_seed_0():
    assert int(counts.mix64(np.uint64(0x9E3779B97F4A7C15))) == 0xE220A8397B1DCDAF
    assert int(counts.mix64(1)) == naive.mix64(1) == 0x5692161D100B05E5


def test_hash_golden_one_word():
    got = counts.hash_rows(np.array([[1, 0, 0, 0, 0, 0, 0, 0]], np.uint8))
    assert int(got[0]) == naive.mix64(naive.mix64(8) ^ 1)


@checked
@given(seeds, st.integers(0, 6), st.integers(0, 40))
def test_hash_equals_twin(seed, n, width):
    rows = np.random.default_rng(seed).integers(0, 256, (n, width)).astype(np.uint8)
    assert counts.hash_rows(rows).tolist() == naive.hash_rows(rows)


def test_hash_tells_apart_single_bits_lengths_and_orders():
    bits = np.packbits(np.eye(8 * 20, dtype=np.uint8), axis=1)
    zeros = [counts.hash_rows(np.zeros((1, width), np.uint8))[0] for width in range(40)]
    order = counts.hash_rows(np.array([[1] * 8 + [2] * 8, [2] * 8 + [1] * 8], np.uint8))
    for hashes, n in ((counts.hash_rows(bits), 160), (np.array(zeros), 40), (order, 2)):
        assert len(set(hashes.tolist())) == n


def test_hash_flips_half_of_the_bits():
    rows = np.zeros((2000, 24), np.uint8)
    rows[:, 3] = np.arange(2000) % 256
    rows[:, 20] = np.arange(2000) // 256
    bits = np.unpackbits(counts.hash_rows(rows).view(np.uint8).reshape(-1, 8), axis=1)
    assert abs(bits.mean(axis=0) - 0.5).max() < 0.06  # five standard errors


def test_simhash_golden():
    projection = np.array([[1.0, 0, -1], [0, 1, 0]])
    features = np.array([[1.0, 1], [-1, 1], [0, 0], [1, -1]])
    assert counts.simhash(features, projection).tolist() == [0b011, 0b110, 0, 0b001]


@checked
@given(seeds, st.integers(0, 5), st.integers(1, 10), st.integers(0, 64), st.sampled_from([np.float32, np.float64]))
def test_simhash_equals_twin(seed, n, d, k, dtype):
    rng = np.random.default_rng(seed)
    features, projection = rng.integers(-3, 4, (n, d)).astype(dtype), rng.integers(-3, 4, (d, k)).astype(dtype)
    assert counts.simhash(features, projection).tolist() == naive.simhash(features, projection)


def test_simhash_of_a_row_does_not_depend_on_the_others():
    rng = np.random.default_rng(0)
    features, projection = rng.normal(size=(50, 147)).astype(np.float32), rng.normal(size=(147, 64))
    alone = [counts.simhash(features[i : i + 1], projection)[0] for i in range(50)]
    assert counts.simhash(features, projection).tolist() == alone


def test_simhash_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="the two D differ"):
        counts.simhash(np.zeros((2, 3)), np.zeros((4, 8)))
    with pytest.raises(ValueError, match="at most 64 columns"):
        counts.simhash(np.zeros((2, 3)), np.zeros((3, 65)))


# lifelong counts


def test_lookup_golden_counts_the_present_visit_and_ranks_equal_rows():
    table = counts.add(counts.empty_table(), keys(5, 5, 7))
    assert look_up(table, keys(5, 9, 5, 9, 7)) == [3, 1, 4, 2, 2]
    assert look_up(table, keys(5, 9, 5, 9, 7)) == [3, 1, 4, 2, 2]
    assert stored(table) == {5: 2, 7: 1}


def test_keys_that_share_the_last_slot_wrap_around():
    last = [k for k in range(5000) if naive.mix64(k) % 64 == 63][:10]
    table = counts.add(counts.empty_table(), keys(*last, *last[::2]))
    assert table[0].size == 64
    assert stored(table) == Counter(last) + Counter(last[::2])
    assert look_up(table, keys(*last)) == [3, 2] * 5


def test_the_extreme_keys_are_keys_like_others():
    table = counts.add(counts.empty_table(2), keys(0, 2**64 - 1, 0))
    assert stored(table) == {0: 2, 2**64 - 1: 1}


def test_insert_stops_at_half_full_and_grow_keeps_the_counts():
    table_keys, table_counts, _ = counts.empty_table(4)
    used, done = counts.insert(table_keys, table_counts, 0, keys(1, 1, 2, 1, 3, 4))
    assert (used, done) == (2, 4)
    grown = counts.grow(table_keys, table_counts)
    assert grown[0].size == 8
    assert stored((*grown, used)) == {1: 3, 2: 1}


def test_table_refuses_a_capacity_that_is_no_power_of_two():
    for capacity in (0, 1, 3, 48):
        with pytest.raises(ValueError, match="power of two"):
            counts.empty_table(capacity)


@checked
@given(seeds, st.lists(st.integers(0, 60), max_size=6))
def test_table_equals_twin_however_it_is_cut(seed, sizes):
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2**64, size=80, dtype=U64)
    table, counter, whole = counts.empty_table(2), Counter(), []
    for n in sizes:
        query = rng.choice(pool, n)
        whole.append(query)
        assert look_up(table, query) == naive.lookup_ranked(counter, query)
        table = counts.add(table, query)
        counter.update(query.tolist())
    at_once = counts.add(counts.empty_table(2), np.concatenate([keys(), *whole]))
    assert stored(table) == stored(at_once) == counter
    assert table[2] == at_once[2] == len(counter)
    assert table[0].size == at_once[0].size
    assert 2 * table[2] <= table[0].size


# episodic counts


def episodic(memory, query, stream=None, first=None):
    n = len(query)
    stream = np.zeros(n, I64) if stream is None else np.array(stream, I64)
    first = np.zeros(n, BOOL) if first is None else np.array(first, BOOL)
    out, memory = counts.count_episodic(memory, np.array(query, U64), stream, first)
    return out.tolist(), memory


def test_episodic_golden():
    got, memory = episodic(counts.empty_memory(1), [5, 5, 6, 5, 5], first=[1, 0, 0, 1, 0])
    assert got == [1, 2, 1, 1, 2]
    assert episodic(memory, [5, 6])[0] == [3, 1]


def test_episodic_golden_streams_do_not_mix():
    assert episodic(counts.empty_memory(2), [5, 5, 5, 5], stream=[0, 1, 0, 1])[0] == [1, 1, 2, 2]


def test_episodic_kernel_says_the_needed_length_and_changes_nothing():
    seen, begin, cursor = np.zeros((2, 2), U64), np.zeros(2, I64), np.array([1, 0])
    out = np.full(3, -1)
    stream, first = np.array([0, 0, 1]), np.ones(3, BOOL)
    assert counts.episodic_ranked(seen, begin, cursor, keys(1, 2, 3), stream, first, out) == 3
    assert (cursor.tolist(), begin.tolist(), out.tolist(), seen.sum()) == ([1, 0], [0, 0], [-1] * 3, 0)


def draw_episodes(seed, n, streams=3, share=0.1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 6, n).astype(U64), rng.integers(0, streams, n), rng.random(n) < share


@checked
@given(seeds, st.lists(st.integers(0, 90), max_size=6), st.sampled_from([0.0, 0.02, 0.3]))
def test_episodic_equals_twin_however_it_is_cut(seed, sizes, share):
    query, stream, first = draw_episodes(seed, sum(sizes), share=share)
    memory, got, at = counts.empty_memory(3), [], 0
    for n in sizes:
        part = slice(at, at + n)
        out, after = counts.count_episodic(memory, query[part], stream[part], first[part])
        counts.count_episodic(memory, query[part] + U64(1), stream[part], ~first[part])  # a score that is thrown away
        again, memory = counts.count_episodic(memory, query[part], stream[part], first[part])
        assert out.tolist() == again.tolist()
        np.testing.assert_array_equal(after[2] - after[1], memory[2] - memory[1])
        got += out.tolist()
        at += n
    assert got == naive.episodic_ranked(query, stream, first)


def test_episodic_scoring_twice_is_the_same_over_an_end_within_the_batch():
    _, memory = episodic(counts.empty_memory(1), [1, 2, 3])
    before = [a.copy() for a in memory]
    first = [0, 1, 0, 0]
    assert episodic(memory, [1, 9, 9, 1], first=first)[0] == episodic(memory, [1, 9, 9, 1], first=first)[0]
    for now, then, visible in zip(memory, before, (np.s_[:, :3], np.s_[:], np.s_[:]), strict=True):
        np.testing.assert_array_equal(now[visible], then[visible])


def test_episodic_memory_is_bounded_on_a_long_stream():
    memory, got = counts.empty_memory(1), []
    for episode in range(40):
        out, memory = episodic(memory, [episode % 2] * 30, first=[1] + [0] * 29)
        got.append(out)
    assert got == [list(range(1, 31))] * 40
    assert memory[0].shape[1] <= 256


# inside another compiled function


@numba.njit
def all_at_once(rows, features, projection):
    hashed, rough = counts.hash_rows(rows), counts.simhash(features, projection)
    table_keys, table_counts = np.zeros(64, np.uint64), np.zeros(64, np.int64)
    used, done = counts.insert(table_keys, table_counts, 0, hashed)
    n = hashed.size
    lifelong, within = np.empty(n, np.int64), np.empty(n, np.int64)
    counts.lookup_ranked(table_keys, table_counts, rough, lifelong)
    stream, first = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    need = counts.episodic_ranked(
        np.zeros((1, 64), np.uint64), np.zeros(1, np.int64), np.zeros(1, np.int64), hashed, stream, first, within
    )
    return hashed, rough, lifelong, within, counts.mix64(hashed[0]), (used, done, need)


def test_kernels_run_inside_compiled_code():
    rng = np.random.default_rng(0)
    args = rng.integers(0, 2, (10, 3)).astype(np.uint8), rng.normal(size=(10, 4)), rng.normal(size=(4, 3))
    for compiled, python in zip(all_at_once(*args), all_at_once.py_func(*args), strict=True):
        np.testing.assert_array_equal(compiled, python)
