"""A server that keeps something in its memory, under today's clients: none sees what another one has told it, and each
finds what it has told itself, or is told that there is no such thing. Each of the usual clients in its default mode;
clients that know MCP 2026-07-28 alone; clients of one principal."""
import asyncio
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import fastmcp
import httpx2
import mcp
import mcp_types
from mcp.client.streamable_http import streamable_http_client

from stdgate_process import Stdgate

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../../.."))
NPM = os.path.join(HERE, "../npm")
NOTES = [sys.executable, os.path.join(HERE, "notes_server.py")]
MODERN = "2026-07-28"
KEYS = {name: f"{name}-0123456789abcdef" for name in ("ada", "bob")}


class Python:
    """A client of a Python library, and what it needs around it."""

    def __init__(self, client, *around):
        self.client, self.around = client, around

    @contextlib.asynccontextmanager
    async def connected(self):
        async with contextlib.AsyncExitStack() as stack:
            for context in (*self.around, self.client):
                await stack.enter_async_context(context)
            yield self

    async def call(self, *steps):
        results = await asyncio.gather(*(self.client.call_tool(tool, args) for tool, args in steps))
        return [result.content[0].text for result in results]


# A client on the official library. If it has a `word`, it answers elicitations with that word.
def official(url, key=None, mode="auto", word=None):
    async def elicit(context, params):
        return mcp_types.ElicitResult(action="accept", content={"text": word})

    headers = {"authorization": f"Bearer {key}"} if key else {}
    http = httpx2.AsyncClient(headers=headers, timeout=60)
    transport = streamable_http_client(url, http_client=http)
    return Python(mcp.Client(transport, mode=mode, **({"elicitation_callback": elicit} if word else {})), http)


def fast(url, key=None, mode="auto", word=None):
    async def elicit(message, response_type, params, context):
        return response_type(text=word)

    return Python(fastmcp.Client(url, auth=key, mode=mode, **({"elicitation_handler": elicit} if word else {})))


class Program:
    """A client in another language: a program that reads lists of steps, one a line, and prints lists of answers."""

    def __init__(self, *words):
        self.words = words

    @contextlib.asynccontextmanager
    async def connected(self):
        self.process = await asyncio.create_subprocess_exec(
            *self.words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        try:
            yield self
        finally:
            self.process.stdin.close()
            assert await asyncio.wait_for(self.process.wait(), 30) == 0

    async def call(self, *steps):
        line = json.dumps([{"tool": tool, "args": args} for tool, args in steps])
        self.process.stdin.write(f"{line}\n".encode())
        return json.loads(await self.process.stdout.readline())


def node(url):
    return Program(shutil.which("node"), os.path.join(NPM, "steps.mjs"), url)


def go_version():
    """Of the Go on this machine; (0, 0): there is none."""
    program = shutil.which("go")
    text = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True).stdout if program else ""
    found = re.match(r"go(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else (0, 0)


def go(url):
    return Program(os.path.join(ROOT, "build/go/client"), url)


def build_go():
    folder = os.path.join(ROOT, "build/go")
    subprocess.run(["go", "build", "-modcacherw", "-o", f"{folder}/client", "."], check=True,
                   cwd=os.path.join(HERE, "../go"), env=os.environ | {"GOPATH": f"{folder}/path"})


def configuration(*lines):
    hashes = {name: hashlib.sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
    keys = ", ".join(f'{{ name: {name}, hash: "sha256:{digest}" }}' for name, digest in hashes.items())
    return "\n".join(['listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', f"auth: {{ api_keys: [{keys}] }}", "backends:",
                      "  notes:", f"    command: {json.dumps(NOTES)}", *(f"    {line}" for line in lines), ""])


async def notes_of(client):
    """Which it sees, and the pid of the server that keeps them."""
    seen = json.loads((await client.call(("notes", {})))[0])
    return seen["notes"], seen["pid"]


def note(text, tool="note"):
    return tool, {"text": text}


class Served(unittest.IsolatedAsyncioTestCase):
    async def serve(self, gate):
        await gate.start()
        self.addAsyncCleanup(self.stop, gate)
        self.url = f"http://127.0.0.1:{gate.port}/mcp"
        return gate

    async def stop(self, gate):
        self.assertEqual(await gate.stop(), (0, {}))

    async def connect(self, *clients):
        """All at the same time, each in a task of its own, as their libraries want it."""
        end = asyncio.Event()

        async def hold(client, ready):
            try:
                async with client.connected():
                    ready.set_result(client)
                    await end.wait()
            except BaseException as error:
                if ready.done():
                    raise
                ready.set_exception(error)

        ready = [asyncio.get_running_loop().create_future() for _ in clients]
        tasks = [asyncio.create_task(hold(*each)) for each in zip(clients, ready)]

        async def stop():
            end.set()
            await asyncio.gather(*tasks)

        self.addAsyncCleanup(stop)
        return await asyncio.gather(*ready)

    async def write(self, name, client):
        """Four notes at a time, and one more."""
        texts = [f"{name}{number}" for number in range(4)]
        await client.call(*(note(text, "slow_note") for text in texts))
        await client.call(note(f"{name}4"))
        return [*texts, f"{name}4"]


class DefaultSettings(Served):
    async def keeps_apart(self, open_client):
        gate = await self.serve(Stdgate(NOTES))
        # Two clients come together, before the gateway knows the server's era. A third comes later.
        ada, bob = await self.connect(open_client(self.url), open_client(self.url))
        written = await asyncio.gather(self.write("a", ada), self.write("b", bob))
        eve, = await self.connect(open_client(self.url))
        seen = [await notes_of(client) for client in (ada, bob, eve)]
        self.assertEqual([texts for texts, _ in seen], [*written, []])
        self.assertEqual(len({pid for _, pid in seen}), 3)
        return gate

    async def test_the_official_client_of_python(self):
        gate = await self.keeps_apart(official)
        self.assertEqual(gate.log.count("modern client told to open a session"), 1)
        self.assertIn("bridge: true", gate.log)

    async def test_fastmcp(self):
        await self.keeps_apart(fast)

    async def test_the_official_client_of_typescript(self):
        await self.keeps_apart(node)

    @unittest.skipIf(go_version() < (1, 25), "the official SDK of Go wants Go 1.25 or newer, which is not here")
    async def test_the_official_client_of_go(self):
        build_go()
        await self.keeps_apart(go)

    async def test_a_client_that_cannot_open_a_session_is_told(self):
        await self.serve(Stdgate(NOTES))
        ada, = await self.connect(official(self.url, mode=MODERN))
        with self.assertRaises(mcp.MCPError) as refused:
            await ada.call(note("a"))
        self.assertIn("-32022", repr(refused.exception))


class Bridged(Served):
    """Nobody knows which calls are of the same anonymous client, so nothing is kept from one to the next."""

    async def test_each_call_has_a_fresh_process(self):
        await self.serve(Stdgate(NOTES, "--bridge", "true"))
        ada, bob = await self.connect(*(official(self.url, mode=MODERN) for _ in range(2)))
        await asyncio.gather(self.write("a", ada), self.write("b", bob))
        seen = [await notes_of(client) for client in (ada, ada, bob)]
        self.assertEqual([texts for texts, _ in seen], [[], [], []])
        self.assertEqual(len({pid for _, pid in seen}), 3)

    async def test_a_principal_finds_its_process_again(self):
        await self.serve(Stdgate.configured(configuration("bridge: true")))
        ada, bob = await self.connect(*(official(self.url, key=key, mode=MODERN) for key in KEYS.values()))
        await ada.call(note("a"))
        await bob.call(note("b"))
        self.assertEqual([(await notes_of(client))[0] for client in (ada, bob)], [["a"], ["b"]])


class Principals(Served):
    async def open_all(self, **more):
        """Of each principal: two clients of the modern era, one with a session."""
        clients = [official(self.url, key=key, **kind, **more)
                   for key in KEYS.values() for kind in ({}, {"mode": MODERN}, {"mode": "legacy"})]
        opened = await self.connect(*clients)
        return opened[:3], opened[3:]

    async def test_each_has_one_process_for_all_its_clients(self):
        await self.serve(Stdgate.configured(configuration("isolation: principal")))
        of_ada, of_bob = await self.open_all()
        written = {}
        for name, clients in (("a", of_ada), ("b", of_bob)):
            texts = await asyncio.gather(*(self.write(name + str(n), client) for n, client in enumerate(clients)))
            written[name] = sorted(sum(texts, []))
        pids = {}
        for name, clients in (("a", of_ada), ("b", of_bob)):
            seen = [await notes_of(client) for client in clients]
            self.assertEqual([texts for texts, _ in seen], [written[name]] * 3)
            pids[name] = {pid for _, pid in seen}
        self.assertEqual([len(each) for each in pids.values()], [1, 1])
        self.assertNotEqual(pids["a"], pids["b"])

    async def test_calls_that_are_asked_something_take_turns_in_it(self):
        await self.serve(Stdgate.configured(configuration("isolation: principal")))
        words = ["one", "two", "three"]
        clients = await self.connect(*(official(self.url, key=KEYS["ada"], mode=MODERN, word=word) for word in words),
                                     fast(self.url, key=KEYS["ada"], mode=MODERN))
        await asyncio.gather(*(client.call(("ask", {}), ("ask", {}), note("beside")) for client in clients[:3]),
                             *(clients[3].call(note("other")) for _ in range(5)))
        wanted = sorted([*words * 2, *["beside"] * 3, *["other"] * 5])
        seen = [await notes_of(client) for client in clients]
        self.assertEqual([texts for texts, _ in seen], [wanted] * 4)
        self.assertEqual(len({pid for _, pid in seen}), 1)

    async def test_without_the_bridge_they_have_sessions(self):
        await self.serve(Stdgate.configured(configuration("isolation: principal", "bridge: false")))
        ada, bob = await self.connect(*(fast(self.url, key=key) for key in KEYS.values()))
        written = await asyncio.gather(self.write("a", ada), self.write("b", bob))
        self.assertEqual([(await notes_of(client))[0] for client in (ada, bob)], list(written))


class Shared(Served):
    async def test_all_clients_share_what_the_server_keeps(self):
        await self.serve(Stdgate(NOTES, "--isolation", "shared", "--max", "1"))
        ada, bob = await self.connect(official(self.url), official(self.url, mode=MODERN))
        await ada.call(note("a"))
        self.assertEqual((await notes_of(bob))[0], ["a"])
