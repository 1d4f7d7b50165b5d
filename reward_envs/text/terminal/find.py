"""Find and extract: tasks that look for something in many files."""

from __future__ import annotations

from collections import Counter

from reward_envs.text.terminal.draw import Draw
from reward_envs.text.terminal.template import Check, Instance, Pack, every, gone, one, says, script, text

FIND = Pack()


@FIND
def largest_file(d: Draw) -> Instance:
    folders, names = d.words(3), d.words(9)
    paths = [f"data/{folders[i % 3]}/{name}.bin" for i, name in enumerate(names)]
    sizes = d.numbers(len(paths), 200, 4000)
    files = {path: "x" * size for path, size in zip(paths, sizes, strict=True)}
    largest = max(files, key=lambda path: len(files[path]))
    return Instance(
        "Find the largest file below data/ and write its path, such as data/some/file.bin, into answer.txt.",
        files,
        one("the largest file is named", says("answer.txt", largest)),
        script(
            "find data -type f -size +0c -exec wc -c {} + | grep -v total | sort -n | tail -n 1 | awk '{print $2}' > "
            "answer.txt"
        ),
        keep=tuple(files),
    )


@FIND
def count_lines_with_word(d: Draw) -> Instance:
    word, *others = d.words(6)
    files, right = {}, 0
    for i, name in enumerate(d.words(6)):
        lines = [f"{d.pick(others)} {d.pick([word, d.pick(others)])} {d.number(1, 99)}" for _ in range(d.number(4, 12))]
        kind = "log" if i < 4 else "txt"
        right += sum(word in line.split() for line in lines) if kind == "log" else 0
        files[f"notes/{name}.{kind}"] = text(lines)
    return Instance(
        f"How many lines in the .log files of notes/ hold the word {word}? Write the number into answer.txt.",
        files,
        one("the lines are counted", says("answer.txt", right)),
        script(f"cat notes/*.log | grep -c -w {word} > answer.txt"),
        keep=tuple(files),
    )


@FIND
def needle(d: Draw) -> Instance:
    token, right = f"{d.word()}-{d.number(1000, 9999)}", d.number(0, 7)
    folders = d.words(4)
    paths = [f"shelf/{folders[i % 4]}/{name}.txt" for i, name in enumerate(d.words(8))]
    files = {path: text(d.prose(5)) for path in paths}
    files[paths[right]] = text([*d.prose(2), f"ticket {token} is here", *d.prose(2)])
    return Instance(
        f"One file below shelf/ holds the ticket {token}. Copy that file into a new folder found/, under its own "
        "name, and "
        "write its path, such as shelf/some/file.txt, into where.txt.",
        files,
        (
            Check("the file is copied", 0.5, says(f"found/{paths[right].split('/')[-1]}", files[paths[right]])),
            Check("its path is written", 0.5, says("where.txt", paths[right])),
        ),
        script(f"grep -r -l {token} shelf > where.txt", "mkdir -p found", 'cp "$(cat where.txt)" found/'),
        keep=tuple(files),
    )


@FIND
def list_by_extension(d: Draw) -> Instance:
    kinds = d.mixed(["csv", "json", "md", "cfg"])
    folders = d.words(3)
    paths = [f"tree/{d.pick(folders)}/{name}.{kinds[i % 4]}" for i, name in enumerate(d.words(14))]
    wanted = sorted(path for path in paths if path.endswith(kinds[0]))
    return Instance(
        f"Write the paths of all .{kinds[0]} files below tree/, such as tree/some/file.{kinds[0]}, into list.txt: "
        "one a line, in "
        "the order of the alphabet.",
        {path: text(d.prose(1)) for path in paths},
        one("the files are listed", says("list.txt", "\n".join(wanted))),
        script(f"find tree -type f -name '*.{kinds[0]}' | LC_ALL=C sort > list.txt"),
    )


@FIND
def same_content(d: Draw) -> Instance:
    names = d.words(7)
    files = {f"box/{name}.dat": text(d.prose(4)) for name in names}
    pair = sorted(f"box/{name}.dat" for name in names[:2])
    files[pair[1]] = files[pair[0]]
    first = f"box/{names[2]}.dat"
    files[first] = files[first].replace(" ", "  ", 1)  # nearly another's
    return Instance(
        "Two files in box/ have the same content. Write their paths into same.txt, one a line, in the order of the "
        "alphabet.",
        files,
        one("both are named", says("same.txt", "\n".join(pair))),
        script(
            "sum=$(md5sum box/* | cut -d ' ' -f 1 | sort | uniq -d)",
            'md5sum box/* | grep "$sum" | cut -c 35- | sort > same.txt',
        ),
        keep=tuple(files),
    )


@FIND
def delete_empty(d: Draw) -> Instance:
    names = d.words(10)
    files = {
        f"{d.pick(['in', 'in/deep', 'in/deep/er'])}/{n}.txt": "" if i < 4 else text(d.prose(1))
        for i, n in enumerate(names)
    }
    empty = [path for path, content in files.items() if not content]
    full = {path: content for path, content in files.items() if content}
    kept = every(*(says(path, content) for path, content in full.items()))
    return Instance(
        "Delete the empty files below in/, and only these. Write how many there were into count.txt.",
        files,
        (
            Check("empty files are gone", 0.5, every(kept, *(gone(path) for path in empty))),
            Check("they are counted", 0.5, every(kept, says("count.txt", len(empty)))),
        ),
        script("find in -type f -empty | wc -l > count.txt", "find in -type f -empty -delete"),
    )


@FIND
def common_words(d: Draw) -> Instance:
    names = d.words(8)
    counts = dict(zip(names, sorted(d.numbers(8, 1, 14), reverse=True), strict=True))
    words = d.mixed([name for name, count in counts.items() for _ in range(count)])
    lines = [" ".join(words[i : i + 7]) for i in range(0, len(words), 7)]
    top = [f"{name} {count}" for name, count in Counter(words).most_common(3)]
    return Instance(
        "Which three words are the most frequent in book.txt? Write each with its number of times into top.txt, the "
        "most "
        "frequent first, as in: word 7",
        {"book.txt": text(lines)},
        (
            Check("the first word", 0.5, lambda s: (s.read("top.txt") or b"").startswith(f"{top[0]}\n".encode())),
            Check("all three", 0.5, says("top.txt", "\n".join(top))),
        ),
        script("tr ' ' '\\n' < book.txt | sort | uniq -c | sort -k 1,1nr | head -n 3 | awk '{print $2, $1}' > top.txt"),
        keep=("book.txt",),
    )
