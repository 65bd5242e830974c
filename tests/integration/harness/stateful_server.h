// A Python MCP server of the modern era that keeps state in its process: rounds of input, tasks,
// and lists in pages.
#pragma once

namespace stdgate::harness {

// The text of stateful.py.
inline constexpr const char* kStatefulServer = R"py(
import json, os, sys, time
def fresh():
    return os.urandom(8).hex()
states, tasks, cursors, listening = {}, {}, set(), {}
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")), flush=True)
def tagged(id):
    return {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    id, method, params = message["id"], message["method"], message.get("params", {})
    result, error = {"resultType": "complete", "pid": os.getpid()}, None
    if method == "server/discover":
        result.update({"supportedVersions": ["2026-07-28"], "capabilities": {
            "tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}})
    elif method == "tools/list":
        cursor = params.get("cursor")
        if cursor is not None and cursor not in cursors:
            error = "unknown cursor"
        result["tools"] = [{"name": "t", "inputSchema": {"type": "object"}}]
        result.update({"ttlMs": 0, "cacheScope": "private"})
        if cursor is None:
            result["nextCursor"] = fresh()
            cursors.add(result["nextCursor"])
    elif method == "tools/call" and params["name"] == "ask":
        state = params.get("requestState")
        if state is None:
            state = "\u00fc\"" + fresh()
            states[state] = True
            result = {"resultType": "input_required", "requestState": state, "pid": os.getpid(),
                      "inputRequests": {"q": {"method": "elicitation/create", "params": {
                          "message": "?", "requestedSchema": {"type": "object", "properties": {}}}}}}
        elif states.pop(state, None) is None:
            error = "unknown state"
        time.sleep(0.002)
    elif method == "tools/call" and params["name"] == "work":
        task = fresh()
        tasks[task] = "working"
        result = {"resultType": "task", "taskId": task, "status": "working", "ttlMs": 60000,
                  "pid": os.getpid()}
        time.sleep(0.002)
    elif method in ("tasks/get", "tasks/cancel", "tasks/update"):
        if params["taskId"] not in tasks:
            error = "unknown task"
        else:
            if method == "tasks/cancel":
                tasks[params["taskId"]] = "cancelled"
                for listener, ids in listening.items():
                    if params["taskId"] in ids:
                        say({"method": "notifications/tasks", "params": {
                            **tagged(listener), "taskId": params["taskId"], "status": "cancelled"}})
            result.update({"taskId": params["taskId"], "status": tasks[params["taskId"]],
                           "ttlMs": 60000})
    elif method == "subscriptions/listen":
        ids = params["notifications"].get("taskIds", [])
        listening[id] = [one for one in ids if one in tasks]
        say({"method": "notifications/subscriptions/acknowledged",
             "params": {**tagged(id), "notifications": {"taskIds": listening[id]}}})
        continue
    else:
        error = "no"
    say({"id": id, "error": {"code": -32602, "message": error}} if error
        else {"id": id, "result": result})
)py";

}  // namespace stdgate::harness
