"""What a service manager sees: a unit that keeps the server in, and a gateway that says how it is."""
import asyncio
import contextlib
import http.client
import json
import os
import re
import socket
import sys
import tempfile
import subprocess
import threading
import unittest
from pathlib import Path

from stdgate_process import PATIENCE, PROGRAM, Stdgate, eventually

EXAMPLES = Path(__file__).resolve().parents[3] / "deploy/examples"
UNIT = EXAMPLES / "stdgate.service"
SOCKET_UNIT = EXAMPLES / "stdgate.socket"
ECHO_SERVER = str(Path(__file__).with_name("echo_server.py"))
# A server that answers with the names of its environment variables.
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
        # The program is not installed on the machine that runs the tests.
        self.assertEqual([line for line in complaints if "/usr/local/bin/stdgate" not in line], [])

    def test_the_socket_unit_belongs_to_the_service(self):
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", str(SOCKET_UNIT), str(UNIT)],
                                  capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual([line for line in verified.stderr.splitlines() if SOCKET_UNIT.name in line], [])


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


def listening(family=socket.AF_INET, address=("127.0.0.1", 0), kind=socket.SOCK_STREAM):
    """What a socket unit opens."""
    opened = socket.socket(family, kind)
    opened.bind(address)
    if kind == socket.SOCK_STREAM:
        opened.listen(128)
    return opened


def configured(text):
    gate = Stdgate.configured(text)
    gate.words += ["--admin", "off"]
    return gate


def backends(command, **more):
    return json.dumps({"demo": {"command": command, **more}})


class Sockets(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.tcp = self.enterContext(listening())
        self.port = self.tcp.getsockname()[1]

    async def refused(self, *sockets, listen="127.0.0.1:0"):
        """What a gateway says that does not start with these."""
        gate = configured(f'listen: "{listen}"\nbackends: {backends(["cat"])}\n')
        gate.sockets = sockets
        with self.assertRaisesRegex(AssertionError, "did not start"):
            await gate.start(LISTEN_FDNAMES="web.socket:more")
        self.assertEqual(await gate.process.wait(), 1)
        await gate.stop()
        return gate.log

    async def test_each_listener_gets_that_with_its_address(self):
        with tempfile.TemporaryDirectory() as folder, listening(socket.AF_UNIX, f"{folder}/s") as local:
            gate = configured(
                f'listen: ["unix:{folder}/s", "127.0.0.1:0", "127.0.0.1:{self.port}"]\n'
                f'backends: {backends(TELLS_ENVIRONMENT, protocol="jsonrpc", env_inherit=["LISTEN_*"])}\n')
            gate.sockets = [self.tcp, local]
            await gate.start(LISTEN_FDNAMES="a:b")
            for target in (self.port, f"{folder}/s"):
                answer = await asyncio.to_thread(rpc, target)
                self.assertIn("PATH", answer["result"])
                self.assertEqual([name for name in answer["result"] if name.startswith("LISTEN")], [])
            self.assertEqual(await gate.stop(), (0, {}))
            # The socket file, and the connections that wait on a passed-on socket, belong to the
            # process that opened the socket.
            self.assertTrue(os.path.exists(f"{folder}/s"))
            with contextlib.closing(connection_to(self.port)) as connection:
                connection.connect()

    async def test_variables_of_another_process_are_not_meant(self):
        gate = await Stdgate(TELLS_ENVIRONMENT, "--protocol", "jsonrpc").start(LISTEN_PID="1", LISTEN_FDS="9")
        self.assertEqual(await gate.stop(), (0, {}))

    async def test_what_cannot_be_served_is_refused(self):
        with listening(kind=socket.SOCK_DGRAM) as datagrams:
            self.assertIn("socket 'web.socket' (descriptor 3) that was passed on does not listen for streams",
                          await self.refused(datagrams))
        self.assertIn(f"127.0.0.1:{self.port} ('more'): systemd passed this socket on, "
                      "but neither listen nor admin has its address",
                      await self.refused(other := self.enterContext(listening()), self.tcp,
                                         listen=f"127.0.0.1:{other.getsockname()[1]}"))
        with open(os.devnull, encoding="utf-8") as file:
            self.assertIn("socket 'more' (descriptor 4) that was passed on is no socket",
                          await self.refused(self.tcp, file))


def connection_to(target):
    """By HTTP, to a port or to the path of a Unix socket."""
    if isinstance(target, int):
        return http.client.HTTPConnection("127.0.0.1", target, timeout=PATIENCE)
    connection = http.client.HTTPConnection("localhost", timeout=PATIENCE)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(target)
    return connection


def post(connection, path, message, headers=None):
    connection.request("POST", path, json.dumps({"jsonrpc": "2.0"} | message), {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | (headers or {}))
    response = connection.getresponse()
    text = response.read().decode()
    if response.status >= 300:
        raise AssertionError(f"{response.status} {text}")
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    answer = json.loads(lines[-1] if lines else text) if text else None
    return answer, response.headers


def rpc(target):
    with contextlib.closing(connection_to(target)) as connection:
        return post(connection, "/demo/rpc", {"id": 1, "method": "m"})[0]


ECHOES = {"method": "tools/call", "params": {"name": "echo", "arguments": {"message": "hello"}}}


class Load:
    """Clients that call one after another until they are told to end; each mistake of an answer ends its client."""

    def __init__(self, port):
        self.port = port
        self.ended = threading.Event()
        self.answered = {}
        self.failures = []
        self.threads = []

    def start(self, name, client):
        def run():
            try:
                with contextlib.closing(client()) as calls:
                    for _ in calls:
                        self.answered[name] = self.answered.get(name, 0) + 1
                        if self.ended.is_set():
                            return
            except Exception as failure:  # pylint: disable=broad-exception-caught
                self.failures.append(f"{name} after {self.answered.get(name, 0)}: {failure!r}")
        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def single_calls(self):
        """Each over a connection of its own."""
        while True:
            with contextlib.closing(connection_to(self.port)) as connection:
                yield self.check(post(connection, "/demo/rpc", {"id": 1} | ECHOES)[0])

    def kept_connection(self):
        with contextlib.closing(connection_to(self.port)) as connection:
            while True:
                yield self.check(post(connection, "/demo/rpc", {"id": 1} | ECHOES)[0])

    def session(self):
        with contextlib.closing(connection_to(self.port)) as connection:
            yield from self.calls_of_a_session(connection)

    def calls_of_a_session(self, connection):
        _, headers = post(connection, "/demo/mcp", {"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}})
        session = {"Mcp-Session-Id": headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}
        post(connection, "/demo/mcp", {"method": "notifications/initialized"}, session)
        while True:
            yield self.check(post(connection, "/demo/mcp", {"id": 1} | ECHOES, session)[0])

    @staticmethod
    def check(answer):
        if answer["result"]["content"][0]["text"] != "hello":
            raise AssertionError(answer)

    async def more(self):
        """Waits until each client has been answered some more."""
        before = dict(self.answered)
        await eventually(lambda: self.failures or all(
            self.answered.get(name, 0) >= before.get(name, 0) + 20 for name in ("single", "kept", "session")), "answers")

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


class Journal(unittest.IsolatedAsyncioTestCase):
    """Lines have a priority where stderr leads to the journal, and only there."""

    def lines(self, *words, is_journal=True):
        read, write = os.pipe()
        status = os.fstat(write)
        stream = f"{status.st_dev}:{status.st_ino + (0 if is_journal else 1)}"
        with open(read, encoding="utf-8") as lines:
            with open(write, "w", encoding="utf-8") as stderr:
                subprocess.run([PROGRAM, *words], stderr=stderr, stdout=subprocess.DEVNULL, check=False,
                               timeout=PATIENCE, env=os.environ | {"JOURNAL_STREAM": stream})
            return lines.read().splitlines()

    def test_a_start_that_fails(self):
        command = ["--listen", f"127.0.0.1:{self.enterContext(listening()).getsockname()[1]}", "--admin", "off", "--", "cat"]
        self.assertRegex(self.lines(*command)[-1], "^<3>stdgate: cannot listen on ")
        self.assertRegex(self.lines(*command, is_journal=False)[-1], "^stdgate: cannot listen on ")
        self.assertRegex(self.lines("--log-format", "json", *command)[-1], "^{")
        self.assertRegex(self.lines("--bad")[0], "^<3>stdgate: ")

    async def test_the_log(self):
        read, write = os.pipe()
        status = os.fstat(write)
        with open(read, encoding="utf-8") as lines:
            gate = await asyncio.create_subprocess_exec(
                PROGRAM, "--listen", "127.0.0.1:0", "--admin", "off", "--", "cat", stderr=write,
                stdout=subprocess.PIPE, env=os.environ | {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
            os.close(write)
            await gate.stdout.readline()
            gate.terminate()
            await gate.wait()
            for line in (text := lines.read().splitlines()):
                self.assertRegex(line, r"^<\d>\d{4}-")
            self.assertTrue([line for line in text if re.match(r"<6>\S+ info confinement", line)], text)


class Replacement(unittest.IsolatedAsyncioTestCase):
    """The process goes, its sockets stay: no call fails."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.key_file = f"{folder}/session.key"
        with open(os.open(self.key_file, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write("5f" * 32)
        self.tcp = self.enterContext(listening())
        self.port = self.tcp.getsockname()[1]

    async def start(self):
        gate = configured(
            f'listen: "127.0.0.1:{self.port}"\nsessions: {{ key_file: "{self.key_file}" }}\n'
            f'backends: {backends([sys.executable, ECHO_SERVER, "@DIR@"])}\nlog: {{ level: warn }}\n')
        gate.sockets = [self.tcp]
        return await gate.start()

    async def replaced(self, replace):
        gate = await self.start()
        load = Load(self.port)
        try:
            for name, client in (("single", load.single_calls), ("kept", load.kept_connection),
                                 ("session", load.session)):
                load.start(name, client)
            for _ in range(3):
                await load.more()
                gate = await replace(gate)
            await load.more()
        finally:
            await asyncio.to_thread(load.end)
        self.assertEqual(load.failures, [])
        self.assertEqual(await gate.stop(), (0, {}))

    async def test_a_restart_loses_no_call(self):
        async def restart(gate):
            self.assertEqual(await gate.stop(), (0, {}))
            return await self.start()
        await self.replaced(restart)

    async def test_one_process_takes_over_from_another(self):
        async def take_over(gate):
            successor = await self.start()
            self.assertEqual(await gate.stop(), (0, {}))
            return successor
        await self.replaced(take_over)
