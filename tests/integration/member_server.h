// A Python MCP server that is a member of a virtual server, and can misbehave.
#pragma once

#include <string>
#include <vector>

namespace stdgate::harness {

// Has the tools "echo", which answers with its arguments, and "die". The mode says how it
// misbehaves:
// - "exits" at once, "hangs" or "errors" at every list, or writes "garbage" between its messages
// - "slow": answers nothing until there is a file "go" in its folder
// - "lies": its list has malformed, repeated and too long tools
// - "changes": its list changes each time, which is announced
// - "many" tools (1500 in pages), "twenty" tools, or "renamed": the tool is called other, not echo
inline std::vector<std::string> member_server(const std::string& mode = "good") {
  static constexpr const char* kServer = R"py(
import json, os, sys, time
mode = sys.argv[1]
if mode == "exits":
    sys.exit(3)
count = 0
def say(message):
    if mode == "garbage":
        sys.stdout.write("no json\n[1,\n{\"x\":1}\n")
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()
def tool(name):
    return {"name": name, "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}}}
def tools(params):
    global count
    count += 1
    all = [tool("other" if mode == "renamed" else "echo"), tool("die"), tool("secret")]
    if mode == "lies":
        all += [tool("echo"), {"name": "none"}, {"name": 7}, tool("x" * 300), "text", None, {"inputSchema": 1}]
    if mode == "changes":
        all.append(tool("t%d" % count))
        say({"method": "notifications/tools/list_changed"})
    if mode == "twenty":
        all = [tool("t%d" % i) for i in range(20)]
    if mode == "many":
        page = int(params.get("cursor", "0"))
        result = {"tools": [tool("t%d" % (page * 300 + i)) for i in range(300)]}
        if page < 4:
            result["nextCursor"] = str(page + 1)
        return result
    return {"tools": all}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    id, method, params = message["id"], message["method"], message.get("params") or {}
    while mode == "slow" and not os.path.exists("go"):
        time.sleep(0.01)
    if method == "initialize":
        say({"id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
             "serverInfo": {"name": "member", "version": "1"}}})
    elif method == "tools/list":
        if mode == "hangs":
            continue
        if mode == "errors":
            say({"id": id, "error": {"code": -32603, "message": "no list today"}})
        else:
            say({"id": id, "result": tools(params)})
    elif method == "tools/call" and params.get("name") == "die":
        os.kill(os.getpid(), 9)
    elif method == "tools/call":
        say({"id": id, "result": {"content": [{"type": "text", "text": "REACHED " + json.dumps(params)}]}})
    elif method == "ping":
        say({"id": id, "result": {}})
    else:
        say({"id": id, "error": {"code": -32601, "message": "Method not found"}})
)py";
  // A string in a configuration cannot keep line ends, so the program is passed as hex digits.
  std::string hex;
  for (const char* at = kServer; *at != 0; ++at) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(*at) >> 4];
    hex += "0123456789abcdef"[*at & 15];
  }
  return {"python3", "-c", "exec(bytes.fromhex('" + hex + "').decode())", mode};
}

inline constexpr const char* kMember = "protocol: mcp, isolation: shared, revision: legacy";

}  // namespace stdgate::harness
