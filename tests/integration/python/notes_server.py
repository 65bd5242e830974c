"""A legacy server, without any library, that keeps notes in its memory as servers of browsers and databases keep their
state: note(text) adds one, notes() lists them with the pid that keeps them, ask() has its client's user write one, and
slow_note(text) takes a moment."""
import json
import os
import sys
import threading
import time

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"type": "object", "properties": {}}
TOOLS = [{"name": name, "description": name, "inputSchema": schema}
         for name, schema in (("note", TEXT), ("slow_note", TEXT), ("notes", NOTHING), ("ask", NOTHING))]

notes = []
asked = {}
lock = threading.Lock()


def say(message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(id, text, is_error=False):
    say({"id": id, "result": {"content": [{"type": "text", "text": text}], "isError": is_error}})


def add(id, text):
    notes.append(text)
    answer(id, "noted")


def call(id, name, arguments):
    if name == "note":
        add(id, arguments["text"])
    elif name == "slow_note":
        def later():
            time.sleep(0.2)
            add(id, arguments["text"])
        threading.Thread(target=later).start()
    elif name == "notes":
        answer(id, json.dumps({"pid": os.getpid(), "notes": sorted(notes)}))
    else:
        asked[f"ask-{id}"] = id
        say({"id": f"ask-{id}", "method": "elicitation/create", "params": {
            "message": "a note?",
            "requestedSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}})


is_greeted = False
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method is None:
        id = asked.pop(message["id"])
        if "error" in message:
            answer(id, message["error"]["message"], True)
        else:
            add(id, message["result"].get("content", {}).get("text", message["result"]["action"]))
    elif "id" not in message:
        continue
    elif method == "initialize":
        is_greeted = True
        say({"id": message["id"], "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"}}})
    elif method == "ping":
        say({"id": message["id"], "result": {}})
    elif method == "tools/list" and is_greeted:
        say({"id": message["id"], "result": {"tools": TOOLS}})
    elif method == "tools/call" and is_greeted:
        call(message["id"], params["name"], params.get("arguments", {}))
    else:
        say({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
