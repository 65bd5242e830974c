"""What a service manager sees: a unit that keeps the server in, and a gateway that says how it is."""
import asyncio
import os
import re
import socket
import sys
import tempfile
import subprocess
import unittest
from pathlib import Path

from stdgate_process import PATIENCE, Stdgate, eventually

UNIT = Path(__file__).resolve().parents[3] / "deploy/examples/stdgate.service"
# Answers with the names of its environment.
TELLS_ENVIRONMENT = [sys.executable, "-c", """
import json, os, sys
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": sorted(os.environ)}), flush=True)
""", "@DIR@"]


class Unit(unittest.TestCase):
    def test_keeps_the_server_in(self):
        judged = subprocess.run(["systemd-analyze", "security", "--offline=true", str(UNIT)],
                                capture_output=True, text=True, check=False, timeout=PATIENCE)
        level = re.search(r"Overall exposure level for stdgate\.service: ([\d.]+)", judged.stdout)
        self.assertIsNotNone(level, judged.stderr)
        self.assertLess(float(level[1]), 3)

    def test_names_only_what_systemd_knows(self):
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", str(UNIT)],
                                  capture_output=True, text=True, check=False, timeout=PATIENCE)
        complaints = [line for line in verified.stderr.splitlines() if UNIT.name in line]
        # The program is not installed where the tests run.
        self.assertEqual([line for line in complaints if "/usr/local/bin/stdgate" not in line], [])


class Notify(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.name = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "notify")
        self.manager = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.manager.setblocking(False)
        self.manager.bind(self.name)
        self.told = []

    def take(self):
        """All datagrams so far."""
        try:
            while True:
                self.told.append(self.manager.recv(4096).decode())
        except BlockingIOError:
            return self.told

    async def test_it_says_when_it_is_ready_that_it_lives_and_that_it_ends(self):
        gate = await Stdgate(TELLS_ENVIRONMENT, "--protocol", "jsonrpc", "--grace", "2s").start(
            NOTIFY_SOCKET=self.name, WATCHDOG_USEC="400000")
        await eventually(lambda: self.take().count("WATCHDOG=1") >= 3, "signs of life")
        self.assertEqual(self.told[0], "READY=1\nSTATUS=serving 1 backend")
        reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
        body = b'{"jsonrpc":"2.0","id":1,"method":"m"}'
        writer.write(b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                     b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        answer = (await reader.read()).decode()
        writer.close()
        self.assertIn('"PATH"', answer)
        self.assertNotIn("NOTIFY_SOCKET", answer)
        self.assertNotIn("WATCHDOG", answer)
        self.assertEqual(await gate.stop(), (0, {}))
        ends = [text for text in self.take() if text.startswith("STOPPING")]
        self.assertEqual(ends, ["STOPPING=1\nSTATUS=finishing calls under way\nEXTEND_TIMEOUT_USEC=25000000"])
