"""What replicas on one Redis are asked beside the tools that every peer has: a question, and a change that others hear of."""

from aiohttp_tiny_mcp import Exchange, Registry
from aiohttp_tiny_mcp.protocol.core import elicit
from aiohttp_tiny_mcp.storage.hub import NOTIFICATIONS, topic
from pydantic import BaseModel

FORM = {"type": "object", "properties": {"confirmed": {"type": "boolean"}}}


class Question(BaseModel):
    question: str


class Resource(BaseModel):
    uri: str


class Note(BaseModel):
    id: str


async def confirm(args: Question, ex: Exchange) -> str:
    """Asks the user."""
    answer = await ex.ask("confirm", elicit(args.question, FORM))
    return "yes" if answer.content.get("confirmed") else "no"


async def note(args: Note) -> str:
    """There is a note under every id."""
    return f"# Note {args.id}"


def add_to(registry: Registry) -> None:
    async def touch(args: Resource) -> str:
        """Tells whoever listens that a resource has changed."""
        changed = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": args.uri}}
        await registry.hub.publish(topic(NOTIFICATIONS), changed)
        return f"touched {args.uri}"

    registry.tool(confirm)
    registry.tool(touch)
    registry.resource("demo://notes/{id}", note)
