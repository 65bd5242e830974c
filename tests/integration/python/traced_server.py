"""A server with the official library whose spans are lines of JSON in the file that is its argument."""
import json
import sys

from mcp.server.mcpserver import MCPServer
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult


class Lines(SpanExporter):
    def export(self, spans):
        with open(sys.argv[1], "a", encoding="utf-8") as file:
            for span in spans:
                parent = span.parent and f"{span.parent.span_id:016x}"
                file.write(json.dumps({"name": span.name, "trace": f"{span.context.trace_id:032x}", "parent": parent}))
                file.write("\n")
        return SpanExportResult.SUCCESS


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Lines()))
trace.set_tracer_provider(provider)
server = MCPServer("traced")


@server.tool()
def echo(message: str) -> str:
    return message


server.run()
