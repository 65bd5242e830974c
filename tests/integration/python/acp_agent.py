"""An agent on the official library, without a model: a prompt is a file, which it reads from its client after the client
has permitted that. What it read it says."""
import asyncio

from acp import (PROTOCOL_VERSION, InitializeResponse, NewSessionResponse, PromptResponse, RequestError, run_agent,
                 update_agent_message_text)
from acp.schema import Implementation, PermissionOption, ToolCallUpdate

OPTIONS = [PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
           PermissionOption(option_id="no", name="Reject", kind="reject_once")]


class Reader:
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **kwargs):
        return InitializeResponse(protocol_version=PROTOCOL_VERSION,
                                  agent_info=Implementation(name="reader", version="1.2.3"))

    async def new_session(self, cwd, additional_directories=None, mcp_servers=None, **kwargs):
        return NewSessionResponse(session_id="s-1")

    async def prompt(self, session_id, prompt, **kwargs):
        path = prompt[0].text
        asked = ToolCallUpdate(tool_call_id="call-1", title=f"Read {path}")
        allowed = await self.client.request_permission(session_id=session_id, tool_call=asked, options=OPTIONS)
        if getattr(allowed.outcome, "option_id", "no") == "no":
            return PromptResponse(stop_reason="refusal")
        try:
            said = (await self.client.read_text_file(session_id=session_id, path=path)).content
        except RequestError as error:
            said = f"error {error.code}"
        await self.client.session_update(session_id=session_id, update=update_agent_message_text(said))
        return PromptResponse(stop_reason="end_turn")


asyncio.run(run_agent(Reader()))
