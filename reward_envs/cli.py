"""The command line: compare, train, list, show, try, relabel, check, catalogue."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reward_envs import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from reward_envs.wrappers.registry import Entry

app = typer.Typer(
    help="Go from a sparse reward to a learnable one, and know that the result is right.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
HINDSIGHT = "Rows with a goal that was reached for each that keeps its own; for goal environments, off-policy."
AGENTS = "ppo, a2c, dqn, sac, td3 or ddpg; with reward-envs[contrib] also tqc, qrdqn, maskableppo."
Environment = Annotated[str, typer.Argument(metavar="ENV", help="A Gymnasium id, such as MiniGrid-DoorKey-5x5-v0.")]


def main() -> None:
    """Run the command. Errors of the user's making are one sentence and exit code 2; Ctrl-C is exit code 130."""
    sys.path.insert(0, os.getcwd())  # for the user's own "module:function" and "module:Env-v0"
    from reward_envs.wrappers.errors import RewardError

    try:
        app()
    except RewardError as error:
        print(f"reward-envs: {error}", file=sys.stderr)
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def compare(
    env: Environment,
    reward: Annotated[list[str], typer.Option(help="A reward; give one --reward for each that is compared.")],
    agent: Annotated[str, typer.Option(help=AGENTS)] = "ppo",
    seeds: Annotated[str, typer.Option(help="How many seeds, or which ones: 5, or 3,7,11.")] = "5",
    out: Annotated[str, typer.Option(help="The folder for the results.")] = "reward-report",
    steps: Annotated[int | None, typer.Option(help="Environment steps of each run.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time; by default one a core.", min=1)] = None,
    envs: Annotated[int | None, typer.Option(help="Environments side by side in a run.", min=1)] = None,
    eval_every: Annotated[int | None, typer.Option(help="Steps between evaluations.", min=1)] = None,
    eval_episodes: Annotated[int | None, typer.Option(help="Episodes of an evaluation.")] = None,
    deterministic: Annotated[
        bool | None, typer.Option("--deterministic/--stochastic", help="How the agent acts in evaluation.")
    ] = None,
    hindsight: Annotated[int | None, typer.Option(help=HINDSIGHT, min=0)] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A hyperparameter, such as --set learning_rate=3e-4.")
    ] = None,
    device: Annotated[str, typer.Option(help="Of the networks: cpu, cuda.")] = "cpu",
) -> None:
    """Train an agent on each reward with each seed, and compare them on the task's own reward.

    Leaves report.html, report.png, results.parquet, spec.json and the trained agents; goes on where it stopped.
    """
    from reward_envs.agents.compare import FolderError
    from reward_envs.agents.compare import compare as run

    given: dict[str, Any] = {
        "algo": agent,
        "steps": steps,
        "n_envs": envs,
        "eval_every": eval_every,
        "eval_episodes": eval_episodes,
        "deterministic": deterministic,
        "hindsight": hindsight,
        "hyperparameters": _hyperparameters(set_ or []),
    }
    settings = {k: v for k, v in given.items() if v is not None}
    try:
        found = run(env, reward, seeds=_seeds(seeds), out=out, jobs=jobs, device=device, **settings)
    except FolderError as error:
        print(f"reward-envs: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print("reward-envs: stopped; finished runs are kept, and the same command goes on.", file=sys.stderr)
        raise typer.Exit(130) from None
    print(found.answer)
    print(
        f"{os.path.join(out, 'report.html')}, report.png, results.parquet, spec.json"
        if len(found.table)
        else f"see {out}"
    )
    for sentence in found.failures:
        print(f"reward-envs: {sentence}", file=sys.stderr)
    if found.failures:
        raise typer.Exit(1)


def _seeds(words: str) -> int | list[int]:
    from reward_envs.wrappers.errors import RewardError

    try:
        if "," in words:
            return [int(word) for word in words.split(",") if word.strip()]
        return int(words)
    except ValueError:
        raise RewardError(f"--seeds {words}: write how many (5), or which ones (3,7,11).") from None


def _hyperparameters(pairs: list[str]) -> dict[str, Any]:
    from reward_envs.wrappers.errors import RewardError

    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise RewardError(f"--set {pair}: write --set name=value, such as --set learning_rate=3e-4.")
        try:
            found[name.strip()] = json.loads(value)
        except json.JSONDecodeError:
            found[name.strip()] = value
    return found


@app.command("list")
def list_() -> None:
    """The reward methods by family, and the environments."""
    from rich.table import Table

    from reward_envs.registration import IDS, PREFIX
    from reward_envs.wrappers.registry import methods

    console = _console()
    entries = list(methods().values())
    for family in sorted({e.family for e in entries}):
        table = Table("name", "what it pays", "scope", title=family, title_justify="left", box=None, pad_edge=False)
        for e in (e for e in entries if e.family == family):
            table.add_row(e.name, e.summary, _scope(e))
        console.print(table, "")
    table = Table("id", title="environments", title_justify="left", box=None, pad_edge=False)
    for name in IDS:
        table.add_row(PREFIX + name)
    console.print(table, "", "and every other Gymnasium id. More of one: reward-envs show NAME")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A method's name or an environment's id.")],
    heatmap: Annotated[
        str | None, typer.Option(metavar="FILE.png", help="Of a gridworld: draw steps to go and random play there.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the layout and the random play of --heatmap.", min=0)] = 0,
) -> None:
    """All that is known of a method or an environment."""
    from reward_envs.wrappers.registry import methods

    known = methods()
    if name not in known and any(mark in name for mark in "-/:"):
        _show_environment(name, heatmap, seed)
    elif name in known and heatmap is None:
        _show_method(known[name])
    elif name in known:
        raise _no_heatmap(name, "a method")
    else:
        from difflib import get_close_matches

        from reward_envs.wrappers.errors import RewardError

        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "reward-envs list names all."
        raise RewardError(f"no method and no environment is called {name!r}: {hint}")


def _show_method(entry: Entry) -> None:
    import dataclasses
    import inspect
    from importlib import resources

    from reward_envs.wrappers.registry import catalogue as read

    fields = [f for f in dataclasses.fields(entry.cls) if f.init and f.name != "name"]
    call = ", ".join(f.name if f.default is dataclasses.MISSING else f"{f.name}={f.default!r}" for f in fields)
    bibliography = resources.files("reward_envs").joinpath("references.bib").read_text(encoding="utf-8")
    parts = [
        f"{entry.name}({call})    [{entry.family}, {_scope(entry)}]",
        inspect.getdoc(entry.cls) or "",
        "claims: " + ", ".join(entry.claims) if entry.claims else "",
        *(_bibtex(key, bibliography) for key in entry.source),
        *(f"covers {r['id']}, {r['system']}: {entry.covers[r['id']]}" for r in read() if r["id"] in entry.covers),
        f"example: {entry.example}",
    ]
    print("\n\n".join(part for part in parts if part))


def _bibtex(key: str, bibliography: str) -> str:
    """The entry of a key, as it stands."""
    found = [e for e in bibliography.split("\n@") if e.partition("{")[2].partition(",")[0].strip() == key]
    return "@" + found[0].strip().removeprefix("@") if found else key


def _show_environment(env_id: str, heatmap: str | None, seed: int) -> None:
    from reward_envs.agents.plan import make

    env = make(env_id)
    if heatmap is not None:
        _draw_heatmap(env_id, env.unwrapped, heatmap, seed)
    card = getattr(env.unwrapped, "card", None)
    lines: dict[str, Any] = {
        "observation": _shown(env.unwrapped.observation_space),
        "action": _shown(env.unwrapped.action_space),
        "steps at most": getattr(env.spec, "max_episode_steps", None) or getattr(env.unwrapped, "max_steps", None),
    }
    if card is not None:
        lines = {"task": card.task, **lines, "hooks": ", ".join(card.hooks), "returns": card.reward_range}
        lines |= {"milestones": ", ".join(card.milestone_names), "steps to go at most": card.steps_to_go_max}
    console = _console()
    console.print(env_id, style="bold", highlight=False)
    for key, value in lines.items():
        if value not in (None, ""):
            console.print(f"{key}: {value}", markup=False, highlight=False)
    if heatmap is not None:
        print(f"heat maps of the layout of seed {seed}: {heatmap}")
    env.close()


def _shown(space: Any) -> str:
    """A space as it prints, but that every character of a text is not listed."""
    return re.sub(r"(Text\(\d+, \d+), charset=.*?\)(?=$|, '|\))", r"\1)", str(space), flags=re.DOTALL)


def _draw_heatmap(env_id: str, env: Any, path: str, seed: int) -> None:
    from reward_envs.grid.env import GridEnv
    from reward_envs.grid.picture import heat_maps
    from reward_envs.wrappers.errors import RewardError

    if not isinstance(env, GridEnv):
        raise _no_heatmap(env_id, "no gridworld on our engine")
    try:
        heat_maps(env, seed=seed).savefig(path)
    except (OSError, ValueError) as error:
        raise RewardError(f"cannot write {path}: {error}; give a .png file in a folder that is there.") from None


def _no_heatmap(name: str, what: str) -> Exception:
    from reward_envs.wrappers.errors import RewardError

    return RewardError(f"{name} is {what}: --heatmap needs one of the gridworld ids that reward-envs list names.")


@app.command("try")
def try_(
    env: Environment,
    reward: Annotated[str, typer.Option(help="The reward.")],
    seed: Annotated[int, typer.Option(help="Of the episode, the actions and the reward.")] = 0,
    gamma: Annotated[float, typer.Option(help="The learner's discount, for rewards that need it.")] = 0.99,
    steps: Annotated[int, typer.Option(help="Longest episode to play.", min=1)] = 1000,
) -> None:
    """Play one episode with random actions, and print what each term of the reward pays."""
    from reward_envs.agents.plan import make
    from reward_envs.agents.play import random_episode
    from reward_envs.wrappers import parse
    from reward_envs.wrappers.adapters.arrays import relabel

    method = parse(reward)
    made = make(env)
    batch, spec = random_episode(made, method, seed=seed, gamma=gamma, steps=steps)
    made.close()
    scored = relabel(batch, method, spec=spec, seed=seed, cut=1 if method.scope == 0 else None)
    names = list(scored.terms)
    columns = [batch.reward, *scored.terms.values(), scored.values]
    rows = [(str(t), *map(_number, values)) for t, *values in zip(batch.t.tolist(), *columns, strict=True)]
    rows.append(("sum", *(_number(c.sum()) for c in columns)))
    for term in method.walk():
        if (waits := getattr(term, "warmup", 0)) > len(batch):
            print(f"{term.label} pays nothing in its first {waits} rows, which settle its statistics")
    end = "terminated" if batch.terminated[-1] else "truncated" if batch.truncated[-1] else "cut by --steps"
    _print_rows(["step", "task's own", *names, "paid"], rows)
    print(f"random actions, seed {seed}: {end} after {len(batch)} steps")


def _number(value: float) -> str:
    return "-" if value != value else f"{value + 0.0:.4g}"


def _print_rows(heads: list[str], rows: list[tuple[str, ...]]) -> None:
    """As aligned text: the same on a terminal and in a file."""
    widths = [max(len(row[k]) for row in (heads, *rows)) for k in range(len(heads))]
    for row in (heads, *rows):
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


@app.command()
def train(
    env: Environment,
    reward: Annotated[str, typer.Option(help="The reward.")],
    out: Annotated[str, typer.Option(help="The folder for the agent and what its reward learned.")],
    agent: Annotated[str, typer.Option(help=AGENTS)] = "ppo",
    seed: Annotated[int, typer.Option(help="Of everything.")] = 0,
    steps: Annotated[int | None, typer.Option(help="Environment steps.")] = None,
    hindsight: Annotated[int, typer.Option(help=HINDSIGHT, min=0)] = 0,
    device: Annotated[str, typer.Option(help="Of the networks.")] = "cpu",
) -> None:
    """Train one agent on one reward, evaluate it on the task's own reward, and save both together."""
    from reward_envs.agents.plan import Plan
    from reward_envs.agents.sb3 import train as run

    settings: dict[str, Any] = {} if steps is None else {"steps": steps}
    plan = Plan(env, algo=agent, hindsight=hindsight, **settings)
    found = run(plan, reward, seed=seed, device=device, out=out)
    names = ["eval/task_return", "eval/success_rate", "eval/length"]
    at = sorted({r.steps for r in found.rows if r.metric in names})
    value = {(r.steps, r.metric): r.value for r in found.rows}
    rows = [(str(t), *(_number(value.get((t, n), float("nan"))) for n in names)) for t in at]
    _print_rows(["steps", *(n.removeprefix("eval/") for n in names)], rows)
    print(f"{found.success_rule}; the agent and its reward's state lie in {out}")


@app.command()
def relabel(
    data: Annotated[str, typer.Argument(metavar="DATA.npz", help="Arrays named as the columns of Batch.")],
    reward: Annotated[str, typer.Option(help="The reward.")],
    out: Annotated[str, typer.Option(help="The .npz file for values, known and each term.")],
    gamma: Annotated[float, typer.Option(help="The learner's discount, for rewards that need it.")] = 0.99,
    seed: Annotated[int, typer.Option(help="Of the reward.")] = 0,
) -> None:
    """Score recorded rows: obs, action, next_obs, reward, terminated, truncated, stream, and hooks as info/NAME."""
    import numpy as np

    from reward_envs.wrappers import Batch
    from reward_envs.wrappers import relabel as score
    from reward_envs.wrappers.errors import RewardError

    try:
        with np.load(data) as arrays:
            columns = dict(arrays)
    except (OSError, ValueError) as error:
        raise RewardError(f"cannot read {data}: {error}; it is a .npz file of arrays.") from None
    hooks: dict[str, Any] = {"info": {}, "next_info": {}}
    for name in [n for n in columns if "/" in n]:
        place, _, hook = name.partition("/")
        hooks.setdefault(place, {})[hook] = columns.pop(name)
    try:
        batch = Batch.of(**columns, **hooks)
    except TypeError as error:
        raise RewardError(f"{data} does not hold the columns of a batch: {error}.") from None
    scored = score(batch, reward, gamma=gamma, seed=seed)
    np.savez(out, values=scored.values, known=scored.known, **{f"reward/{k}": v for k, v in scored.terms.items()})
    print(
        f"{len(batch)} rows, {int(scored.known.sum())} with a value; sum {_number(np.nansum(scored.values))} -> {out}"
    )


@app.command()
def check(
    env: Environment,
    episodes: Annotated[int, typer.Option(help="Episodes to play at random.", min=1)] = 3,
    steps: Annotated[int, typer.Option(help="Longest episode.", min=1)] = 1000,
) -> None:
    """Does an environment keep what reward methods rely on? Exit code 1 where it does not."""
    from reward_envs.agents.check import check as look
    from reward_envs.agents.plan import make

    found = look(make(env), episodes=episodes, steps=steps)
    for finding in found:
        print(f"{finding.verdict:5}  {finding.what}")
    if any(f.verdict == "fault" for f in found):
        raise typer.Exit(1)


@app.command()
def catalogue(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """The published systems, those first that a method here covers."""
    from reward_envs.wrappers.registry import catalogue as read

    rows = read()
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    rows.sort(key=lambda r: (not r["covered_by"], r["id"]))
    cells = [(str(r["id"]), r["system"], ", ".join(r["covered_by"]) or "-") for r in rows]
    for number, system, by in [("id", "system", "covered by"), *cells]:
        print(f"{number:>4}  {by:<28}  {system}")
    print(f"{sum(bool(r['covered_by']) for r in rows)} of {len(rows)} systems are covered.")


def _scope(entry: Entry) -> str:
    scope = getattr(entry.cls, "own_scope", None)
    return scope.name.lower() if scope is not None else "rows"


def _console() -> Console:
    from rich.console import Console

    return Console(soft_wrap=not sys.stdout.isatty())


if __name__ == "__main__":
    main()
