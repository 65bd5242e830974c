"""The official Python client and agent of the Agent Client Protocol (PyPI: agent-client-protocol), each with a peer of
the same library and with one of another, over a WebSocket and over Streamable HTTP."""
import contextlib
import os
import sys
import unittest

from acp import PROTOCOL_VERSION, Client, ReadTextFileResponse, RequestError, RequestPermissionResponse, connect_to_agent, text_block
from acp.http import create_http_stream
from acp.schema import AllowedOutcome
from acp.ws import create_websocket_stream

from stdgate_process import Stdgate, eventually

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = [sys.executable, os.path.join(HERE, "acp_agent.py")]
RULED = f"""
listen: 127.0.0.1:0
admin: 127.0.0.1:0
audit: {{ file: "@DIR@/audit.jsonl" }}
backends:
  agent:
    command: ["{AGENT[0]}", "{AGENT[1]}"]
    protocol: acp
    rules:
      - allow: ["*"]
        methods: ["*"]
        from_agent: ["session/*"]
"""


class Editor(Client):
    def __init__(self, option="yes"):
        self.option, self.asked, self.read, self.heard = option, [], [], []

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.asked.append(tool_call.title)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.option))

    async def read_text_file(self, session_id, path, line=None, limit=None, **kwargs):
        self.read.append(path)
        return ReadTextFileResponse(content=f"what {path} holds")

    async def session_update(self, session_id, update, **kwargs):
        self.heard.append(update.content.text)


class Transport:
    @contextlib.asynccontextmanager
    async def serve(self, gate):
        await gate.start()
        try:
            yield gate
        finally:
            self.assertEqual(await gate.stop(), (0, {}))

    @contextlib.asynccontextmanager
    async def open(self, gate, editor):
        connection = connect_to_agent(editor, await self.stream(gate))
        try:
            greeting = await connection.initialize(protocol_version=PROTOCOL_VERSION)
            self.assertEqual(greeting.agent_info.name, "reader")
            yield connection, (await connection.new_session(cwd="/", mcp_servers=[])).session_id
        finally:
            await connection.close()

    async def test_a_prompt_for_which_the_agent_asks(self):
        editor = Editor()
        async with self.serve(Stdgate(AGENT, "--protocol", "acp", "--grace", "1s")) as gate, \
                self.open(gate, editor) as (connection, session):
            answer = await connection.prompt(session_id=session, prompt=[text_block("/a")])
            self.assertEqual(answer.stop_reason, "end_turn")
            await eventually(lambda: editor.heard, "what the agent read")
            self.assertEqual((editor.asked, editor.heard), (["Read /a"], ["what /a holds"]))
            editor.option = "no"
            answer = await connection.prompt(session_id=session, prompt=[text_block("/b")])
            self.assertEqual((answer.stop_reason, editor.read), ("refusal", ["/a"]))
            with self.assertRaises(RequestError) as refused:
                await connection.set_session_mode(session_id=session, mode_id="none")
            self.assertEqual(refused.exception.code, -32601)

    async def test_what_rules_keep_from_the_client(self):
        editor = Editor()
        async with self.serve(Stdgate.configured(RULED)) as gate, self.open(gate, editor) as (connection, session):
            answer = await connection.prompt(session_id=session, prompt=[text_block("/a")])
            self.assertEqual(answer.stop_reason, "end_turn")
            await eventually(lambda: editor.heard, "what the agent read")
            self.assertEqual((editor.asked, editor.read, editor.heard), (["Read /a"], [], ["error -32601"]))


class OverWebSocket(Transport, unittest.IsolatedAsyncioTestCase):
    async def stream(self, gate):
        return await create_websocket_stream(f"ws://127.0.0.1:{gate.port}/acp")


class OverHttp(Transport, unittest.IsolatedAsyncioTestCase):
    async def stream(self, gate):
        return create_http_stream(f"http://127.0.0.1:{gate.port}/acp")


if __name__ == "__main__":
    unittest.main()
