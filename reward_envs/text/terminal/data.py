"""Read logs and clean data."""

from __future__ import annotations

from collections import Counter, defaultdict

from reward_envs.text.terminal.draw import Draw
from reward_envs.text.terminal.template import Check, Instance, Pack, one, says, script, text

DATA = Pack()


@DATA
def errors_by_service(d: Draw) -> Instance:
    services = d.words(4)
    counts = dict(zip(services, d.numbers(4, 1, 9), strict=True))
    lines = [f"{name} ERROR {d.prose(1, 1)[0]} failed" for name, n in counts.items() for _ in range(n)]
    lines += [f"{d.pick(services)} {d.pick(['INFO', 'WARN'])} no ERROR here" for _ in range(12)]
    lines = [f"2024-05-{d.number(10, 28)} {line}" for line in d.mixed(lines)]
    right = [f"{name} {n}" for name, n in sorted(counts.items(), key=lambda x: -x[1])]
    return Instance(
        "Lines of app.log are: date, service, level, message. Count the lines of level ERROR of each service, and "
        "write them into "
        "report.txt, the most first, as in: service 5",
        {"app.log": text(lines)},
        one("errors are counted", says("report.txt", "\n".join(right))),
        script("awk '$3 == \"ERROR\" {n[$2]++} END {for (s in n) print s, n[s]}' app.log | sort -k 2,2nr > report.txt"),
        keep=("app.log",),
    )


@DATA
def slowest_request(d: Draw) -> Instance:
    times = d.numbers(12, 10, 2500)
    ids = [f"{word}-{d.number(100, 999)}" for word in d.words(12)]
    lines = [f"id={i} path=/{d.word()} ms={ms}" for i, ms in zip(ids, times, strict=True)]
    slow, limit = ids[times.index(max(times))], sorted(times)[-5]
    return Instance(
        f"Which request of access.log took the longest? Write its id into slowest.txt. Write how many took more than "
        f"{limit} ms "
        "into count.txt.",
        {"access.log": text(lines)},
        (
            Check("the slowest", 0.5, says("slowest.txt", slow)),
            Check("the slow ones", 0.5, says("count.txt", 4)),
        ),
        script(
            "sed 's/id=\\([^ ]*\\) .*ms=\\([0-9]*\\)$/\\2 \\1/' access.log | sort -n | tail -n 1 | cut -d ' ' -f 2 > "
            "slowest.txt",
            f"sed 's/.*ms=//' access.log | awk '$1 > {limit}' | wc -l > count.txt",
        ),
        keep=("access.log",),
    )


@DATA
def failures_by_hour(d: Draw) -> Instance:
    seen: Counter[str] = Counter()
    lines = []
    for _ in range(40):
        hour, status = f"{d.number(8, 12):02}", d.pick([200, 200, 301, 404, 500, 503])
        seen[hour] += status >= 500
        lines.append(f"[{hour}:{d.number(10, 59)}] GET /{d.prose(1, 1)[0]} {status}")
    right = [f"{hour} {n}" for hour, n in sorted(seen.items()) if n]
    return Instance(
        "Count the answers of web.log with a status of 500 or more by the hour, and write the hours that have any into "
        "hours.txt in their order, as in: 09 3",
        {"web.log": text(lines)},
        one("failures are counted", says("hours.txt", "\n".join(right))),
        script("awk '$4 >= 500 {print substr($1, 2, 2)}' web.log | sort | uniq -c | awk '{print $2, $1}' > hours.txt"),
        keep=("web.log",),
    )


@DATA
def failed_logins(d: Draw) -> Instance:
    people, least = d.people(6), 4
    fails = dict(zip(people, [1, 3, 4, 6, 2, 5], strict=True))
    lines = [
        f"login failed for {name} from 10.0.{d.number(0, 9)}.{d.number(1, 99)}"
        for name, n in fails.items()
        for _ in range(n)
    ]
    lines += [f"login accepted for {d.pick(people)} on {d.prose(1, 1)[0]}" for _ in range(8)]
    right = sorted(name for name, n in fails.items() if n >= least)
    return Instance(
        f"Whose login failed {least} times or more in auth.log? Write their names into locked.txt, one a line, in "
        "the order of the "
        "alphabet.",
        {"auth.log": text(d.mixed(lines))},
        one("names are right", says("locked.txt", "\n".join(right))),
        script(
            "grep 'login failed' auth.log | cut -d ' ' -f 4 | sort | uniq -c > counts.txt",
            f"awk '$1 >= {least} {{print $2}}' counts.txt > locked.txt",
        ),
        keep=("auth.log",),
    )


@DATA
def unique_rows(d: Draw) -> Instance:
    rows = [f"{name},{d.number(1, 99)}" for name in d.words(7)]
    doubled = d.mixed(rows + [d.pick(rows) for _ in range(5)])
    right = list(dict.fromkeys(doubled))
    return Instance(
        "Write list.csv without repeated rows into unique.csv: the header first, then each row where it came first.",
        {"list.csv": text(["name,value", *doubled])},
        one("rows are unique", says("unique.csv", text(["name,value", *right]))),
        script("awk '!seen[$0]++' list.csv > unique.csv"),
        keep=("list.csv",),
    )


@DATA
def join_tables(d: Draw) -> Instance:
    ids, names = sorted(d.numbers(6, 100, 999)), d.words(6)
    paid = {i: d.number(1, 500) for i in ids if d.number(0, 3)}
    right = [f"{name},{paid[i]}" for i, name in zip(ids, names, strict=True) if i in paid]
    orders = d.mixed(list(paid.items()))
    return Instance(
        "customers.csv has id,name and orders.csv has id,amount. Write name,amount of those who ordered into "
        "joined.csv, in the "
        "order of their ids, without a header.",
        {
            "customers.csv": text(f"{i},{name}" for i, name in zip(ids, names, strict=True)),
            "orders.csv": text(f"{i},{amount}" for i, amount in orders),
        },
        one("tables are joined", says("joined.csv", "\n".join(right))),
        script("sort orders.csv > sorted.csv", "join -t , customers.csv sorted.csv | cut -d , -f 2,3 > joined.csv"),
        keep=("customers.csv", "orders.csv"),
    )


@DATA
def sum_by_group(d: Draw) -> Instance:
    groups = d.words(3)
    total: defaultdict[str, int] = defaultdict(int)
    rows = []
    for _ in range(15):
        group, amount = d.pick(groups), d.number(1, 90)
        total[group] += amount
        rows.append(f"{d.number(1000, 9999)};{group};{amount}")
    right = [f"{group} {total[group]}" for group in sorted(total)]
    return Instance(
        "Lines of sales.txt are number;group;amount. Add up the amounts of each group and write them into sums.txt "
        "in the order "
        "of the alphabet, as in: group 120. Write the sum of all into total.txt.",
        {"sales.txt": text(rows)},
        (
            Check("sums of groups", 0.6, says("sums.txt", "\n".join(right))),
            Check("sum of all", 0.4, says("total.txt", sum(total.values()))),
        ),
        script(
            "awk -F';' '{n[$2] += $3} END {for (g in n) print g, n[g]}' sales.txt | sort > sums.txt",
            "awk -F';' '{n += $3} END {print n}' sales.txt > total.txt",
        ),
        keep=("sales.txt",),
    )


@DATA
def filter_rows(d: Draw) -> Instance:
    rows = [(name, d.number(1, 100), d.pick(["north", "south"])) for name in d.words(12)]
    low, side = d.number(30, 60), d.pick(["north", "south"])
    rows[0], rows[1] = (rows[0][0], low, side), (rows[1][0], low + 1, side)
    right = [f"{n},{v},{s}" for n, v, s in rows if v > low and s == side]
    return Instance(
        f"Write the rows of points.csv (name,value,side) with a value above {low} and the side {side} into kept.csv, "
        "below the same "
        "header.",
        {"points.csv": text(["name,value,side", *(f"{n},{v},{s}" for n, v, s in rows)])},
        one("rows are kept", says("kept.csv", text(["name,value,side", *right]))),
        script(f"awk -F, 'NR == 1 || ($2 > {low} && $3 == \"{side}\")' points.csv > kept.csv"),
        keep=("points.csv",),
    )


@DATA
def clean_addresses(d: Draw) -> Instance:
    addresses = [f"{name}@{d.word()}.example" for name in d.people(7)]
    rough = [d.pick(["", " ", "  "]) + d.pick([a, a.upper(), a.title()]) + d.pick(["", "  "]) for a in addresses]
    rough = d.mixed([*rough, addresses[0].upper(), f" {addresses[1]}"])
    return Instance(
        "Clean the mail addresses of raw.txt: no spaces, all in small letters, each once, in the order of the "
        "alphabet. Write "
        "them into clean.txt.",
        {"raw.txt": text(rough)},
        one("addresses are clean", says("clean.txt", "\n".join(sorted(addresses)))),
        script("tr -d ' ' < raw.txt | tr A-Z a-z | LC_ALL=C sort -u > clean.txt"),
        keep=("raw.txt",),
    )


@DATA
def records_to_table(d: Draw) -> Instance:
    rows = [(name, d.number(1, 99)) for name in d.words(6)]
    records = [
        text([f"name: {n}", f"size: {v}"]) if d.number(0, 1) else text([f"size: {v}", f"name: {n}"]) for n, v in rows
    ]
    return Instance(
        "records.txt holds records with the lines name: and size:, in either order, with an empty line between two. "
        "Write "
        "name,size of each into table.csv, in their order, without a header.",
        {"records.txt": "\n".join(records)},
        one("records are rows", says("table.csv", text(f"{n},{v}" for n, v in rows))),
        script(
            'awk -v RS= \'{for (i = 1; i < NF; i += 2) v[$i] = $(i + 1); print v["name:"] "," v["size:"]}\' '
            "records.txt > table.csv"
        ),
        keep=("records.txt",),
    )
