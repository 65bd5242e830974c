"""The programs that are measured: how each is started, called, and ended.

Each lives in a session of its own, dies with the benchmark (setpriv --pdeathsig), and is ended with all
that it has started: SIGTERM to the program, then SIGKILL to its process group.
"""
import contextlib
import os
import re
import signal
import socket
import subprocess
import time

from credentials import API_KEY, METHOD_RULES, TOOL_RULES, auth_section, make_certificate, token_field

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLS = f"{ROOT}/build/release/tests/bench"
ECHO_CHILD = f"{TOOLS}/echo_child"
NPM = f"{HERE}/npm/node_modules"


class Machine:
    """Where programs run: their folder, and their cores."""

    def __init__(self, folder, cores):
        self.folder = folder
        self.prefix = ["taskset", "-c", "0"] if cores == "one" else []
        self.count = 0

    def new_folder(self):
        self.count += 1
        path = f"{self.folder}/{self.count}-{time.monotonic_ns()}"
        os.mkdir(path)
        return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """`targets` says for each way to call (http, ws, mcp, …) the load generator's mode and the path."""
    name = ""
    warm_up_s = 0.5
    targets = {}

    def __init__(self, machine, setup):
        self.machine = machine
        self.setup = setup
        self.folder = machine.new_folder()
        self.log = f"{self.folder}/log"
        self.port = 0
        self.process = None

    def command(self):
        raise NotImplementedError

    def prefix(self):
        return self.machine.prefix + ["setpriv", "--pdeathsig", "TERM"]

    def start(self, poll_s=0.02):
        self.port = free_port()
        with open(self.log, "ab") as log, open(f"{self.folder}/out", "wb") as out:
            self.process = subprocess.Popen(
                self.prefix() + self.command(),
                stdin=subprocess.DEVNULL, stdout=out, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 20
        while not self.answers():
            if self.process.poll() is not None:
                raise RuntimeError(f"ended with {self.process.returncode}: {self.tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"does not listen: {self.tail()}")
            time.sleep(poll_s)

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def secure(self):
        return self.setup.get("tls", False)

    def url(self, way):
        return f"{'https' if self.secure() else 'http'}://127.0.0.1:{self.port}{self.targets[way][1]}"

    def mode(self, way):
        return self.targets[way][0]

    def fields(self):
        """More lines of each request's header."""
        return []

    def pid(self):
        return self.process.pid

    def tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-300:].strip()

    def forget_log(self):
        # A log with a line for each call would fill the disk.
        os.truncate(self.log, 0)

    def stop(self):
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(8)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Stdgate(Program):
    """Everything on, at its default; calls of any backend go to children of echo_child."""
    name = "stdgate"
    binary = f"{ROOT}/build/release/bin/stdgate"
    switches = 'admin: "127.0.0.1:0"'
    method_rules = ""
    tool_rules = ""
    targets = {"http": ("http", "/rpc"), "ws": ("ws", "/ws"), "mcp": ("mcp", "/tools/mcp"),
               "mcp-shared": ("mcp", "/shared/mcp"),
               # Clients of MCP's modern era with a modern child and with a legacy child, and sessions with a modern
               # child.
               "mcp-modern": ("modern", "/modern/mcp"), "mcp-bridged": ("modern", "/shared/mcp"),
               "mcp-at-modern": ("mcp", "/modern/mcp"),
               # These children as members of virtual servers.
               "mcp-server": ("mcp", "/team/mcp"), "mcp-modern-server": ("modern", "/fresh/mcp"),
               "parked": ("mcp", "/parked/mcp"), "warm": ("mcp", "/warm/mcp"),
               "idle-ws": ("idle-ws", "/ws"), "idle-sse": ("idle-sse", "/shared/sse")}

    def command(self):
        config = f"{self.folder}/gateway.yaml"
        # The number of children: one, unless the workload demands another number.
        children = self.setup.get("children", 1)
        limits = self.setup.get("limits", "")
        tls = ""
        if self.secure():
            make_certificate(self.folder)
            tls = f"tls: {{ certificate: {self.folder}/tls.crt, key: {self.folder}/tls.key }}"
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""listen: ["127.0.0.1:0"]
{self.switches}
{limits}
{tls}
backends:
  plain:
    command: ["{ECHO_CHILD}"]
    protocol: jsonrpc
    default: true
    {self.method_rules}
    pool: {{ min: {children}, max: {max(children, 1)}, sessions: 20000 }}
  tools: {{ command: ["{ECHO_CHILD}"], protocol: mcp, pool: {{ max: 100 }} }}
  parked: {{ command: ["{ECHO_CHILD}"], protocol: mcp, pool: {{ max: 16, sessions: 20000 }} }}
  warm: {{ command: ["{ECHO_CHILD}"], protocol: mcp, pool: {{ max: 16, sessions: 20000, warm: {self.warm()} }} }}
  shared:
    command: ["{ECHO_CHILD}"]
    protocol: mcp
    isolation: shared
    {self.tool_rules}
    pool: {{ sessions: 20000 }}
  modern: {{ command: ["{ECHO_CHILD}", modern], protocol: mcp, revision: modern, pool: {{ sessions: 20000 }} }}
servers:
  team: {{ members: [{{ backend: shared, prefix: "" }}] }}
  fresh: {{ members: [{{ backend: modern, prefix: "" }}] }}
""")
        return [self.binary, "--config", config]

    def warm(self):
        return 4 if self.setup.get("way") == "warm" else 0

    def answers(self):
        with open(f"{self.folder}/out", encoding="utf-8") as out:
            said = out.read()
        with open(self.log, encoding="utf-8") as log:
            said += log.read()
        found = re.search(r"listening on https?://127\.0\.0\.1:(\d+)", said)
        if not found:
            return False
        self.port = int(found.group(1))
        return True


class WithoutLog(Stdgate):
    """No line for a call."""
    name = "no-log"
    switches = Stdgate.switches + "\nlog: { calls: false }"


class Bare(Stdgate):
    """Without what can be turned off: no line for a call, no metrics. Limits always hold."""
    name = "bare"
    switches = 'admin: "off"\nlog: { calls: false }'


class Keyed(Stdgate):
    """Asks who calls; they show an API key."""
    name = "api-key"
    field = API_KEY

    def command(self):
        self.switches = f"{Stdgate.switches}\n{auth_section(self.folder)}"
        self.field = self.credential()
        return super().command()

    def credential(self):
        token_field(self.folder)  # issuers' keys are configured but unused
        return API_KEY

    def fields(self):
        return [self.field]


class Token(Keyed):
    """The same with a token."""
    name = "token"

    def credential(self):
        return token_field(self.folder)


class Ruled(Keyed):
    """The same with an API key, and rules."""
    name = "rules"
    method_rules = METHOD_RULES
    tool_rules = TOOL_RULES


class Nginx(Program):
    name = "nginx"
    targets = {"http": ("post", "/"), "ws": ("post", "/"), "mcp": ("post", "/")}

    def command(self):
        config = f"{self.folder}/nginx.conf"
        tls = ""
        if self.secure():
            make_certificate(self.folder)
            tls = f"ssl_certificate {self.folder}/tls.crt; ssl_certificate_key {self.folder}/tls.key;"
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""daemon off;
master_process off;
pid {self.folder}/nginx.pid;
error_log {self.folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {self.folder}/body;
  proxy_temp_path {self.folder}/proxy;
  fastcgi_temp_path {self.folder}/fastcgi;
  uwsgi_temp_path {self.folder}/uwsgi;
  scgi_temp_path {self.folder}/scgi;
  server {{
    listen 127.0.0.1:{self.port}{" ssl" if tls else ""};
    {tls}
    location / {{ default_type application/json; return 200 "{'x' * 100}"; }}
  }}
}}
""")
        return ["nginx", "-e", f"{self.folder}/error.log", "-p", self.folder, "-c", config]


class Websocketd(Program):
    name = "websocketd"
    targets = {"ws": ("ws", "/"), "idle-ws": ("idle-ws", "/")}

    def command(self):
        return ["websocketd", "--address", "127.0.0.1", "--port", str(self.port),
                "--loglevel", "error", ECHO_CHILD]


class Supergateway(Program):
    """Its WebSocket mode has one child for all, its HTTP mode one for each session."""
    name = "supergateway"
    warm_up_s = 2
    targets = {"ws": ("ws", "/message"), "mcp": ("mcp", "/mcp"), "idle-ws": ("idle-ws", "/message")}

    def command(self):
        http = ["--outputTransport", "streamableHttp", "--stateful"]
        transport = http if self.setup.get("way") == "mcp" else ["--outputTransport", "ws"]
        return ["node", f"{NPM}/supergateway/dist/index.js", "--stdio", ECHO_CHILD, *transport,
                "--port", str(self.port), "--logLevel", "none"]


class McpProxy(Program):
    name = "mcp-proxy"
    warm_up_s = 2
    targets = {"mcp": ("mcp", "/mcp"), "mcp-shared": ("mcp", "/mcp")}

    def command(self):
        return ["node", f"{NPM}/mcp-proxy/dist/bin/mcp-proxy.mjs", "--host", "127.0.0.1",
                "--port", str(self.port), "--", ECHO_CHILD]


class Pipe(Program):
    """No program: the generator starts the child itself."""
    name = "pipe"
    targets = {"http": ("pipe", ""), "ws": ("pipe", "")}

    def start(self, poll_s=0):
        open(self.log, "wb").close()

    def pid(self):
        return 0


def program_makers(binary, compare_binary):
    """Classes by the names that workloads use."""
    makers = {each.name: each for each in (
        Stdgate, WithoutLog, Bare, Keyed, Token, Ruled, Nginx, Websocketd, Supergateway, McpProxy, Pipe)}
    if binary:
        for each in [maker for maker in makers.values() if issubclass(maker, Stdgate)]:
            makers[each.name] = type("Measured", (each,), {"binary": os.path.abspath(binary)})
    if compare_binary:
        makers["before"] = type("Before", (Stdgate,), {
            "name": "before", "binary": os.path.abspath(compare_binary)})
    return makers
