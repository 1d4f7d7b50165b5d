"""A workspace that the agent may write into, and its verifier, whose verdict the agent cannot write."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reward_envs.text.task import Grade, TaskError, guarded

VERDICT = "reward.txt"
Files = Mapping[str, str]
Verifier = Callable[[Files, dict[str, str]], Mapping[str, bool]]


def graded(files: Files, verifier: Verifier) -> Grade:
    """The verifier's grade of a workspace, once the agent has stopped.

    The verifier is called as `verifier(files, out)`. `files` are copies of the agent's; a file among them that is
    called like a verdict is read as any other. `out` is an empty folder that the agent has never seen: if the verifier
    writes a number there as "reward.txt", that number is the score, else the checks that it returns weigh the same.

    Raises TaskError where the verifier raises, returns no checks and writes no verdict, or writes what is no number in
    [0, 1]: nothing is clamped, and nothing becomes 0.

    >>> def tests(files, out):
    ...     return {"there": "answer.txt" in files, "right": files.get("answer.txt") == "42"}
    >>> graded({"answer.txt": "41", "reward.txt": "1.0"}, tests).score
    0.5
    """
    out: dict[str, str] = {}
    checks = guarded("the verifier", verifier, dict(files), out)
    return Grade.share(_number(out[VERDICT])) if VERDICT in out else Grade.equal(checks)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TaskError(f"the verifier wrote {text[:40]!r} as its verdict: it is a number in [0, 1].") from None
