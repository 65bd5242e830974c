"""A server from PyPI in a sandbox: it works, and reaches nothing else."""
import json
import os
import sys
import unittest
import urllib.request

from stdgate_process import PATIENCE, Stdgate

HERE = os.path.dirname(os.path.abspath(__file__))
# The folders of this Python and its packages.
PYTHON = sorted({os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)})

CURIOUS = """
import json, socket, subprocess, sys
def attempt(what):
    try:
        return bool(what()) and "done"
    except OSError as error:
        return type(error).__name__
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {
        "secret": attempt(lambda: open("SECRET").read()),
        "write": attempt(lambda: open("SECRET", "a")),
        "socket": attempt(lambda: socket.socket()),
        "children": attempt(lambda: subprocess.run(["/usr/bin/env", "true"], check=True)),
    }}), flush=True)
"""


def configuration(command, protocol="mcp", sandbox="strict"):
    return (f'listen: "127.0.0.1:0"\nbackends:\n  main:\n    protocol: {protocol}\n'
            f"    command: {json.dumps(command)}\n    sandbox: {sandbox}\n")


CAGE = f"{{ filesystem: {{ read: {json.dumps(PYTHON)} }}, network: none }}"


class Sandbox(unittest.IsolatedAsyncioTestCase):
    async def serve(self, text, **environment):
        gate = Stdgate.configured(text)
        gate.words += ["--admin", "off"]
        return await gate.start(**environment)

    async def ask(self, gate, method, params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{gate.port}/rpc", body,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["result"]

    async def asked(self, text, method, params):
        gate = await self.serve(text)
        try:
            return await self.ask(gate, method, params)
        finally:
            code, left = await gate.stop()
            self.assertEqual((code, left), (0, {}), gate.log)

    async def test_mcp_server_time(self):
        command = [sys.executable, "-m", "mcp_server_time", "--local-timezone", "Europe/Berlin"]
        result = await self.asked(configuration(command, sandbox=CAGE), "tools/call",
                                  {"name": "get_current_time", "arguments": {"timezone": "Asia/Tokyo"}})
        self.assertFalse(result.get("isError"), result)
        self.assertIn("Asia/Tokyo", result["content"][0]["text"])

    async def test_what_it_reaches(self):
        script = CURIOUS.replace("SECRET", f"{HERE}/sandbox_test.py")
        command = [sys.executable, "-c", script.replace("$", "$$")]
        caged = await self.asked(configuration(command, "jsonrpc", CAGE), "m", {})
        self.assertEqual(caged, {"secret": "PermissionError", "write": "PermissionError",
                                 "socket": "PermissionError", "children": "done"})
        free = await self.asked(configuration(command, "jsonrpc", "off"), "m", {})
        self.assertEqual(set(free.values()), {"done"})
