"""The benchmark's tools on aiohttp-tiny-mcp."""

import asyncio
import logging
import os
import sys
from typing import Literal

from aiohttp import web
from aiohttp_tiny_mcp import Endpoint, Registry
from aiohttp_tiny_mcp.server.stdio import run_stdio
from pydantic import BaseModel

logging.disable(logging.WARNING)


class Numbers(BaseModel):
    a: int
    b: int


class Sum(BaseModel):
    sum: int


class Size(BaseModel):
    size: int


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


class Order(BaseModel):
    customer: Customer
    address: Address
    items: list[Item]
    priority: Literal["low", "normal", "high"]
    gift: bool
    currency: str
    channel: str
    locale: str
    newsletter: bool
    reference: str
    note: str | None = None
    coupon: str | None = None


class Total(BaseModel):
    total: int
    lines: int


async def add(args: Numbers) -> Sum:
    """Adds two numbers."""
    return Sum(sum=args.a + args.b)


async def text(args: Size) -> str:
    """A text of so many bytes."""
    return "x" * args.size


async def order(args: Order) -> Total:
    """What an order comes to."""
    return Total(total=sum(item.quantity * item.price for item in args.items), lines=len(args.items))


def build(mode: str) -> Registry:
    if mode in ("redis", "shared"):
        from aiohttp_tiny_mcp.storage.redis import RedisHub, RedisSessionStore, RedisStorage
        from redis.asyncio import Redis

        storage = RedisStorage(Redis.from_url(os.environ["REDIS_URL"]), prefix="tiny")
        registry = Registry("tiny-mcp", "1", hub=RedisHub(storage), session_store=RedisSessionStore(storage))
    else:
        registry = Registry("tiny-mcp", "1")
    for tool in (add, text, order):
        registry.tool(tool)
    if mode == "shared":
        import shared

        shared.add_to(registry)
    return registry


match sys.argv[1:]:
    case ["serve", port, mode]:
        app = Endpoint(build(mode)).app("/mcp")
        web.run_app(app, host="127.0.0.1", port=int(port), access_log=None, print=None)
    case _:
        asyncio.run(run_stdio(build("memory")))
