"""The floor of servers on aiohttp."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from aiohttp import web  # noqa: E402
from answer import answer  # noqa: E402


async def post(request: web.Request) -> web.Response:
    return web.Response(body=answer(await request.read()), content_type="application/json")


app = web.Application()
app.router.add_post("/mcp", post)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
