"""A server on the official library whose tools ask their client, in the way of each era: for input (greet), for a
completion (complete), for roots (places)."""
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("asking")


class Name(BaseModel):
    name: str


async def ask_name() -> Elicit[Name]:
    return Elicit("who are you?", Name)


async def ask_model() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="a word"))], max_tokens=5)


async def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def greet(who: Annotated[Name, Resolve(ask_name)]) -> str:
    return f"hello {who.name}"


@server.tool()
async def complete(answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    return f"the model says {answer.content.text}"


@server.tool()
async def places(roots: Annotated[ListRootsResult, Resolve(ask_roots)]) -> str:
    return ",".join(str(root.uri) for root in roots.roots)


@server.tool()
async def echo(message: str) -> str:
    return message


server.run("stdio")
