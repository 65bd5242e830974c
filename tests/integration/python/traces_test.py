"""One call as OpenTelemetry sees it: the official client's span, those of the gateway, the official server's; and the
gateway's documents, read by the protocol's own schema (PyPI: opentelemetry-proto)."""
import base64
import json
import os
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import Parse
from mcp import Client
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from stdgate_process import Stdgate, eventually

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = [sys.executable, os.path.join(HERE, "traced_server.py"), "@DIR@/spans"]


def fix_ids(node):
    """OTLP writes ids in hex; JSON of protobuf has bytes in base64."""
    if isinstance(node, list):
        for item in node:
            fix_ids(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("traceId", "spanId", "parentSpanId"):
                node[key] = base64.b64encode(bytes.fromhex(value)).decode()
            else:
                fix_ids(value)


class Collector:
    """Takes documents at /v1/traces. What is not of the schema is in `errors`."""

    def __init__(self):
        self.spans, self.errors = [], []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # keeps connections open

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fix_ids(body)
                try:
                    request = Parse(json.dumps(body), ExportTraceServiceRequest())  # unknown members are errors
                    for resource in request.resource_spans:
                        for scope in resource.scope_spans:
                            collector.spans.extend(scope.spans)
                except Exception as error:  # pylint: disable=broad-except
                    collector.errors.append(f"{self.path}: {error}")
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def named(self, name):
        return [span for span in self.spans if span.name == name]


def attributes_of(span):
    return {pair.key: pair.value.string_value for pair in span.attributes}


class Traces(unittest.IsolatedAsyncioTestCase):
    """The client's provider is the process's own, and can be set once."""

    @classmethod
    def setUpClass(cls):
        cls.client_spans = InMemorySpanExporter()
        provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(1)))
        provider.add_span_processor(SimpleSpanProcessor(cls.client_spans))
        trace.set_tracer_provider(provider)

    async def asyncSetUp(self):
        self.client_spans.clear()
        self.collector = Collector()
        self.addCleanup(self.collector.close)
        endpoint = f"http://127.0.0.1:{self.collector.server.server_port}"
        self.gate = await Stdgate(SERVER, "--traces-endpoint", endpoint).start()

    async def asyncTearDown(self):
        self.assertEqual(await self.gate.stop(), (0, {}))
        self.assertEqual(self.collector.errors, [])

    async def call(self, mode):
        async with Client(f"http://127.0.0.1:{self.gate.port}/mcp", mode=mode) as client:
            with trace.get_tracer("test").start_as_current_span("all"):
                result = await client.call_tool("echo", {"message": "hello"})
        self.assertEqual(result.content[0].text, "hello")

    async def check(self, mode):
        await self.call(mode)
        name = "tools/call echo"
        await eventually(lambda: self.collector.named(name), "the call's span")
        sent = next(span for span in self.client_spans.get_finished_spans() if span.name == f"MCP send {name}")
        [call] = self.collector.named(name)
        self.assertEqual(call.trace_id.hex(), f"{sent.context.trace_id:032x}")
        self.assertEqual(call.parent_span_id.hex(), f"{sent.context.span_id:016x}")
        self.assertEqual(call.kind, Span.SPAN_KIND_SERVER)
        self.assertLessEqual(sent.start_time, call.end_time_unix_nano)
        attributes = attributes_of(call)
        for key, value in sent.attributes.items():
            self.assertEqual(attributes[key], value, key)  # stdgate uses the same keys as the client
        below = {span.name: span for span in self.collector.spans if span.parent_span_id == call.span_id}
        self.assertEqual(sorted(below), ["child", "queue"])
        self.assertEqual(below["child"].kind, Span.SPAN_KIND_CLIENT)
        with open(f"{self.gate.folder}/spans", encoding="utf-8") as file:
            served = [span for span in map(json.loads, file) if span["name"] == name]
        self.assertEqual(served, [{"name": name, "trace": call.trace_id.hex(), "parent": below["child"].span_id.hex()}])

    async def test_a_call_of_the_handshake_era(self):
        await self.check("legacy")

    async def test_a_modern_call(self):
        await self.check("auto")


if __name__ == "__main__":
    unittest.main()
