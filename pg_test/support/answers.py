"""What an endpoint of the tests answers: `how` in the payload says it, or the first word of the path.

A list of them is one for each attempt; the last one goes on.
"""

import asyncio
import email.utils
import json
import socket
import struct
import time
import urllib.error
import urllib.request

HUGE = 64 * 1024 * 1024
PIECE = 64 * 1024
FOREVER = 3600


async def give(endpoints, connection, request) -> None:
    payload = request.json if isinstance(request.json, dict) else {}
    how = payload.get("how") or request.target.split("?")[0].split("/")[1]
    if isinstance(how, list):
        how = how[min(request.attempt, len(how)) - 1]
    await ANSWERS[how](endpoints, connection, request, payload)


async def fast(_endpoints, connection, request, _payload) -> None:
    connection.send(request, 204)


async def slow(endpoints, connection, request, payload) -> None:
    await asyncio.sleep(payload.get("seconds", endpoints.seconds))
    connection.send(request, 204)


async def held(endpoints, connection, request, _payload) -> None:
    """It answers once the test says so."""
    while not endpoints.released.is_set():
        await asyncio.sleep(0.005)
    connection.send(request, 204)


async def echo(_endpoints, connection, request, _payload) -> None:
    """The request, as JSON."""
    seen = {"method": request.method, "target": request.target, "headers": request.headers, "body": request.body.decode()}
    connection.send(request, 200, json.dumps(seen).encode(), Content_Type="application/json")


async def status(_endpoints, connection, request, payload) -> None:
    """Whatever the payload says: status, headers, body."""
    headers = {name.replace("-", "_"): value for name, value in payload.get("headers", {}).items()}
    connection.send(request, payload["status"], payload.get("body", "").encode(), **headers)


async def ok(_endpoints, connection, request, payload) -> None:
    connection.send(request, 200, payload.get("body", "{}").encode(), Content_Type="application/json")


async def failure(_endpoints, connection, request, _payload) -> None:
    connection.send(request, 500, b"a bug")


async def busy(_endpoints, connection, request, payload) -> None:
    """429 or 503, with Retry-After in seconds."""
    connection.send(request, payload.get("status", 429), Retry_After=str(payload.get("after", 1)))


async def busy_date(_endpoints, connection, request, payload) -> None:
    date = email.utils.formatdate(time.time() + payload.get("after", 1), usegmt=True)
    connection.send(request, payload.get("status", 429), Retry_After=date)


async def gone(_endpoints, connection, request, _payload) -> None:
    connection.send(request, 410, b"moved away")


async def redirect(endpoints, connection, request, payload) -> None:
    connection.send(request, payload.get("status", 302), Location=payload.get("to", endpoints.url("fast", "/caught")))


async def caught(_endpoints, connection, request, _payload) -> None:
    """Where nobody should come."""
    connection.send(request, 204)


async def reset(_endpoints, connection, request, _payload) -> None:
    connection.endpoints.record.end(request)
    at_once = struct.pack("ii", 1, 0)
    connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    connection.transport.abort()


async def close(_endpoints, connection, request, _payload) -> None:
    """Without a word."""
    connection.endpoints.record.end(request)
    connection.transport.close()


async def half(_endpoints, connection, request, _payload) -> None:
    connection.send_last(request, b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"half":')
    connection.transport.close()


async def half_head(_endpoints, connection, request, _payload) -> None:
    connection.send_last(request, b"HTTP/1.1 200 OK\r\nContent-Le")
    connection.transport.close()


async def garbage(_endpoints, connection, request, _payload) -> None:
    connection.send_last(request, b"\x00\xff\xfenothing that is HTTP\r\n\r\n" * 10)
    connection.transport.close()


async def trickle(_endpoints, connection, _request, _payload) -> None:
    """A byte of the body from time to time, for as long as the other side waits."""
    connection.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    await _bytes_for_ever(connection, b" ")


async def trickle_head(_endpoints, connection, _request, _payload) -> None:
    connection.transport.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    await _bytes_for_ever(connection, b"x")


async def _bytes_for_ever(connection, byte: bytes) -> None:
    while not connection.transport.is_closing():
        connection.transport.write(byte)
        await asyncio.sleep(0.02)


async def huge(_endpoints, connection, request, _payload) -> None:
    """JSON far beyond any limit, in pieces and only as fast as it is read."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {HUGE}\r\nContent-Type: application/json\r\n\r\n"
    connection.send_last(request, head.encode(), 200)
    sent = 0
    while sent < HUGE and not connection.transport.is_closing():
        if connection.transport.get_write_buffer_size() < PIECE:
            connection.transport.write(b"1" * PIECE)
            sent += PIECE
        await asyncio.sleep(0)


async def never(_endpoints, _connection, _request, _payload) -> None:
    await asyncio.sleep(FOREVER)


async def accept(_endpoints, connection, request, _payload) -> None:
    """For a later call back, by the test."""
    connection.send(request, 202)


async def accept_and_complete(_endpoints, connection, request, payload) -> None:
    """The call back may come first."""
    loop = asyncio.get_running_loop()
    first = payload.get("first", False)
    if not first:
        connection.send(request, 202)
    await loop.run_in_executor(None, call_back, request, "complete", {"late": True})
    if first:
        connection.send(request, 202)


ANSWERS = {
    name: value
    for name, value in list(globals().items())
    if asyncio.iscoroutinefunction(value) and not name.startswith("_") and name != "give"
}


def call_back(request, verb: str, body=None, token: str | None = None) -> tuple[int, str]:
    """As an endpoint of mode async does it later; the status and the body that come back."""
    token = request.headers["turnstile-callback-token"] if token is None else token
    url = f"{request.headers['turnstile-callback']}/{verb}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
