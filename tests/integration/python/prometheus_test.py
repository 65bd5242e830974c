"""Debian's Prometheus on a running stdgate: its rules hold, and every expression of rules and dashboard finds data."""
import asyncio
import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from mcp import Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from stdgate_process import PATIENCE, Stdgate, eventually

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
RULES = DEPLOY / "prometheus/stdgate.rules.yml"
ECHO = f'["{sys.executable}", "{Path(__file__).with_name("echo_server.py")}", "@DIR@"]'

GATEWAY = f"""
listen: ["127.0.0.1:0", {{ address: "127.0.0.1:0", tls: {{ certificate: "@DIR@/crt", key: "@DIR@/key" }} }}]
admin: "127.0.0.1:0"
traces: {{ endpoint: "http://127.0.0.1:9", sample: 0 }}
backends:
  echo: {{ command: {ECHO}, protocol: mcp, default: true, pool: {{ max: 1, grace: 1s }} }}
  mute: {{ command: ["sleep", "1000"], protocol: jsonrpc, timeout: 200ms, pool: {{ grace: 1s }} }}
"""
PROMETHEUS = """
global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: stdgate
    static_configs: [{{ targets: ["127.0.0.1:{port}"] }}]
"""


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def listening_port(pid):
    """The port that a process listens on; None as long as there is none."""
    inodes = set()
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            if found := re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")):
                inodes.add(found[1])
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
        for fields in map(str.split, table):
            if fields[3] == "0A" and fields[9] in inodes:
                return int(fields[1].split(":")[1], 16)
    return None


class Prometheus:
    """One that scrapes stdgate's admin address each second."""

    def __init__(self, folder, admin):
        self.config = Path(folder, "prometheus.yml")
        self.config.write_text(PROMETHEUS.format(rules=RULES, port=admin), encoding="utf-8")
        self.log = open(Path(folder, "prometheus.log"), "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.config}", f"--storage.tsdb.path={folder}/data",
             "--web.listen-address=127.0.0.1:0", "--enable-feature=exemplar-storage"], stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + PATIENCE
        while (port := listening_port(self.process.pid)) is None:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(Path(folder, "prometheus.log").read_text(encoding="utf-8"))
            time.sleep(0.05)
        self.url = f"http://127.0.0.1:{port}/api/v1/"

    def ask(self, what, **parameters):
        with urllib.request.urlopen(f"{self.url}{what}?{urllib.parse.urlencode(parameters)}", timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """The values that it has at the moment."""
        return [float(sample["value"][1]) for sample in self.ask("query", query=expression)["result"]]

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


def dashboard_expressions():
    dashboard = json.loads((DEPLOY / "grafana/stdgate.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "10s")
            yield panel["title"], re.sub(r"\$(instance|backend)", ".*", expression)


def metrics_of(expression):
    return set(re.findall(r"\b(?:stdgate[\w:]+|process_\w+|up)\b", expression))


class Rules(unittest.TestCase):
    def test_are_well_formed_and_alert_when_they_should(self):
        checked = run("promtool", "check", "rules", str(RULES))
        self.assertEqual(checked.returncode, 0, checked.stderr)
        tested = run("promtool", "test", "rules", str(RULES.with_suffix(".test.yml")))
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_each_alert_is_in_the_runbook(self):
        runbook = (DEPLOY.parent / "docs/monitoring.md").read_text(encoding="utf-8")
        alerts = re.findall(r"- alert: (\w+)", RULES.read_text(encoding="utf-8"))
        self.assertGreater(len(alerts), 10)
        for alert in alerts:
            self.assertIn(f"\n### {alert}\n", runbook)


class ManyScrapers(unittest.IsolatedAsyncioTestCase):
    async def test_a_stop_while_many_scrape(self):
        """Whatever is under way is finished or given up, and the process ends as ever."""
        gate = Stdgate.configured('{ listen: "127.0.0.1:0", admin: "127.0.0.1:0", backends: { e: { command: [cat], protocol: jsonrpc } } }')
        await gate.start()

        def scrape():
            with contextlib.suppress(OSError, http.client.HTTPException):
                while True:
                    with urllib.request.urlopen(f"http://127.0.0.1:{gate.admin}/metrics", timeout=30) as answer:
                        self.assertTrue(answer.read().endswith(b"\n"))
        scrapers = [asyncio.to_thread(scrape) for _ in range(6)]
        under_way = asyncio.gather(*scrapers)
        await asyncio.sleep(0.5)
        self.assertEqual(await gate.stop(), (0, {}))
        await under_way


class OnRealData(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.gate = Stdgate.configured(GATEWAY)
        made = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                   "-subj", "/CN=localhost", "-keyout", f"{self.gate.folder}/key", "-out", f"{self.gate.folder}/crt")
        self.assertEqual(made.returncode, 0, made.stderr)
        await self.gate.start()
        self.prometheus = Prometheus(self.gate.folder, self.gate.admin)

    async def asyncTearDown(self):
        self.prometheus.stop()
        self.assertEqual(await self.gate.stop(), (0, {}))

    async def call(self, rounds):
        """Two sessions that take turns at one child, a call that times out, and requests that are refused."""
        url = f"http://127.0.0.1:{self.gate.port}"
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m"}).encode()
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(
                f"{url}/mute/rpc", body,
                {"Content-Type": "application/json", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}), timeout=30)
        self.assertEqual(caught.exception.code, 504)
        async with Client(f"{url}/mcp", mode="legacy") as ada, Client(f"{url}/mcp", mode="legacy") as bob:
            for _ in range(rounds):
                for client in (ada, bob):
                    result = await client.call_tool("echo", {"message": "x"})
                    self.assertEqual(result.content[0].text, "x")
                with contextlib.suppress(urllib.error.HTTPError):
                    urllib.request.urlopen(f"{url}/nowhere", timeout=30)
                await asyncio.sleep(0.5)

    def check_open_metrics(self):
        """As the format's own parser reads it; the same series as in the other format."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.gate.admin}/metrics",
                                         headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            self.assertEqual(answer.headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
            families = {family.name: family for family in text_string_to_metric_families(answer.read().decode())}
        self.assertEqual(families["stdgate_request_duration_seconds"].unit, "seconds")
        self.assertEqual(families["stdgate_child_starts"].type, "counter")
        found = [sample for sample in families["stdgate_request_duration_seconds"].samples if sample.exemplar]
        self.assertEqual([(sample.exemplar.labels, sample.labels["backend"]) for sample in found],
                         [({"trace_id": TRACE}, "mute")])
        self.assertTrue(0.1 < found[0].exemplar.value <= float(found[0].labels["le"]))
        self.assertLess(abs(float(found[0].exemplar.timestamp) - time.time()), 600)

    def exemplars(self):
        found = self.prometheus.ask("query_exemplars", query="stdgate_request_duration_seconds_bucket",
                                    start=time.time() - 600, end=time.time() + 10)
        return {exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]}

    async def test_every_expression_finds_data(self):
        await self.call(12)
        # Prometheus needs some seconds to start before it evaluates rules.
        await eventually(lambda: self.prometheus.query("stdgate:requests:rate5m"), "the rules have been evaluated")
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.gate.admin}/metrics", timeout=30).read()
        lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
        self.assertEqual((lint.returncode, lint.stderr), (0, b""))
        self.check_open_metrics()
        await eventually(lambda: self.exemplars() == {TRACE}, "the exemplar of the sampled call")
        rules = [rule for group in self.prometheus.ask("rules")["groups"] for rule in group["rules"]]
        for rule in rules:
            self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])
            for metric in metrics_of(rule["query"]):
                with self.subTest(rule["name"], metric=metric):
                    await eventually(lambda metric=metric: self.prometheus.query(metric), "it has a value")
        self.assertGreater(len(rules), 20)
        self.assertEqual([rule["name"] for rule in rules if rule.get("state") == "firing"], [])
        for panel, expression in dashboard_expressions():
            with self.subTest(panel, expression=expression):
                await eventually(lambda expression=expression: self.prometheus.query(expression), "it has values")
