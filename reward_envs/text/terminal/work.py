"""Archive and restore, repair a build, write small programs, work in several stages."""

from __future__ import annotations

from collections.abc import Callable

from reward_envs.text.terminal.draw import Draw
from reward_envs.text.terminal.template import (
    Check,
    Instance,
    Pack,
    State,
    every,
    gone,
    one,
    runs,
    says,
    script,
    tarball,
    text,
    unpacked,
)

WORK = Pack()


def holds(path: str, files: dict[str, str]) -> Callable[[State], bool]:
    """Whether an archive has these files and no others."""
    wanted = {name: content.encode() for name, content in files.items()}
    return lambda state: unpacked(state.read(path)) == wanted


@WORK
def pack_folder(d: Draw) -> Instance:
    name = d.word()
    files = {f"{name}/{word}.txt": text(d.prose(2)) for word in d.words(4)}
    junk = {f"{name}/{word}.tmp": text(d.prose(1)) for word in d.words(2)}
    return Instance(
        f"Pack the folder {name}/ into {name}.tar.gz, a compressed tar archive, without its .tmp files. Paths in the "
        "archive begin "
        f"with {name}/.",
        {**files, **junk},
        one("the archive is right", holds(f"{name}.tar.gz", files)),
        script(f"rm {name}/*.tmp", f"tar -czf {name}.tar.gz {name}"),
    )


@WORK
def restore_file(d: Draw) -> Instance:
    names = d.words(5)
    files = {f"docs/{name}.txt": text(d.prose(3)) for name in names}
    lost, broken = (f"docs/{name}.txt" for name in names[:2])
    now = {path: content for path, content in files.items() if path != lost}
    now[broken] = "\x00 damaged \x00\n"
    changed = f"docs/{names[2]}.txt"
    now[changed] += "a line that is newer than the backup\n"
    return Instance(
        f"{lost} was deleted and {broken} is damaged. Restore both from backup.tar.gz. The other files have changed "
        "since; leave "
        "them as they are.",
        {**now, "backup.tar.gz": tarball(files)},
        (
            Check("the deleted file is back", 0.5, every(says(lost, files[lost]), says(changed, now[changed]))),
            Check("the damaged file is whole", 0.5, every(says(broken, files[broken]), says(changed, now[changed]))),
        ),
        script(f"tar -xzf backup.tar.gz {lost} {broken}"),
        keep=("backup.tar.gz",),
    )


@WORK
def rotate_logs(d: Draw) -> Instance:
    name = d.word()
    logs = {f"logs/{name}.log{end}": text(d.prose(2)) for end in ("", ".1", ".2", ".3")}
    now, first, second, _ = logs.values()
    path = f"logs/{name}.log"
    return Instance(
        f"Rotate {path}: what is .1 becomes .2, what is .2 becomes .3, what was .3 is lost, the log itself becomes "
        ".1, and a new "
        "empty log takes its place.",
        logs,
        (
            Check("older logs moved", 0.5, every(says(f"{path}.2", first), says(f"{path}.3", second))),
            Check("the log began anew", 0.5, every(says(f"{path}.1", now), says(path, ""))),
        ),
        script(f"mv {path}.2 {path}.3", f"mv {path}.1 {path}.2", f"mv {path} {path}.1", f"touch {path}"),
    )


@WORK
def repair_build(d: Draw) -> Instance:
    parts = [f"src/{name}.part" for name in d.words(4)]
    files = {part: text(d.prose(2)) for part in parts}
    wrong = parts[2].replace(".part", ".prt")
    build = text(
        [
            "#!/bin/sh",
            "set -e",
            *(f"cat {wrong if part == parts[2] else part} >> out/book.txt" for part in parts),
            "echo built",
        ]
    )
    return Instance(
        "build.sh is to put the parts of src/ together into out/book.txt, in its order, but it fails. Repair "
        "build.sh so that it "
        "works when out/ does not exist, and run it once.",
        {**files, "build.sh": build},
        (
            Check("the script names its parts", 0.4, lambda s: parts[2].encode() in (s.read("build.sh") or b"")),
            Check("the book is built", 0.6, says("out/book.txt", "".join(files.values()))),
        ),
        script(f"sed -i 's#{wrong}#{parts[2]}#; 2a mkdir -p out' build.sh", "./build.sh"),
        scripts=("build.sh",),
        keep=tuple(files),
    )


@WORK
def missing_setting(d: Draw) -> Instance:
    name, value, other = d.words(3)
    program = text(
        [
            "#!/bin/sh",
            '. ./config.env || { echo "no config.env" >&2; exit 2; }',
            '[ -n "$TARGET" ] || { echo "TARGET is not set" >&2; exit 3; }',
            '[ -d "dist/$TARGET" ] || { echo "dist/$TARGET is missing" >&2; exit 4; }',
            f'echo "{name} for $TARGET" > "dist/$TARGET/version.txt"',
        ]
    )
    return Instance(
        f"make.sh fails. Find out why, and set things right so that it builds for the target {value}. Do not change "
        "make.sh. Run it.",
        {"make.sh": program, "config.env": f"# settings\nOWNER={other}\n"},
        (
            Check("the target is set", 0.3, lambda s: f"TARGET={value}".encode() in (s.read("config.env") or b"")),
            Check("it is built", 0.7, says(f"dist/{value}/version.txt", f"{name} for {value}")),
        ),
        script(
            "sh make.sh", f"echo TARGET={value} >> config.env", "sh make.sh", f"mkdir -p dist/{value}", "sh make.sh"
        ),
        keep=("make.sh",),
    )


@WORK
def sum_program(d: Draw) -> Instance:
    name = d.word()
    numbers = {f"in/{i}.txt": [d.number(-50, 99) for _ in range(d.number(3, 9))] for i in range(1, 4)}
    right = [says(f"out/{i}.txt", sum(values)) for i, values in enumerate(numbers.values(), 1)]
    return Instance(
        f"Write a program {name}.sh, which may be executed, that prints the sum of the numbers in the file it is "
        "given, one number a "
        "line. Run it on each file of in/, and write what it prints into a file of the same name in out/.",
        {path: text(values) for path, values in numbers.items()},
        (
            Check("there is a program", 0.25, runs(f"{name}.sh")),
            *(Check(f"sum of file {i}", 0.25, passes) for i, passes in enumerate(right, 1)),
        ),
        script(
            f"cat > {name}.sh <<'END'\n#!/bin/bash\ntotal=0\nwhile read n; do total=$((total + n)); done < "
            '"$1"\necho $total\nEND',
            f"chmod +x {name}.sh",
            f"mkdir -p out; for i in 1 2 3; do ./{name}.sh in/$i.txt > out/$i.txt; done",
        ),
        keep=tuple(numbers),
    )


@WORK
def divisor_table(d: Draw) -> Instance:
    word, top = d.word(), d.number(12, 24)
    right = [f"{n} {sum(n % k == 0 for k in range(1, n + 1))}" for n in range(1, top + 1)]
    return Instance(
        f"For each whole number n from 1 to {top}, write n and how many divisors it has, as in: 6 4, one n a line, "
        f"into {word}.txt.",
        {"README": f"{word}\n"},
        one("divisors are counted", says(f"{word}.txt", "\n".join(right))),
        script(
            f"for n in $(seq {top}); do c=0; for k in $(seq $n); do [ $((n % k)) -eq 0 ] && c=$((c + 1)); done; echo "
            "$n $c; done "
            f"> {word}.txt"
        ),
    )


@WORK
def rename_series(d: Draw) -> Instance:
    name, new = d.words(2)
    files = {f"shots/{name} {i}.jpg": f"picture {d.number(1000, 9999)}\n" for i in range(1, d.number(8, 12))}
    renamed = [(f"shots/{new}-{i:03}.jpg", content) for i, content in enumerate(files.values(), 1)]
    return Instance(
        f'Rename the files "{name} 1.jpg", "{name} 2.jpg" and so on in shots/ to {new}-001.jpg, {new}-002.jpg and so '
        "on.",
        files,
        (
            Check("new names", 0.7, every(*(says(path, content) for path, content in renamed))),
            Check("and no old ones", 0.3, every(says(*renamed[0]), *(gone(path) for path in files))),
        ),
        script(
            f'cd shots; for i in $(seq {len(files)}); do mv "{name} $i.jpg" {new}-$(printf %03d $i).jpg; done; cd ..'
        ),
    )


@WORK
def release(d: Draw) -> Instance:
    name, old, new = d.word(), d.number(1, 4), d.number(5, 9)
    files = {f"{name}/{word}.txt": text([*d.prose(1), f"version 1.{old}.0"]) for word in d.words(3)}
    fresh = {path: content.replace(f"1.{old}.0", f"1.{new}.0") for path, content in files.items()}
    changes = d.prose(2, 4)
    return Instance(
        f"Release version 1.{new}.0 of {name}. (1) Replace 1.{old}.0 by 1.{new}.0 in all files of {name}/. (2) In "
        "CHANGES, put the line "
        f"## 1.{new}.0 at the very top. (3) Pack {name}/ into {name}-1.{new}.0.tar.gz. (4) Write the archive's "
        "sha256, 64 digits, into "
        "SHA256.",
        {**files, "CHANGES": text([f"## 1.{old}.0", *changes])},
        (
            Check("versions are new", 0.25, every(*(says(path, content) for path, content in fresh.items()))),
            Check("changes have a heading", 0.25, says("CHANGES", text([f"## 1.{new}.0", f"## 1.{old}.0", *changes]))),
            Check("the archive is right", 0.25, holds(f"{name}-1.{new}.0.tar.gz", fresh)),
            Check("its sum is right", 0.25, _sum_of(f"{name}-1.{new}.0.tar.gz")),
        ),
        script(
            f"sed -i 's/1\\.{old}\\.0/1.{new}.0/' {name}/*",
            f"sed -i '1i ## 1.{new}.0' CHANGES",
            f"tar -czf {name}-1.{new}.0.tar.gz {name}",
            f"sha256sum {name}-1.{new}.0.tar.gz | cut -c 1-64 > SHA256",
        ),
    )


def _sum_of(path: str) -> Callable[[State], bool]:
    import hashlib

    def passes(state: State) -> bool:
        packed = state.read(path)
        return (
            packed is not None and (state.read("SHA256") or b"").strip() == hashlib.sha256(packed).hexdigest().encode()
        )

    return passes


@WORK
def inventory(d: Draw) -> Instance:
    kinds = ["tool", "toy", "book"]
    items = [(name, d.pick(kinds), d.number(0, 40)) for name in d.words(12)]
    low = [n for n, _, c in items if c < 10]
    totals = [f"{kind} {sum(c for _, k, c in items if k == kind)}" for kind in sorted(kinds)]
    return Instance(
        "stock/ has a file for each item, with the lines kind= and count=. (1) Write all items with their kind and "
        "count into "
        "all.csv in the order of the alphabet, as in: item,kind,3. (2) Write the items of which there are fewer than "
        "10 into "
        "order.txt in that order. (3) Add up the counts of each kind (book, tool, toy) and write them into "
        "kinds.txt, as in: toy 21, in the order of "
        "the alphabet.",
        {f"stock/{n}": text([f"kind={k}", f"count={c}"]) for n, k, c in items},
        (
            Check("all items", 0.4, says("all.csv", "\n".join(sorted(f"{n},{k},{c}" for n, k, c in items)))),
            Check("items to order", 0.3, says("order.txt", "\n".join(sorted(low)))),
            Check("counts of kinds", 0.3, says("kinds.txt", "\n".join(totals))),
        ),
        script(
            'for f in stock/*; do . ./$f; echo "$(basename $f),$kind,$count"; done | LC_ALL=C sort > all.csv',
            "awk -F, '$3 < 10 {print $1}' all.csv > order.txt",
            "for k in book tool toy; do awk -F, -v k=$k '$2 == k {n += $3} END {print k, n + 0}' all.csv; done > "
            "kinds.txt",
        ),
    )
