"""The example of docs/servers.md: its file is served, and `stdgate tools` prints what the page shows. The packages are
those that are installed for the tests, in place of what npx and uvx would fetch."""
import asyncio
import json
import os
import platform
import re
import subprocess
import sys
import unittest

from stdgate_process import PROGRAM, Stdgate

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../../.."))
PACKAGES = os.path.join(HERE, "../npm/node_modules")
NODE = os.path.join(PACKAGES, f"node-linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}/bin/node")
PATIENCE = 120


def installed(command):
    """`[npx, -y, "PACKAGE", ARGUMENT…]` or `[uvx, PROGRAM]`, as a command here."""
    words = [word.strip(' "') for word in command.strip("[]").split(",")]
    if words[0] == "npx":
        package = os.path.normpath(os.path.join(PACKAGES, words[2]))
        return json.dumps([NODE, f"{package}/dist/index.js", *words[3:]])
    return json.dumps([os.path.join(os.path.dirname(sys.executable), words[1])])


class ServersPage(unittest.IsolatedAsyncioTestCase):
    async def test_the_example_is_what_a_client_sees(self):
        with open(os.path.join(ROOT, "docs/servers.md"), encoding="utf-8") as page:
            text = page.read()
        config = re.search(r"```yaml\n(.*?)```", text, re.S)[1]
        self.assertIn('server-filesystem", /tmp]', config)
        config = config.replace(", /tmp]", ", @DIR@]")
        config = re.sub(r"(?<=command: )\[[^\]]*\]", lambda found: installed(found[0]), config)
        gate = await Stdgate.configured('listen: "127.0.0.1:0"\nadmin: "127.0.0.1:0"\n' + config).start()
        run = await asyncio.to_thread(
            subprocess.run, [PROGRAM, "tools", "team", "--url", f"http://127.0.0.1:{gate.port}", "--timeout", f"{PATIENCE}s"],
            capture_output=True, text=True, timeout=2 * PATIENCE)
        self.assertEqual(await gate.stop(), (0, {}), gate.log)
        self.assertEqual(run.returncode, 0, run.stderr)
        shown = re.search(r"```console\n\$ stdgate tools team\n(.*?)```", text, re.S)[1].splitlines()
        seen = iter(run.stdout.splitlines())
        for line in shown:  # "…" stands for omitted lines
            if line.strip() != "…":
                self.assertIn(line, seen, f"not in this place:\n{run.stdout}")
        prefixes = {line.split("_")[0].strip() for line in run.stdout.splitlines()[1:]}
        self.assertEqual(prefixes, {"files", "memory", "everything", "time"})


if __name__ == "__main__":
    unittest.main()
