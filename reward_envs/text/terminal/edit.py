"""Edit files and fix configurations."""

from __future__ import annotations

from reward_envs.text.terminal.draw import Draw
from reward_envs.text.terminal.template import Check, Instance, Pack, every, one, runs, says, script, text

EDIT = Pack()


@EDIT
def replace_word(d: Draw) -> Instance:
    old, new, *others = d.words(8)
    files = {}
    for i, name in enumerate(d.words(5)):
        lines = [" ".join(d.mixed([old, *others[:3]])) for _ in range(3)] + [f"{old}s and un{old} stay"]
        files[f"pages/{name}.{'txt' if i < 3 else 'md'}"] = text(lines)
    changed = {
        path: text(" ".join(new if word == old else word for word in line.split()) for line in content.splitlines())
        for path, content in files.items()
    }
    right = {path: changed[path] if path.endswith("txt") else content for path, content in files.items()}
    return Instance(
        f"In the .txt files of pages/, replace the word {old} by {new}. Words that only contain {old}, and other "
        "files, stay.",
        files,
        one("words are replaced", every(*(says(path, content) for path, content in right.items()))),
        script(f"sed -i 's/\\b{old}\\b/{new}/g' pages/*.txt"),
    )


@EDIT
def add_header(d: Draw) -> Instance:
    owner, header = d.word(), f"# Copyright {d.number(1990, 2030)} The authors"
    bodies = {f"src/{name}.py": text([f"{word} = {d.number(1, 99)}" for word in d.words(3)]) for name in d.words(6)}
    has = list(bodies)[:2]
    files = {path: f"{header}\n{body}" if path in has else body for path, body in bodies.items()}
    right = every(*(says(path, f"{header}\n{body}") for path, body in bodies.items()))
    return Instance(
        f"Every .py file of src/ of the project {owner} is to begin with this line:\n{header}\nSome do already. Add "
        "it to the others.",
        files,
        one("every file has it once", right),
        script(f"for f in src/*.py; do head -n 1 \"$f\" | grep -q '^# Copyright' || sed -i '1i {header}' \"$f\"; done"),
    )


@EDIT
def strip_comments(d: Draw) -> Instance:
    lines = []
    for word in d.words(9):
        lines += d.pick([[f"# {word}"], [f"   # {word}", f"{word}=1"], [f"{word}=#{d.number(1, 9)}"]])
    lines += [f"# {d.word()}", f"{d.word()}=2"]
    kept = [line for line in lines if not line.lstrip().startswith("#")]
    return Instance(
        "Write the lines of settings.txt that are no comments into clean.txt. A comment is a line whose first "
        "character other "
        "than a space is #.",
        {"settings.txt": text(lines)},
        one("comments are left out", says("clean.txt", "\n".join(kept))),
        script("grep -v '^ *#' settings.txt > clean.txt"),
        keep=("settings.txt",),
    )


@EDIT
def swap_columns(d: Draw) -> Instance:
    rows = [(name, str(d.number(10, 99)), d.pick(["red", "green", "blue"])) for name in d.words(8)]
    return Instance(
        "table.csv has the columns name,age,colour. Write new.csv with the columns colour,name,age, with the same "
        "rows in the "
        "same order.",
        {"table.csv": text(["name,age,colour", *(",".join(row) for row in rows)])},
        one("columns are swapped", says("new.csv", text(["colour,name,age", *(f"{c},{n},{a}" for n, a, c in rows)]))),
        script("awk -F, -v OFS=, '{print $3, $1, $2}' table.csv > new.csv"),
        keep=("table.csv",),
    )


@EDIT
def set_key(d: Draw) -> Instance:
    sections, key = d.words(3), d.pick(["port", "limit", "retries"])
    values = d.numbers(4, 10, 9000)
    lines = []
    for section, value in zip(sections, values, strict=False):
        lines += [f"[{section}]", f"name = {d.word()}", f"{key} = {value}", ""]
    at = d.number(0, 2)
    right = lines.copy()
    right[4 * at + 2] = f"{key} = {values[3]}"
    return Instance(
        f"In app.ini, set {key} of the section [{sections[at]}] to {values[3]}. Change nothing else.",
        {"app.ini": text(lines)},
        one("the key is set", says("app.ini", text(right))),
        script(f"sed -i '/^\\[{sections[at]}\\]/,/^$/s/^{key} = .*/{key} = {values[3]}/' app.ini"),
    )


@EDIT
def enable_feature(d: Draw) -> Instance:
    names, port = d.words(5), d.number(1025, 9999)
    lines = [f"host: {names[0]}.example", "port: 80", *(f"#use_{name}: yes" for name in names[1:])]
    at = d.number(2, 5)
    right = [lines[0], f"port: {port}", *lines[2:]]
    right[at] = lines[at][1:]
    wanted = lines[at][1:].split(":")[0]
    return Instance(
        f"In server.yaml, turn {wanted} on by taking the # away from its line, and set the port to {port}. Leave the "
        "rest.",
        {"server.yaml": text(lines)},
        (
            Check("the port is set", 0.4, lambda s: f"\nport: {port}\n".encode() in (s.read("server.yaml") or b"")),
            Check("the file is right", 0.6, says("server.yaml", text(right))),
        ),
        script(f"sed -i 's/^#{wanted}:/{wanted}:/; s/^port: .*/port: {port}/' server.yaml"),
    )


@EDIT
def last_value_wins(d: Draw) -> Instance:
    keys = [word.upper() for word in d.words(5)]
    pairs = d.mixed([(key, d.number(1, 99)) for key in keys for _ in range(d.number(1, 3))])
    right = sorted(f"{key}={value}" for key, value in dict(pairs).items())
    return Instance(
        "Some keys stand in settings.env more than once. Write final.env with each key once, with its last value, in "
        "the order "
        "of the alphabet.",
        {"settings.env": text(f"{key}={value}" for key, value in pairs)},
        one("each key once", says("final.env", "\n".join(right))),
        script("tac settings.env | awk -F= '!seen[$1]++' | LC_ALL=C sort > final.env"),
        keep=("settings.env",),
    )


@EDIT
def make_executable(d: Draw) -> Instance:
    names = d.words(6)
    paths = [f"bin/{name}.sh" for name in names]
    files = {
        path: text(["#!/bin/sh", f"echo {name}"] if i < 4 else [f"{name} is data"])
        for i, (path, name) in enumerate(zip(paths, names, strict=True))
    }
    right = every(*(runs(path) for path in paths[:4]))
    wrong = [runs(path) for path in paths[4:]]
    return Instance(
        "The files of bin/ that begin with #!/bin/sh are programs. Let their owner execute them, and nobody execute "
        "the others.",
        {**files, f"bin/{d.word()}.md": "programs\n"},
        one("programs, and only these", lambda s: right(s) and not any(is_wrong(s) for is_wrong in wrong)),
        script("chmod a-x bin/*", "chmod u+x $(grep -l '^#!/bin/sh' bin/*)"),
        scripts=(paths[4],),
        keep=tuple(files),
    )
