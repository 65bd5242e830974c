"""Which client works with which server: each of the usual clients, through a real gateway with the default settings, at
each of the usual servers. What is found is the table of docs/clients-and-servers.md. The clients from npm are those of
tests/integration/npm/clients_and_servers.mjs, whose folder has to be installed (npm ci).

`clients_and_servers_test.py --write` writes the table anew."""
import asyncio
import difflib
import importlib.metadata
import json
import os
import platform
import re
import sys
import unittest

import mcp_types
from mcp import Client

from stdgate_process import Stdgate

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../../.."))
NPM = os.path.join(ROOT, "tests/integration/npm")
PACKAGES = os.path.join(NPM, "node_modules")
PAGE = os.path.join(ROOT, "docs/clients-and-servers.md")
BEGIN, END = f"<!-- made by {os.path.relpath(__file__, ROOT)} -->", "<!-- end -->"
WRITE = f"STDGATE=build/release/bin/stdgate build/python/bin/python {os.path.relpath(__file__, ROOT)} --write"
PATIENCE = 30  # seconds for each step

# The servers' library needs a newer Node than the system may have.
NODE = os.path.join(PACKAGES, f"node-linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}/bin/node")
FIXTURE = [NODE, os.path.join(NPM, "conformance_server.mjs")]


def package(name):
    return [NODE, os.path.join(PACKAGES, "@modelcontextprotocol", name, "dist/index.js")]


def calling(tool, expect, **args):
    return {"tool": tool, "args": args, "expect": expect}


ASKED = {
    "form": calling("test_elicitation", "by ada", message="who?"),
    "sampling": calling("test_sampling", "by ada", prompt="say"),
    "roots": calling("test_input_required_result_list_roots", "@DIR@/root"),
}
# `title`: the head of the server's column. `config`: settings of its backend besides the command, only those that the
# server itself needs.
SERVERS = [
    {
        "name": "everything", "title": "server-everything", "era": "legacy",
        "command": [*package("server-everything"), "stdio"],
        "call": calling("echo", "Echo: hi", message="hi"),
        "asks": {
            "form": calling("trigger-elicitation-request", "by ada"),
            "url": calling("trigger-url-elicitation", "completed", url="https://example.org/form"),
            "sampling": calling("trigger-sampling-request", "by ada", prompt="say"),
            "roots": calling("get-roots-list", "@DIR@/root"),
        },
    },
    {
        "name": "filesystem", "title": "server-filesystem", "era": "legacy",
        "command": [*package("server-filesystem"), "@DIR@"],
        "call": calling("list_allowed_directories", "@DIR@"),
        "asks": {"roots": calling("list_allowed_directories", "@DIR@/root")},
    },
    {
        "name": "memory", "title": "server-memory", "era": "legacy",
        "command": package("server-memory"), "config": {"env": {"MEMORY_FILE_PATH": "@DIR@/memory"}},
        "call": calling("read_graph", "entities"), "asks": {},
    },
    {
        "name": "both", "title": "`@modelcontextprotocol/server`", "era": "both",
        "command": [*FIXTURE, "both"],
        "call": calling("test_simple_text", "simple text"), "asks": ASKED,
    },
    {
        "name": "modern", "title": "the same, modern only", "era": "modern",
        "command": [*FIXTURE, "modern"],
        "call": calling("test_simple_text", "simple text"), "asks": ASKED,
    },
    {
        "name": "time", "title": "mcp-server-time", "era": "both",
        "command": [sys.executable, "-m", "mcp_server_time", "--local-timezone", "Europe/Berlin"],
        "call": calling("get_current_time", "Asia/Tokyo", timezone="Asia/Tokyo"), "asks": {},
    },
    {
        "name": "asking", "title": "Python's `mcp`", "era": "both",
        "command": [sys.executable, os.path.join(HERE, "asking_server.py")],
        "call": calling("echo", "hi", message="hi"),
        "asks": {"form": calling("greet", "by ada"), "sampling": calling("complete", "by ada"),
                 "roots": calling("places", "@DIR@/root")},
    },
]
# The printed names of the probed clients, in the order of the rows.
CLIENTS = {
    "client legacy": "`@modelcontextprotocol/client`, `legacy`",
    "client auto": "the same, `auto`",
    "client modern": "the same, pinned to 2026-07-28",
    "client modern, bridged": "the same, with `bridge: true`",
    "sdk mcp": "`@modelcontextprotocol/sdk` at `/mcp`",
    "sdk sse": "the same at `/sse`",
    "sdk ws": "the same at `/ws`",
    "python legacy": "Python's `mcp`, `legacy`",
    "python auto": "the same, `auto`",
    "python 2026-07-28": "the same, pinned to 2026-07-28",
    "python 2026-07-28, bridged": "the same, with `bridge: true`",
    "modern ws": "modern messages at `/ws`, no library",
    "modern ws, bridged": "the same, with `bridge: true`",
    "rpc": "`curl` at `/rpc`",
}
NPM_PACKAGES = ["client", "sdk", "server", "server-everything", "server-filesystem", "server-memory"]
PYTHON_PACKAGES = ["mcp", "mcp-server-time"]
LETTERS = {"form": "F", "url": "U", "sampling": "S", "roots": "R"}


def letters(kinds):
    return "".join(letter for kind, letter in LETTERS.items() if kind in kinds)


def cell(seen):
    if not seen["calls"]:
        return "no"
    return f"yes, {letters(seen['asks'])}" if seen["asks"] else "yes"


def table(seen):
    rows = [["client", *(server["title"] for server in SERVERS)], ["---"] * (len(SERVERS) + 1),
            ["*era*", *(f"*{server['era']}*" for server in SERVERS)],
            ["*asks for*", *(f"*{letters(server['asks'])}*" if server["asks"] else "" for server in SERVERS)]]
    rows += [[title, *(cell(seen[client][server["name"]]) for server in SERVERS)] for client, title in CLIENTS.items()]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def versions():
    found = []
    for name in NPM_PACKAGES:
        with open(os.path.join(PACKAGES, "@modelcontextprotocol", name, "package.json"), encoding="utf-8") as file:
            found.append(f"{name} {json.load(file)['version']}")
    found += [f"{name} {importlib.metadata.version(name)}" for name in PYTHON_PACKAGES]
    return f"With {', '.join(found)}."


class PythonClients:
    """The official client, in each of its modes."""

    def __init__(self, port, root):
        self.port, self.root = port, root

    async def elicit(self, context, params):
        content = None if params.mode == "url" else {"name": "by ada", "username": "by ada", "email": "ada@example.org"}
        return mcp_types.ElicitResult(action="accept", content=content)

    async def sample(self, context, params):
        return mcp_types.CreateMessageResult(role="assistant", model="none",
                                             content=mcp_types.TextContent(type="text", text="by ada"))

    async def roots(self, context):
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=f"file://{self.root}")])

    @staticmethod
    async def until_called(client, call):
        """Servers offer some tools, and know their roots, only some time after a session has begun."""
        async with asyncio.timeout(PATIENCE):
            while True:
                tools = {tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools}
                if call["tool"] in tools:
                    result = await client.call_tool(call["tool"], call["args"])
                    if any(call["expect"] in getattr(part, "text", "") for part in result.content):
                        return
                await asyncio.sleep(0.02)

    async def probe(self, mode, server, path):
        seen = {"calls": False, "asks": [], "why": {}}
        step = "calls"
        try:
            async with Client(f"http://127.0.0.1:{self.port}/{path}/mcp", mode=mode,
                              elicitation_callback=self.elicit, sampling_callback=self.sample,
                              list_roots_callback=self.roots) as client:
                await self.until_called(client, server["call"])
                seen["calls"] = True
                for step, question in server["asks"].items():
                    try:
                        await self.until_called(client, question)
                        seen["asks"].append(step)
                    except Exception as error:  # clients raise different exceptions
                        seen["why"][step] = repr(error)
        except Exception as error:
            seen["why"][step] = repr(error)
        return seen

    async def probe_all(self, servers):
        seen = {f"python {mode}": {server["name"]: await self.probe(mode, server, server["name"]) for server in servers}
                for mode in ("legacy", "auto", "2026-07-28")}
        seen["python 2026-07-28, bridged"] = {
            server["name"]: await self.probe("2026-07-28", server, server["name"] + "-bridged") for server in servers}
        return seen


async def probe_npm(port, root, servers):
    process = await asyncio.create_subprocess_exec(
        NODE, os.path.join(NPM, "clients_and_servers.mjs"),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    given = {"url": f"http://127.0.0.1:{port}", "root": root, "patience": PATIENCE, "servers": servers}
    output, _ = await process.communicate(json.dumps(given).encode())
    return json.loads(output)


async def probe_all(gate):
    root = f"{gate.folder}/root"
    os.mkdir(root)
    servers = json.loads(gate.in_folder(json.dumps(SERVERS)))
    seen = await probe_npm(gate.port, root, servers)
    return seen | await PythonClients(gate.port, root).probe_all(servers)


def configuration():
    backends = {server["name"]: {"command": server["command"], **server.get("config", {})} for server in SERVERS}
    backends |= {f"{name}-bridged": {**backend, "bridge": True} for name, backend in backends.items()}
    # The configuration is JSON, which is valid YAML.
    return json.dumps({"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "limits": {"session_starts": 0},
                       "backends": backends})


async def look():
    gate = await Stdgate.configured(configuration()).start()
    try:
        return await probe_all(gate)
    finally:
        await gate.stop()


def pages(seen):
    """The page, and as it has to be."""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    made = f"{BEGIN}\n\n{table(seen)}\n\n{versions()}\n\n{END}"
    wanted, count = re.subn(f"{BEGIN}\n.*?{END}", lambda _: made, page, flags=re.DOTALL)
    assert count == 1, f"{PAGE} has no table between {BEGIN} and {END}"
    return page, wanted


def reasons(seen):
    return "\n".join(f"{client} at {server}: {why}" for client, row in seen.items()
                     for server, one in row.items() for why in one["why"].items())


class ClientsAndServers(unittest.TestCase):
    def test_the_page_says_which_client_works_with_which_server(self):
        seen = asyncio.run(look())
        page, wanted = pages(seen)
        lines = [text.split("\n") for text in (page, wanted)]
        difference = difflib.unified_diff(*lines, "the page", "what was found", n=0, lineterm="")
        self.assertEqual(page, wanted, "\n".join(["", *difference, reasons(seen), f"To write it anew: {WRITE}"]))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        unittest.main()
    found = asyncio.run(look())
    _, text = pages(found)
    with open(PAGE, "w", encoding="utf-8") as out:
        out.write(text)
    print(reasons(found))
