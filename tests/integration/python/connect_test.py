"""The official Python client starts `stdgate connect` as its server, which is somewhere else."""
import os
import sys
import unittest

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from stdgate_process import PROGRAM, Stdgate

HERE = os.path.dirname(os.path.abspath(__file__))
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


if __name__ == "__main__":
    unittest.main()
