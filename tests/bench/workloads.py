"""The workloads: what is called how, and what is measured.

A measurement is the load generator's report as a dict, with "refused" when there is none.
"""
import json
import math
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from statistics import median

from first_answer import child_answer_ms, first_answer_ms
from programs import ECHO_CHILD, TOOLS

HTTP = ["stdgate", "before", "nginx"]
MCP = ["stdgate", "before", "supergateway", "mcp-proxy"]
MCP_SHARED = ["stdgate", "before", "mcp-proxy"]
WEBSOCKET = ["stdgate", "before", "websocketd", "supergateway"]
FEATURES = ["stdgate", "no-log", "bare"]
IDENTITIES = ["stdgate", "api-key", "token", "rules"]
ERAS = ["stdgate", "before"]
CEILING = ["stdgate", "before", "nginx"]
CALLERS = 2  # sessions that call at the same time


class Measuring:
    """Runs the load generator."""

    def __init__(self, machine, seconds, rounds, quick):
        self.machine = machine
        self.seconds = seconds
        self.rounds = rounds
        self.quick = quick

    def warm_up_s(self, program, turn):
        """Compilers at run time need theirs once."""
        warm_up_s = program.warm_up_s if turn == 0 else 0.5
        return warm_up_s / 2 if self.quick else warm_up_s

    def command(self, program, way, words):
        target = ["--", ECHO_CHILD] if program.name == "pipe" else ["--url", program.url(way)]
        watch = ["--watch", str(program.pid())] if program.pid() else []
        fields = [word for field in program.fields() for word in ("--header", field)]
        return self.machine.prefix + [f"{TOOLS}/load", program.mode(way), *watch, *fields, *words, *target]

    def load(self, program, way, words, deadline_s=10):
        words = ["--deadline", str(deadline_s), *words]
        return report_of(subprocess.run(self.command(program, way, words), capture_output=True,
                                        text=True, timeout=180, check=False))


def report_of(run):
    try:
        return json.loads(run.stdout)
    except ValueError:
        return {"refused": run.stderr.strip()[:300] or f"exit code {run.returncode}"}


class Workload:
    """Clients that call as fast as they are answered."""
    pinned = False
    turns = 1  # per round

    def __init__(self, name, way, clients=1, in_flight=1, payload=100, programs=(), pinned=False,
                 setup=None):
        self.name = name
        self.way = way
        self.clients = clients
        self.in_flight = in_flight
        self.payload = payload
        self.programs = list(programs)
        self.pinned = pinned
        self.setup = {"way": way, **(setup or {})}
        self.what = f"{way}: {clients} x {in_flight} in flight, {payload} B"

    def words(self, program):
        clients, in_flight = self.clients, self.in_flight
        if program.name == "pipe":
            clients, in_flight = 1, clients * in_flight
        elif program.name == "nginx":
            in_flight = 1
        return ["--clients", str(clients), "--in-flight", str(in_flight), "--payload", str(self.payload)]

    def measure(self, measuring, program, turn):
        # With the largest messages, a slow program needs a second per message.
        seconds = max(measuring.seconds, 3) if self.payload > 4000000 else measuring.seconds
        report = measuring.load(program, self.way, self.words(program) + [
            "--warm-up", str(measuring.warm_up_s(program, turn)), "--seconds", str(seconds)])
        if turn == 0 and program.name in ("stdgate", "before", "nginx") and "refused" not in report:
            report["system_calls_per_call"] = self.system_calls(measuring, program)
        program.forget_log()
        return report

    def system_calls(self, measuring, program):
        """Of the gateway, for each call; None when nothing can count them."""
        calls = 200 if self.payload > 50000 else 30000
        load = measuring.command(program, self.way, self.words(program) + [
            "--calls", str(calls), "--seconds", "60", "--warm-up", "0"])
        path = f"{program.folder}/system_calls"
        with counter_of(program.pid(), path) as counter:
            report = report_of(subprocess.run(load, capture_output=True, text=True, timeout=120, check=False))
        return counter.count / report["calls"] if report.get("calls") else None


class counter_of:
    """Counts the system calls of a process: by perf, which disturbs less, else by strace."""

    def __init__(self, pid, path):
        # --no-inherit: a child that starts meanwhile makes system calls of its own, which must not count.
        perf = ["perf", "stat", "--no-inherit", "-x,", "-e", "raw_syscalls:sys_enter", "-o", path]
        self.perf = bool(shutil.which("perf")) and subprocess.run(
            [*perf, "true"], capture_output=True, check=False).returncode == 0
        command = [*perf, "-p", str(pid)] if self.perf else ["strace", "-qq", "-c", "-o", path, "-p", str(pid)]
        self.path = path
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.count = 0

    def __enter__(self):
        time.sleep(0.3)  # to attach, which neither program announces
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                fields = line.split("," if self.perf else None)
                if self.perf and "raw_syscalls" in line and fields[0].isdigit():
                    self.count = int(fields[0])
                elif not self.perf and line.rstrip().endswith("total"):
                    self.count = int(fields[3])


class Beside(Workload):
    """Fast clients, alone and beside others that do something heavy; the table has both."""

    def __init__(self, name, clients, beside, **more):
        super().__init__(name, "ws", clients, **more)
        self.beside = beside
        self.what = f"{clients} fast clients beside one with {' '.join(beside)}"

    def way_of(self, program):
        return "http" if "http" in program.targets else "ws"

    def measure(self, measuring, program, turn):
        way = self.way_of(program)
        warm_up_s = measuring.warm_up_s(program, turn)
        words = self.words(program) + ["--warm-up", str(warm_up_s), "--seconds", str(measuring.seconds)]
        alone = measuring.load(program, way, words)
        other = measuring.command(program, way, [
            "--clients", "1", *self.beside, "--warm-up", "0", "--seconds",
            str(measuring.seconds + warm_up_s + 0.5)])
        process = subprocess.Popen(other, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            report = measuring.load(program, way, words)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        heavy = report_of(subprocess.CompletedProcess(other, process.returncode, out, err))
        report["alone"] = {key: alone.get(key) for key in ("calls_per_second", "latency_us", "errors")}
        report["heavy"] = {key: heavy.get(key) for key in ("calls", "errors", "refused", "calls_per_second")}
        report["errors"] = report.get("errors", 0) + (heavy.get("errors") or 0)
        program.forget_log()
        return report


class Idle(Workload):
    """Connections that are opened and held."""

    def __init__(self, name, way, clients, programs):
        super().__init__(name, way, clients, programs=programs, setup={
            "limits": "limits: { connections: 20000 }"})
        self.what = f"{clients} connections, {way}"

    def measure(self, measuring, program, turn):
        # Memory of the previous turn's connections is not returned, and would hide the cost of these connections.
        if turn > 0:
            program.stop()
            program.start()
        # A warm-up, so that the first calls' single costs do not count as costs of a connection.
        warm = "ws" if "ws" in program.targets else self.way
        measuring.load(program, warm, ["--clients", "16", "--seconds", "0.3", "--warm-up", "0"])
        report = measuring.load(program, self.way, [
            "--clients", str(self.clients), "--warm-up", "0",
            "--seconds", "1" if measuring.quick else "3"], deadline_s=60)
        if "watched" in report:
            gateway, children = report["watched"], report["descendants"]
            report["idle"] = {
                "bytes_each": (gateway["resident_bytes"] - gateway["resident_bytes_before"]) / self.clients,
                "child_bytes_each":
                    (children["resident_bytes"] - children["resident_bytes_before"]) / self.clients,
                "processes": children["processes"],
            }
        program.forget_log()
        return report


class Sessions(Workload):
    """More MCP sessions than children: each call finds its session parked."""

    def __init__(self, name, way, sessions):
        super().__init__(name, way, CALLERS, programs=["stdgate", "before"], setup={
            "limits": "limits: { session_starts: 0 }"})
        self.sessions = sessions
        self.what = f"{sessions} sessions on 16 children, {CALLERS} calling at once"

    def measure(self, measuring, program, turn):
        # Without a restart, the sessions of the previous turn would still exist.
        if turn > 0:
            program.stop()
            program.start()
        # A quick run uses a tenth of the sessions.
        sessions = self.sessions // 10 if measuring.quick else self.sessions
        report = measuring.load(program, self.way, self.words(program) + [
            "--sessions", str(sessions // CALLERS), "--warm-up", "0.5",
            "--seconds", str(2 if measuring.quick else 10)], deadline_s=150)
        program.forget_log()
        return report


class Kill(Workload):
    """kill -9 of the child under load."""

    def measure(self, measuring, program, turn):
        # Without a restart, the gateway would delay the next start of a child after a second loss.
        if turn > 0:
            program.stop()
            program.start()
        measuring.load(program, self.way, ["--calls", "10", "--warm-up", "0"])
        victims = echo_children(program.pid())
        if not victims:
            return {"refused": "has no child"}
        report = measuring.load(program, self.way, self.words(program) + [
            "--warm-up", "0.3", "--seconds", "1.5", "--kill", str(victims[0]), "--kill-after", "0.5"])
        program.forget_log()
        return report


class Reload(Workload):
    """The configuration is read again ten times a second; the table has the same clients without that, too."""
    PAUSE_S = 0.1

    def __init__(self, name, what, before, after, **more):
        """This text of the file becomes the other one, and that the first again."""
        super().__init__(name, "http", 16, **more)
        self.texts = (before, after)
        self.what = f"16 clients while {what} is replaced ten times a second"

    def measure(self, measuring, program, turn):
        words = self.words(program) + [
            "--warm-up", str(measuring.warm_up_s(program, turn)), "--seconds", str(measuring.seconds)]
        alone = measuring.load(program, self.way, words)
        program.forget_log()
        ends = threading.Event()
        reloading = threading.Thread(target=self.reload, args=(program, ends))
        reloading.start()
        try:
            report = measuring.load(program, self.way, words)
        finally:
            ends.set()
            reloading.join()
        with open(program.log, encoding="utf-8") as log:
            said = log.read()
        report["reloads"] = said.count("configuration reloaded changed=backends")
        report["alone"] = {key: alone.get(key) for key in ("calls_per_second", "latency_us", "errors")}
        # No call may fail.
        report["errors"] = (report.get("errors", 0) + sum(report.get("faults", {}).values()) +
                            said.count("configuration not reloaded"))
        program.forget_log()
        return report

    def reload(self, program, ends):
        path = f"{program.folder}/gateway.yaml"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        while not ends.wait(self.PAUSE_S):
            before, after = self.texts if self.texts[1] not in text else reversed(self.texts)
            text = text.replace(before, after)
            # Replaced as a whole, because the gateway may be reading the previous file.
            with open(f"{path}.next", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(f"{path}.next", path)
            os.kill(program.pid(), signal.SIGHUP)


class Cost(Workload):
    """What features cost: CPU for each call, with them and without."""
    turns = 2  # because differences are only a few per cent

    def measure(self, measuring, program, turn):
        report = measuring.load(program, self.way, self.words(program) + [
            "--warm-up", "0.2", "--seconds", str(measuring.seconds)])
        program.forget_log()
        return report


class Generated(Workload):
    """Called by h2load, which speaks TLS too: HTTP/1.1, kept connections. It looks at the status alone."""
    turns = 2

    def measure(self, measuring, program, turn):
        body = f"{program.folder}/request"
        text = "x" * (self.payload - 60)
        with open(body, "w", encoding="utf-8") as file:
            file.write('{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"' + text + '"}}')
        before = cpu_us(program.pid())
        run = subprocess.run(
            measuring.machine.prefix + [
                "h2load", "--h1", "-c", str(self.clients), "-D", str(math.ceil(measuring.seconds)), "-d", body,
                "-H", "content-type: application/json", program.url(self.way)],
            capture_output=True, text=True, timeout=60, check=False)
        spent = [after - first for after, first in zip(cpu_us(program.pid()), before)]
        program.forget_log()
        rate = re.search(r"finished in [\d.]+\w*, ([\d.]+) req/s", run.stdout)
        counts = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", run.stdout)
        if not rate or not counts or not int(counts[1]):
            return {"refused": (run.stderr or run.stdout)[-300:]}
        done = int(counts[1])
        return {"calls_per_second": float(rate[1]), "errors": int(counts[2]) + int(counts[3]),
                "watched": {"user_us_per_call": spent[0] / done, "system_us_per_call": spent[1] / done}}


def cpu_us(pid):
    """What a process has used, in user and in system."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return [int(field) * 1e6 / os.sysconf("SC_CLK_TCK") for field in fields[11:13]]


class Start(Workload):
    """From the start of the program to its first answer, beside the child alone."""

    def __init__(self, name, programs):
        super().__init__(name, "", programs=programs)
        self.what = "start to first answer, and the child's own"

    def measure(self, measuring, program, turn):
        way = next(way for way in ("http", "ws", "mcp") if way in program.targets)
        child = program.prefix() + [ECHO_CHILD]
        # Programs that compile at run time need a second for each start, so they are tried once.
        tries = 1 if program.warm_up_s > 1 else 5 if measuring.quick else 10
        alone, through = [], []
        try:
            for _ in range(tries):
                program.stop()
                alone.append(child_answer_ms(child))
                through.append(first_answer_ms(program, way))
        except (OSError, RuntimeError) as error:
            return {"refused": str(error)}
        return {"start": {"ms": median(through), "child_ms": median(alone)}}


def echo_children(pid):
    """The descendants of a process that are echo_child."""
    parents, names = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        names[int(entry)] = text[text.index("(") + 1:text.rindex(")")]
        parents[int(entry)] = int(text[text.rindex(")") + 2:].split()[1])
    found, family = [], [pid]
    for each in family:
        children = [child for child, parent in parents.items() if parent == each]
        family += children
        found += [child for child in children if names[child] == "echo_child"]
    return found


def all_workloads():
    mega, kilo = 1000000, 1000
    return [
        Workload("http-1", "http", 1, programs=HTTP, pinned=True),
        Workload("http-16", "http", 16, programs=HTTP, pinned=True),
        Workload("http-64", "http", 64, programs=HTTP, pinned=True),
        Workload("mcp-16", "mcp", 16, programs=MCP),
        Workload("mcp-64", "mcp", 64, programs=MCP),
        # All sessions share one child, as with mcp-proxy. Above, stdgate and supergateway have a child per session.
        Workload("mcp-shared-64", "mcp-shared", 64, programs=MCP_SHARED),
        # One child for all sessions, as in mcp-shared: combinations of the child's era and the clients' era.
        Workload("mcp-shared-16", "mcp-shared", 16, programs=ERAS),
        Workload("mcp-modern-16", "mcp-modern", 16, programs=ERAS),
        Workload("mcp-bridged-16", "mcp-bridged", 16, programs=ERAS),
        Workload("mcp-at-modern-16", "mcp-at-modern", 16, programs=ERAS),
        # These children behind a virtual server.
        Workload("mcp-server-16", "mcp-server", 16, programs=ERAS),
        Workload("mcp-modern-server-16", "mcp-modern-server", 16, programs=ERAS),
        Workload("mcp-modern-64", "mcp-modern", 64, programs=ERAS),
        Workload("mcp-bridged-64", "mcp-bridged", 64, programs=ERAS),
        Workload("ws-1x16", "ws", 1, 16, programs=WEBSOCKET + ["pipe"], pinned=True),
        Workload("ws-16x16", "ws", 16, 16, programs=WEBSOCKET + ["pipe"]),
        Workload("ws-64x1", "ws", 64, 1, programs=WEBSOCKET),
        # nginx is compared with its 64 x 1 over HTTP.
        Workload("ws-64x16", "ws", 64, 16, programs=WEBSOCKET + ["nginx", "pipe"], pinned=True),
        Workload("http-10k", "http", 16, 1, 10 * kilo, programs=["stdgate", "before"]),
        Workload("ws-10k", "ws", 16, 1, 10 * kilo, programs=WEBSOCKET),
        Workload("http-1M", "http", 4, 1, mega, programs=["stdgate", "before", "pipe"]),
        Workload("ws-1M", "ws", 4, 1, mega, programs=WEBSOCKET + ["pipe"]),
        Workload("mcp-1M", "mcp", 4, 1, mega, programs=MCP),
        Workload("http-16M", "http", 1, 1, 16 * mega, programs=["stdgate", "before", "pipe"]),
        Workload("ws-16M", "ws", 1, 1, 16 * mega, programs=WEBSOCKET),
        Beside("bulk", 8, ["--payload", str(4 * mega)], setup={"children": 2},
               programs=["stdgate", "before", "supergateway"]),
        Beside("slow", 15, ["--method", "sleep", "--sleep-ms", "500"],
               programs=["stdgate", "before", "supergateway"]),
        Idle("idle-ws-1k", "idle-ws", 1000, WEBSOCKET),
        Idle("idle-ws-10k", "idle-ws", 10000, ["stdgate", "before"]),
        Idle("idle-sse-1k", "idle-sse", 1000, ["stdgate", "before"]),
        Idle("idle-sse-10k", "idle-sse", 10000, ["stdgate", "before"]),
        Sessions("sessions-10k", "parked", 10 * kilo),
        Sessions("sessions-warm", "warm", 10 * kilo),
        Kill("kill", "http", 16, programs=["stdgate", "before"]),
        Reload("reload-beside", "another backend", "tools: { command", "tools: { timeout: 29s, command",
               programs=["stdgate", "before"]),
        Reload("reload-itself", "their own backend", "default: true\n", "default: true\n    timeout: 29s\n",
               programs=["stdgate", "before"]),
        Start("start", ["stdgate", "before", "websocketd", "supergateway", "mcp-proxy"]),
        Cost("cost-http-64", "http", 64, programs=FEATURES),
        Cost("cost-ws-64x16", "ws", 64, 16, programs=FEATURES),
        Cost("identity-http-64", "http", 64, programs=IDENTITIES),
        Cost("identity-mcp-64", "mcp-shared", 64, programs=IDENTITIES),
        # Both use the same generator, so that they differ only by TLS.
        Generated("plain-64", "http", 64, programs=CEILING, pinned=True),
        Generated("tls-64", "http", 64, programs=CEILING, pinned=True, setup={"tls": True}),
        Generated("tls-10k", "http", 16, 1, 10 * kilo, programs=CEILING, setup={"tls": True}),
    ]
