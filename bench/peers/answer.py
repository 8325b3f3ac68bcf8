"""The answer to a call of `add`, without a protocol: the body is parsed, the numbers are added."""

import json


def answer(body: bytes) -> bytes:
    message = json.loads(body)
    numbers = message["params"]["arguments"]
    total = {"sum": numbers["a"] + numbers["b"]}
    result = {"content": [{"type": "text", "text": json.dumps(total)}], "structuredContent": total}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
