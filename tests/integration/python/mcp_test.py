"""The official Python client (PyPI: mcp), which knows nothing of a gateway, of parked sessions or of restarts: its
next call answers. And an official Python server behind it."""
import asyncio
import contextlib
import os
import sys
import tempfile
import unittest

import mcp_types
from mcp import Client

from stdgate_process import Stdgate, TcpProxy, eventually

HERE = os.path.dirname(os.path.abspath(__file__))
ASKING = [sys.executable, os.path.join(HERE, "asking_server.py")]
ECHO = [sys.executable, os.path.join(HERE, "echo_server.py"), "@DIR@"]
TIME = [sys.executable, "-m", "mcp_server_time", "--local-timezone", "Europe/Berlin"]


class Official(unittest.IsolatedAsyncioTestCase):
    """A test for each way in which the client negotiates: `self.mode`."""

    @contextlib.asynccontextmanager
    async def serve(self, command, *flags):
        gate = await Stdgate(command, "--grace", "1s", *flags).start()
        try:
            yield gate
        finally:
            if gate.process.returncode is None:
                self.assertEqual(await gate.stop(), (0, {}))

    @contextlib.asynccontextmanager
    async def open(self, port, **callbacks):
        """A client; what it is told on the gateway's account is in client.told."""
        told = []

        async def note(message):
            if message.logger == "stdgate":
                told.append(message)

        async with Client(f"http://127.0.0.1:{port}/mcp", mode=self.mode, logging_callback=note,
                          **callbacks) as client:
            client.told = told
            yield client

    async def assert_echo(self, client, message):
        result = await client.call_tool("echo", {"message": message})
        self.assertEqual(result.content[0].text, message)


class Sessions:
    async def test_a_server_that_was_killed(self):
        async with self.serve(ECHO) as gate, self.open(gate.port) as client:
            await self.assert_echo(client, "one")
            gate.kill_children()
            await eventually(lambda: "reason=child_ended" in gate.log, "the end of the server")
            await self.assert_echo(client, "two")
            await self.assert_echo(client, "three")
            self.assertEqual(len(client.told), 1)

    async def test_one_place_for_two_clients(self):
        async with self.serve(ECHO, "--max", "1") as gate, self.open(gate.port) as ada, self.open(gate.port) as bob:
            for message in ("one", "two", "three"):
                await self.assert_echo(ada, message)
                await self.assert_echo(bob, message)
            self.assertEqual(len(gate.children()), 1)

    async def test_a_gateway_that_was_restarted(self):
        keys = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "keys")
        with open(keys, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("42" * 32 + "\n")
        flags = ["--session-key-file", keys]
        async with self.serve(ECHO, *flags) as first, self.serve(ECHO, *flags) as second:
            proxy = await TcpProxy().start(first.port)
            self.addCleanup(proxy.stop)
            async with self.open(proxy.port) as client:
                await self.assert_echo(client, "one")
                self.assertEqual(await first.stop(), (0, {}))
                proxy.target = second.port
                await self.assert_echo(client, "two")
                await self.assert_echo(client, "three")


class LegacySessions(Sessions, Official):
    mode = "legacy"


class AutoSessions(Sessions, Official):
    """Sent away as a modern client, it goes on with a session."""
    mode = "auto"


class AutoWithoutSessions(Official):
    mode = "auto"

    async def test_a_server_that_was_killed(self):
        async with self.serve(ECHO, "--bridge", "true") as gate, self.open(gate.port) as client:
            await self.assert_echo(client, "one")
            # Only the present servers are killed, because another server may be starting.
            killed = gate.kill_children()
            await eventually(lambda: not set(killed) & set(gate.children()), "the end of the servers")
            await self.assert_echo(client, "two")


class Servers:
    async def test_mcp_server_time(self):
        async with self.serve(TIME) as gate, self.open(gate.port) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            self.assertEqual(tools, {"get_current_time", "convert_time"})
            result = await client.call_tool("convert_time", {
                "source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"})
            self.assertIn("Asia/Tokyo", result.content[0].text)
            wrong = await client.call_tool("get_current_time", {"timezone": "Nowhere"})
            self.assertTrue(wrong.is_error)


class LegacyServers(Servers, Official):
    mode = "legacy"


class AutoServers(Servers, Official):
    mode = "auto"


class ModernServers(Servers, Official):
    mode = "2026-07-28"


class Questions:
    """`ways`: the flags with which a server that asks has to serve a client of `mode`."""

    async def test_each_client_is_asked_what_concerns_it(self):
        for flags in self.ways:
            with self.subTest(flags=flags):
                async with self.serve(ASKING, *flags) as gate:
                    await asyncio.gather(*(self.ask(gate.port, f"ada{n}") for n in range(4)))

    async def ask(self, port, name):
        async def elicit(context, params):
            return mcp_types.ElicitResult(action="accept", content={"name": name})

        async def sample(context, params):
            word = mcp_types.TextContent(type="text", text=f"word of {name}")
            return mcp_types.CreateMessageResult(role="assistant", content=word, model="none")

        async def roots(context):
            return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=f"file:///home/{name}")])

        callbacks = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
        async with self.open(port, **callbacks) as client:
            for tool, answer in (("greet", f"hello {name}"), ("complete", f"the model says word of {name}"),
                                 ("places", f"file:///home/{name}")):
                result = await client.call_tool(tool, {})
                self.assertEqual(result.content[0].text, answer)
            await self.assert_echo(client, name)


class LegacyQuestions(Questions, Official):
    mode = "legacy"
    ways = [[], ["--revision", "legacy"], ["--revision", "modern"]]


class AutoQuestions(Questions, Official):
    mode = "auto"
    ways = [[], ["--isolation", "shared"], ["--isolation", "shared", "--revision", "modern"]]


class ModernQuestions(Questions, Official):
    mode = "2026-07-28"
    ways = [["--isolation", "shared", "--revision", "modern"], ["--revision", "legacy", "--bridge", "true"],
            ["--isolation", "shared", "--revision", "legacy"]]
