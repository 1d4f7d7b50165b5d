"""Slow twins of the kernels, written from their definitions and in another way than the kernels."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

M64 = 2**64 - 1


# returns


def discounted_filter(values: Any, stream: Any, restart: Any, gamma: float, acc: Any) -> Any:
    """(out, acc): each entry as an explicit sum over the known rows since the last reset, newest weighted 1."""
    past = {s: [float(a)] for s, a in enumerate(acc)}
    out = []
    for v, s, again in zip(values, stream, restart, strict=True):
        if again:
            past[s] = [0.0]
        if math.isnan(v):
            out.append(math.nan)
        else:
            past[s].append(float(v))
            out.append(math.fsum(gamma**age * old for age, old in enumerate(reversed(past[s]))))
    return out, [math.fsum(gamma**age * old for age, old in enumerate(reversed(p))) for p in past.values()]


def moments(values: Sequence[float]) -> tuple[float, float, float]:
    """(count, mean, population variance) of all known values at once."""
    known = [float(v) for v in values if not math.isnan(v)]
    if not known:
        return 0.0, 0.0, 0.0
    mean = math.fsum(known) / len(known)
    return float(len(known)), mean, math.fsum((v - mean) ** 2 for v in known) / len(known)


def gae(r: Any, v: Any, nv: Any, term: Any, trunc: Any, gamma: float, lam: float) -> Any:
    """Every advantage as a forward sum of (gamma lam)^l delta_{t+l}, up to the end of its episode."""
    delta = r + gamma * np.where(term, 0.0, nv) - v
    out = np.zeros_like(delta)
    for t, i in np.ndindex(*delta.shape):
        for later in range(t, len(delta)):
            out[t, i] += (gamma * lam) ** (later - t) * delta[later, i]
            if term[later, i] or trunc[later, i]:
                break
    return out


def discounted_returns(r: Any, nv: Any, term: Any, trunc: Any, gamma: float) -> Any:
    """Every return as a forward sum of gamma^l r_{t+l}, plus the bootstrap where the episode was not over."""
    out = np.zeros_like(r)
    for t, i in np.ndindex(*r.shape):
        last = t
        while last < len(r) - 1 and not (term[last, i] or trunc[last, i]):
            last += 1
        out[t, i] = sum(gamma ** (k - t) * r[k, i] for k in range(t, last + 1))
        if not term[last, i]:
            out[t, i] += gamma ** (last + 1 - t) * nv[last, i]
    return out


def episode_sums(values: Any, index: Any, n: int) -> list[float]:
    return [math.fsum(v for v, e in zip(values, index, strict=True) if e == k) for k in range(n)]


def episode_counts(index: Any, n: int) -> list[int]:
    return [list(index).count(k) for k in range(n)]


def hold_until_end(values: Any, stream: Any, first: Any, ended: Any, every: int, pending: Any, elapsed: Any) -> Any:
    """(out, pending, elapsed): lists of what each stream holds back, the part from before first."""
    store = [[float(p)] for p in pending]
    ages = [[None] * int(e) for e in elapsed]
    out = [0.0] * len(values)
    for i, s in enumerate(stream):
        if first[i]:
            store[s], ages[s] = [], []
        store[s].append(values[i])
        ages[s].append(None)
        if ended[i] or (every > 0 and len(ages[s]) >= every):
            out[i], store[s], ages[s] = sum(store[s]), [], []
    return out, [sum(kept) for kept in store], [len(a) for a in ages]


# shaping


def potential_difference(phi: Any, terminated: Any, gamma: float) -> Any:
    before, after = np.split(np.asarray(phi, float), 2)
    return gamma * np.where(terminated, 0.0, after) - before


def milestones(now: Any, nxt: Any, first: Any, stream: Any, weights: Any, paid: Any) -> Any:
    """(out, paid), with a set of paid flags for each stream."""
    done = [set(np.flatnonzero(row).tolist()) for row in paid]
    out = []
    for i, s in enumerate(stream):
        if first[i]:
            done[s] = {k for k, x in enumerate(now[i]) if x > 0.5}
        new = {k for k, x in enumerate(nxt[i]) if x > 0.5} - done[s]
        done[s] |= new
        out.append(math.fsum(weights[k] for k in new))
    return out, [[k in row for k in range(len(weights))] for row in done]


def best_gain(now: Any, nxt: Any, first: Any, stream: Any, best: Any) -> Any:
    """(out, best), with all known levels of each running episode kept."""
    levels = [[float(b)] if not math.isnan(b) else [] for b in best]
    out = []
    for i, s in enumerate(stream):
        if first[i]:
            levels[s] = []
        if not levels[s] and not math.isnan(now[i]):
            levels[s] = [now[i]]
        if math.isnan(nxt[i]):
            out.append(math.nan)
            continue
        out.append(max(0.0, nxt[i] - max(levels[s], default=nxt[i])))
        levels[s].append(nxt[i])
    return out, [max(seen, default=math.nan) for seen in levels]


# counts


def mix64(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
    return x ^ x >> 31


def hash_rows(rows: Any) -> list[int]:
    out = []
    for row in rows:
        data = bytes(row.tolist())
        h = mix64(len(data))
        while data:
            h, data = mix64(h ^ int.from_bytes(data[:8], "little")), data[8:]
        out.append(h)
    return out


def simhash(features: Any, projection: Any) -> list[int]:
    signs = np.asarray(features, float) @ np.asarray(projection, float) > 0
    return [int("0" + "".join("01"[b] for b in row[::-1]), 2) for row in signs.astype(int).tolist()]


def lookup_ranked(stored: Counter[int], query: Any) -> list[int]:
    counter = Counter(stored)
    out = []
    for key in query:
        counter[int(key)] += 1
        out.append(counter[int(key)])
    return out


def episodic_ranked(query: Any, stream: Any, first: Any) -> list[int]:
    """Each row against all rows before it, from empty episodes."""
    out = []
    for i in range(len(query)):
        visits = 1
        for j in range(i, -1, -1):
            if stream[j] != stream[i]:
                continue
            visits += j < i and query[j] == query[i]
            if first[j]:
                break
        out.append(visits)
    return out


# tabular


def q_values(transition: Any, reward: Any, terminal: Any, gamma: float, values: Any) -> Any:
    """q[s, a] of the values that follow, by loops over the dense arrays; 0 at terminal states."""
    n, k, _ = transition.shape
    q = np.zeros((n, k))
    for s, a, s2 in np.ndindex(n, k, n):
        if not terminal[s]:
            q[s, a] += transition[s, a, s2] * (reward[s, a, s2] + gamma * values[s2] * (not terminal[s2]))
    return q


def value_iteration(transition: Any, reward: Any, terminal: Any, gamma: float, sweeps: int) -> Any:
    """q after a fixed number of sweeps over dense arrays."""
    pay = (transition * reward).sum(axis=2)
    goes_on = transition * ~np.asarray(terminal)
    q = np.zeros_like(pay)
    for _ in range(sweeps):
        q = np.where(np.asarray(terminal)[:, None], 0.0, pay + gamma * np.einsum("kas,s->ka", goes_on, q.max(axis=1)))
    return q


def linear_solve(transition: Any, reward: Any, terminal: Any, gamma: float, policy: Any) -> Any:
    """Values of a policy from (I - gamma P) v = r."""
    alive = ~np.asarray(terminal)
    p = np.einsum("ka,kas->ks", policy, transition) * alive[:, None] * alive[None]
    r = np.einsum("ka,kas,kas->k", policy, transition, reward) * alive
    return np.linalg.solve(np.eye(len(p)) - gamma * p, r)


def smoothed(values: Any, order: Any, first: Any, weight: Callable[[int], float]) -> list[float]:
    """Every pair of rows of a segment, one by one."""
    out = [0.0] * len(values)
    for begin, end in itertools.pairwise(first):
        rows = [int(r) for r in order[begin:end]]
        for i, source in enumerate(rows):
            share = [weight(t - i) for t in range(len(rows))]
            for t, target in enumerate(rows):
                out[target] += float(values[source]) * share[t] / sum(share)
    return out


# maze


def maze_ways(free: Any, start: tuple[int, int], fine: int) -> dict[tuple[int, int], float]:
    """Ways from one point of a fine grid to all others, in cells, by Dijkstra over 32 directions.

    free[i, j] are the cells, `fine` the points along a cell's side; a point lies in the middle of its square. Ways are
    at most 1.4 % longer than among all directions, and miss corners by up to a square.
    """
    moves = [(a, b) for a in range(-3, 4) for b in range(-3, 4) if math.gcd(a, b) == 1]

    def clear(i: int, j: int, a: int, b: int, aside: float) -> bool:
        y, x = i + 0.5 - aside * b, j + 0.5 + aside * a
        along = [((y + a * s / 24) / fine, (x + b * s / 24) / fine) for s in range(25)]
        return all(free[math.floor(y), math.floor(x)] for y, x in along)

    found: dict[tuple[int, int], float] = {}
    queue = [(0.0, start)]
    while queue:
        length, (i, j) = heapq.heappop(queue)
        if (i, j) in found:
            continue
        found[i, j] = length
        for a, b in moves:
            # A way may touch a corner, but not go between two that touch.
            if (i + a, j + b) not in found and (clear(i, j, a, b, 1e-6) or clear(i, j, a, b, -1e-6)):
                heapq.heappush(queue, (length + math.hypot(a, b) / fine, (i + a, j + b)))
    return found


# text


def hashed_ngrams(text: str, low: int, high: int, words: int, size: int) -> Any:
    """Signed counts of n-grams, each hashed by 64-bit FNV-1a on Python's integers."""
    grams = [(n, text[i : i + n]) for n in range(low, high + 1) for i in range(len(text) - n + 1)]
    parts = text.replace("\n", " ").replace("\t", " ").split(" ")
    parts = [p for p in parts if p]
    grams += [(255, " ".join(parts[i : i + n])) for n in range(1, words + 1) for i in range(len(parts) - n + 1)]
    out = np.zeros(size)
    for kind, gram in grams:
        h = 0xCBF29CE484222325
        for code in (kind, *map(ord, gram)):
            h = (h ^ code) * 0x100000001B3 & M64
        h ^= h >> 32
        out[(h >> 1) % size] += 1.0 if h & 1 else -1.0
    return out
