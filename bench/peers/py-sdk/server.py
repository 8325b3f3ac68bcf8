"""The benchmark's tools on the official Python SDK 2.x."""

import sys
from typing import Literal

import uvicorn
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

server = MCPServer("py-sdk", log_level="ERROR")


class Sum(BaseModel):
    sum: int


class Customer(BaseModel):
    name: str
    email: str


class Address(BaseModel):
    street: str
    city: str
    zip: str
    country: str


class Item(BaseModel):
    sku: str
    quantity: int
    price: int


class Total(BaseModel):
    total: int
    lines: int


@server.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool(structured_output=False)
def text(size: int) -> str:
    """A text of so many bytes."""
    return "x" * size


@server.tool()
def order(
    customer: Customer,
    address: Address,
    items: list[Item],
    priority: Literal["low", "normal", "high"],
    gift: bool,
    currency: str,
    channel: str,
    locale: str,
    newsletter: bool,
    reference: str,
    note: str | None = None,
    coupon: str | None = None,
) -> Total:
    """What an order comes to."""
    return Total(total=sum(item.quantity * item.price for item in items), lines=len(items))


match sys.argv[1:]:
    case ["serve", port, mode]:
        app = server.streamable_http_app(stateless_http=mode == "stateless")
        uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error", access_log=False)
    case _:
        server.run("stdio")
