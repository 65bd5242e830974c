"""The table of a run: one line for each program in each workload, and what has to be said below it."""
from statistics import median

HEADINGS = ["workload", "cores", "program", "calls/s", "lowest", "highest", "stdgate /", "MB/s", "p50 us",
            "p99 us", "us/call", "children", "syscalls", "memory", "errors"]


def figure(value):
    if value is None:
        return ""
    if abs(value) >= 10000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def memory(size):
    if size is None:
        return ""
    return f"{size / 1e6:.1f} MB" if abs(size) >= 1e6 else f"{size / 1e3:.2f} kB"


class Runs:
    """The turns of one row."""

    def __init__(self, row):
        self.all = row["runs"]
        self.good = [run for run in self.all if "refused" not in run]

    def values(self, *path):
        found = []
        for run in self.good:
            value = run
            for step in path:
                value = value.get(step) if value else None
            if value is not None:
                found.append(value)
        return found

    def median(self, *path):
        values = self.values(*path)
        return median(values) if values else None

    def calls_per_second(self):
        return self.median("calls_per_second") or None

    def cpu_us(self, whose):
        user = self.median(whose, "user_us_per_call")
        system = self.median(whose, "system_us_per_call")
        return None if user is None or not self.calls_per_second() else user + system


def line_of(row, stdgate_calls):
    runs = Runs(row)
    calls = runs.calls_per_second()
    rates = runs.values("calls_per_second") if calls else []
    bytes_per_second = runs.median("bytes_per_second") or 0
    peak = runs.median("watched", "peak_resident_bytes")
    each = runs.median("idle", "bytes_each")
    errors = sum(runs.values("errors"))
    return [
        row["workload"], row["cores"], row["program"], figure(calls),
        figure(min(rates)) if rates else "", figure(max(rates)) if rates else "",
        figure(stdgate_calls / calls) if calls and stdgate_calls and row["program"] != "stdgate" else "",
        figure(bytes_per_second / 1e6) if calls and bytes_per_second / calls > 5000 else "",
        figure(runs.median("latency_us", "p50")) if calls else "",
        figure(runs.median("latency_us", "p99")) if calls else "",
        figure(runs.cpu_us("watched")),
        figure(runs.median("idle", "processes")) if each is not None else figure(runs.cpu_us("descendants")),
        figure(runs.median("system_calls_per_call")),
        memory(peak) if each is None else f"{memory(each)} each",
        "refused" if not runs.good else str(errors),
    ]


def notes_of(row):
    """What the columns do not say."""
    runs = Runs(row)
    name = f"{row['workload']}, {row['cores']}, {row['program']}"
    for run in runs.all:
        if "refused" in run or run.get("first_error"):
            yield f"{name}: {run.get('refused') or run['first_error']}"
            break
    alone = runs.median("alone", "latency_us", "p99")
    if alone:
        beside = runs.median("latency_us", "p99")
        reloads = sum(runs.values("reloads"))
        other = (f"{reloads} reloads" if reloads else
                 f"the heavy client: {figure(runs.median('heavy', 'calls_per_second'))} calls/s")
        yield (f"{name}: p99 {figure(alone)} us alone, {figure(beside)} beside ({figure(beside / alone)}x); "
               f"{figure(runs.median('alone', 'calls_per_second'))} calls/s alone; {other}")
    if runs.values("kill"):
        faults = {}
        for run in runs.good:
            for code, count in run["faults"].items():
                faults[code] = faults.get(code, 0) + count
        yield (f"{name}: {sum(runs.values('kill', 'in_flight'))} calls in flight, answered within "
               f"{figure(max(runs.values('kill', 'in_flight_answered_ms')))} ms; faults {faults}; first result after "
               f"{figure(runs.median('kill', 'first_result_ms'))} ms "
               f"({figure(max(runs.values('kill', 'first_result_ms')))} at most); "
               f"{sum(runs.values('unanswered'))} never answered")
    if runs.values("start"):
        took, child = runs.median("start", "ms"), runs.median("start", "child_ms")
        yield (f"{name}: {figure(took)} ms from start to first answer, "
               f"{figure(took - child)} ms beyond the child's own {figure(child)} ms")
    if runs.values("idle"):
        yield f"{name}: {figure(runs.median('idle', 'child_bytes_each'))} B in children for each connection"


# The cost of a feature: the difference between a program with the feature and a program without it.
COSTS = [("stdgate", "no-log", "the access log"), ("stdgate", "bare", "metrics and access log"),
         ("api-key", "stdgate", "an API key"), ("token", "stdgate", "a token"), ("rules", "api-key", "three rules")]

# The costs of MCP's eras in one program: these workloads, compared with sessions at a legacy child.
ERAS = [("mcp-modern", "a modern client and a modern child"), ("mcp-bridged", "a modern client at a legacy child"),
        ("mcp-at-modern", "a session at a modern child"), ("mcp-server", "a session at a virtual server"),
        ("mcp-modern-server", "a modern client at a virtual server of a modern child")]


def era_notes(cpu_us):
    for (workload, cores, program), spent in cpu_us.items():
        name, _, clients = workload.rpartition("-")
        legacy = cpu_us.get((f"mcp-shared-{clients}", cores, program))
        for of_era, what in ERAS:
            if name == of_era and spent and legacy:
                yield (f"{workload}, {cores}, {program}: {what}: {figure(spent)} us of CPU a call, "
                       f"{spent / legacy:.2f} of a session at a legacy child ({figure(legacy)} us)")


def cost_notes(rows):
    """What the rows say together: programs beside themselves without some features, and MCP's eras."""
    cpu_us = {(row["workload"], row["cores"], row["program"]): Runs(row).cpu_us("watched") for row in rows}

    def note(where, what, whole, without):
        if whole and without:
            yield f"{where}: {what}: {figure(whole - without)} of {figure(whole)} us of CPU a call, {1 - without / whole:.1%}"

    for workload, cores in dict.fromkeys((row["workload"], row["cores"]) for row in rows):
        for with_it, without_it, what in COSTS:
            yield from note(f"{workload}, {cores}", what, cpu_us.get((workload, cores, with_it)),
                            cpu_us.get((workload, cores, without_it)))
    for (workload, cores, program), whole in cpu_us.items():
        if workload == "tls-64":
            yield from note(f"{workload}, {cores}, {program}", "TLS", whole, cpu_us.get(("plain-64", cores, program)))
    yield from era_notes(cpu_us)


def print_table(rows):
    stdgate = {(row["workload"], row["cores"]): Runs(row).calls_per_second()
               for row in rows if row["program"] == "stdgate"}
    lines = [line_of(row, stdgate.get((row["workload"], row["cores"]))) for row in rows]
    widths = [max(len(line[column]) for line in [HEADINGS, *lines]) for column in range(len(HEADINGS))]

    def show(line):
        cells = [cell.ljust(width) if column < 3 else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())

    show(HEADINGS)
    previous = None
    for line in lines:
        if previous and line[:2] != previous:
            print()
        previous = line[:2]
        show(line)
    notes = [note for row in rows for note in notes_of(row)] + list(cost_notes(rows))
    if notes:
        print()
    for note in notes:
        print(note)
