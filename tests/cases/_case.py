"""Checker shared by the case files in this folder.

A case file holds CALLS: a list of dicts with
  verb      the function of `adapter.py` to call
  inputs    its keyword arguments, plain JSON values only
  expected  the right answer, or {"raises": ["word", ...]} when the call must
            raise an exception whose text names every word
  wrong     answers of implementations known to be wrong, by name; each must differ
            from the right answer, or the case could not tell them apart
  tol       relative tolerance for numbers (1e-6 unless told)

`adapter.py` turns the plain inputs into what the real code wants, runs it, and returns
plain values. A verb that it lacks is skipped by name until the code exists.
"""

import math
import numbers

import pytest

DEFAULT_TOL = 1e-6


def _is_bool(x):
    return type(x).__name__ in ("bool", "bool_")


def mismatch(want, got, tol=DEFAULT_TOL, where="answer"):
    """None when got agrees with want, else a sentence saying where it does not."""
    if want is None:
        return None if got is None else f"{where}: wanted None, got {got!r}"
    if _is_bool(want):
        ok = _is_bool(got) and bool(got) == bool(want)
        return None if ok else f"{where}: wanted {want!r}, got {got!r}"
    if isinstance(want, numbers.Number):
        if _is_bool(got) or got is None or isinstance(got, (str, dict, list, tuple)):
            return f"{where}: wanted the number {want!r}, got {got!r}"
        value = float(got)
        if math.isnan(value) or abs(value - want) > tol * max(1.0, abs(want)):
            return f"{where}: wanted {want!r}, got {value!r}"
        return None
    if isinstance(want, str):
        return None if got == want else f"{where}: wanted {want!r}, got {got!r}"
    if isinstance(want, list):
        got = got.tolist() if hasattr(got, "tolist") else got
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return f"{where}: wanted a list of {len(want)}, got {got!r}"
        for i, (w, g) in enumerate(zip(want, got)):
            said = mismatch(w, g, tol, f"{where}[{i}]")
            if said:
                return said
        return None
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return f"{where}: wanted a dict, got {got!r}"
        for key, w in want.items():
            if key not in got:
                return f"{where}: no {key!r} in the answer"
            said = mismatch(w, got[key], tol, f"{where}.{key}")
            if said:
                return said
        return None
    raise TypeError(f"a case may not expect a {type(want).__name__}")


def run_call(adapter, call):
    """None when the adapter answers this call rightly, else a sentence."""
    verb, want = call["verb"], call["expected"]
    tol = call.get("tol", DEFAULT_TOL)
    words = want.get("raises") if isinstance(want, dict) else None
    try:
        got = getattr(adapter, verb)(**call["inputs"])
    except Exception as exc:  # the adapter may raise anything
        if words is None:
            return f"{verb} raised {exc!r}"
        missing = [w for w in words if w not in str(exc)]
        return f"the error does not name {missing}: {exc!r}" if missing else None
    if words is not None:
        return f"{verb} should have raised an error naming {words}; it returned {got!r}"
    return mismatch(want, got, tol, verb)


def check_call(call):
    from tests.cases import adapter

    if not hasattr(adapter, call["verb"]):
        pytest.skip(f"nothing here does {call['verb']} yet")
    assert run_call(adapter, call) is None


def check_arithmetic(calls, reference):
    """The right values follow from the arithmetic, and no listed wrong one passes."""
    for i, call in enumerate(calls):
        answer = run_call(_Namespace(reference), call)
        assert answer is None, f"call {i}: {answer}"
        for name, wrong in call.get("wrong", {}).items():
            stand_in = _Namespace({call["verb"]: lambda _w=wrong, **_: _w})
            assert run_call(stand_in, call) is not None, f"call {i}: {name} would pass"


class _Namespace:
    def __init__(self, functions):
        self.__dict__.update(functions)
