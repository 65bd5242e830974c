"""A real stdgate for the tests of this folder: started in a folder of its own, ended with SIGTERM; and the count of
what it leaves behind."""
import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
import time

PROGRAM = os.path.abspath(os.environ["STDGATE"])
# In seconds. Longer than any step takes, even under sanitizers.
PATIENCE = 60


async def eventually(condition, what):
    """Waits until condition() is truthy, and returns that."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        await asyncio.sleep(0.02)
    return value


def of_process(pid):
    """Its folder and its command line; empty when it has gone meanwhile."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.readlink(f"/proc/{pid}/cwd"), file.read().decode(errors="replace")
    except OSError:
        return "", ""


# Starts a program with listening sockets as systemd does: as descriptors from 3 on, and with LISTEN_PID. Only the
# process itself can know its LISTEN_PID, because exec keeps the process id.
PASSES_SOCKETS = """
import fcntl, os, sys
given = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1].split(",")]
for i, fd in enumerate(given):
    os.dup2(fd, 3 + i, inheritable=True)
    os.close(fd)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(given)))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Stdgate:
    """Serves `command`, with these flags; "@DIR@" in either stands for its folder."""

    def __init__(self, command, *flags):
        self.folder = tempfile.mkdtemp(prefix="stdgate-python-")
        self.words = ["--listen", "127.0.0.1:0", "--admin", "off", *flags, "--", *command]
        self.log = ""
        self.sockets = []  # listening sockets to pass on
        self.port = self.admin = 0

    @staticmethod
    def configured(text):
        """Serves a configuration file with this text."""
        gate = Stdgate([])
        gate.words = ["--config", "@DIR@/gateway.yaml"]
        with open(f"{gate.folder}/gateway.yaml", "w", encoding="utf-8") as file:
            file.write(gate.in_folder(text))
        return gate

    def in_folder(self, text):
        return text.replace("@DIR@", self.folder)

    async def start(self, **environment):
        descriptors = [each.fileno() for each in self.sockets]
        launcher = [sys.executable, "-c", PASSES_SOCKETS, ",".join(map(str, descriptors))] if descriptors else []
        self.process = await asyncio.create_subprocess_exec(
            *launcher, PROGRAM, *map(self.in_folder, self.words), cwd=self.folder, pass_fds=descriptors, env=os.environ | environment,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        self.reading = asyncio.create_task(self.keep_log())
        wants_admin = "off" not in self.words
        while not self.port or (wants_admin and not self.admin):
            line = (await self.process.stdout.readline()).decode()
            if not line:
                raise AssertionError(f"stdgate did not start: {self.log}")
            if found := re.match(r"(listening|admin) on http://127\.0\.0\.1:(\d+)", line):
                setattr(self, "port" if found[1] == "listening" else "admin", int(found[2]))
        return self

    async def keep_log(self):
        while text := await self.process.stderr.read(65536):
            self.log += text.decode(errors="replace")

    def processes(self):
        """The command lines by pid of those that were started in the folder or name it."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            folder, command = of_process(pid)
            if self.folder in folder or self.folder in command:
                found[int(pid)] = command
        return found

    def children(self):
        """The pids of its servers and of what these started, without those that guard them, are being forked or end."""
        processes = self.processes()
        own = processes.get(self.process.pid)
        return [pid for pid, command in processes.items()
                if command and command != own and not command.startswith("child-guard")]

    def kill_children(self):
        """Kills its servers; returns their pids. What they started may end by itself before."""
        killed = self.children()
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return killed

    async def stop(self):
        """Ends it; returns its exit code and what was there two seconds later."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await self.reading
        deadline = time.monotonic() + 2
        while (left := self.processes()) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        shutil.rmtree(self.folder)
        return code, left


class TcpProxy:
    """An address that stays while the gateway behind it comes and goes."""

    async def start(self, port):
        self.target = port
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def serve(self, reader, writer):
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
            await asyncio.gather(self.pump(reader, back), self.pump(there, writer))
        writer.close()

    @staticmethod
    async def pump(reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    def stop(self):
        self.server.close()
