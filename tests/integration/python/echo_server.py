"""The smallest MCP server: one tool, echo, and no library that has to be loaded first."""
import json
import sys

RESULTS = {
    "initialize": lambda params: {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                                  "serverInfo": {"name": "echo", "version": "0"}},
    "tools/list": lambda params: {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": lambda params: {"content": [{"type": "text", "text": params["arguments"]["message"]}]},
    "ping": lambda params: {},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] in RESULTS:
        answer["result"] = RESULTS[message["method"]](message.get("params"))
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
