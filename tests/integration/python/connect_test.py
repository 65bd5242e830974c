"""The official clients for Python and Go start `stdgate connect` as their server, which is somewhere else."""
import asyncio
import os
import sys
import unittest

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from kept_apart_test import Program, build_go, go_version
from stdgate_process import PROGRAM, Stdgate

HERE = os.path.dirname(os.path.abspath(__file__))
GO_CLIENT = os.path.join(HERE, "../../../build/go/client")
ECHO = [sys.executable, os.path.join(HERE, "echo_server.py"), "@DIR@"]


class Connect(unittest.IsolatedAsyncioTestCase):
    async def test_official_client_over_every_transport(self):
        gate = Stdgate(ECHO)
        await gate.start()
        self.addAsyncCleanup(gate.stop)
        place = f"127.0.0.1:{gate.port}"
        for url in (f"http://{place}/mcp", f"http://{place}/sse", f"ws://{place}/ws"):
            with self.subTest(url):
                server = StdioServerParameters(command=PROGRAM, args=["connect", url])
                async with stdio_client(server) as streams, ClientSession(*streams) as session:
                    await session.initialize()
                    self.assertEqual([tool.name for tool in (await session.list_tools()).tools], ["echo"])
                    for i in range(20):
                        result = await session.call_tool("echo", {"message": f"caf\u00e9 {i}"})
                        self.assertEqual(result.content[0].text, f"caf\u00e9 {i}")

    @unittest.skipIf(go_version() < (1, 25), "the official client for Go needs Go 1.25")
    async def test_official_client_for_go(self):
        await asyncio.to_thread(build_go)
        gate = Stdgate(ECHO)
        await gate.start()
        self.addAsyncCleanup(gate.stop)
        place = f"127.0.0.1:{gate.port}"
        for url in (f"http://{place}/mcp", f"http://{place}/sse", f"ws://{place}/ws"):
            with self.subTest(url):
                async with Program(GO_CLIENT, PROGRAM, "connect", url).connected() as client:
                    steps = [("echo", {"message": f"caf\u00e9 {i}"}) for i in range(20)]
                    self.assertEqual(await client.call(*steps), [args["message"] for _, args in steps])


if __name__ == "__main__":
    unittest.main()
