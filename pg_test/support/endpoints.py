"""Web endpoints of the tests' own: they answer in every way that support/answers.py knows, and record each request.

One thread has them all. Each host is an address of the loopback network with the same port, so that each is a host of its own to
the program. A request is in flight from when it was read until just before its answer is written: what was in flight at the same
time by this record was so for certain.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from support import answers

HOSTS = {"fast": "127.0.0.1", "slow": "127.0.0.2", "failing": "127.0.0.3"}
MOST_OF_A_HEAD = 100_000


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""
    begun: float = 0.0
    ended: float | None = None
    # The other side has gone before it had its answer.
    lost: bool = False
    status: int | None = None
    # When the other side has closed its connection.
    closed: list[float] = field(default_factory=list, repr=False)

    @property
    def host(self) -> str:
        return self.headers["host"]

    @property
    def job(self) -> int:
        return int(self.headers["turnstile-job-id"])

    @property
    def attempt(self) -> int:
        return int(self.headers["turnstile-attempt"])

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass
class Record:
    """All that has come. Requests are added by the thread of the endpoints alone; a list can be read meanwhile."""

    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    in_flight: Counter = field(default_factory=Counter)
    most_in_flight: Counter = field(default_factory=Counter)

    def begin(self, request: Request) -> None:
        request.begun = time.monotonic()
        self.requests.append(request)
        self.in_flight[request.host] += 1
        self.most_in_flight[request.host] = max(self.most_in_flight[request.host], self.in_flight[request.host])

    def end(self, request: Request, lost: bool = False) -> None:
        if request.ended is None:
            request.ended, request.lost = time.monotonic(), lost
            self.in_flight[request.host] -= 1


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, one request after the other."""

    def __init__(self, endpoints: "Endpoints"):
        self.endpoints = endpoints
        self.transport: asyncio.Transport | None = None
        self._buffer = b""
        self._current: Request | None = None
        self._task: asyncio.Task | None = None
        self._closed: list[float] = []

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.endpoints.record.connections += 1

    def connection_lost(self, _reason) -> None:
        self._closed.append(time.monotonic())
        if self._task:
            self._task.cancel()
        if self._current:
            self.endpoints.record.end(self._current, lost=True)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._take()

    def _take(self) -> None:
        if self._current is None and (request := self._parsed()) is not None:
            self._current, request.closed = request, self._closed
            self.endpoints.record.begin(request)
            self._task = asyncio.get_running_loop().create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        await answers.give(self.endpoints, self, request)
        self.endpoints.record.end(request)
        self._current = self._task = None
        if not self.transport.is_closing():
            self._take()

    def _parsed(self) -> Request | None:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            assert len(self._buffer) < MOST_OF_A_HEAD, "a head without an end"
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            name = name.lower()
            headers[name] = f"{headers[name]}, {value.strip()}" if name in headers else value.strip()
        body = _body(headers, rest)
        if body is None:
            return None
        content, self._buffer = body
        method, target, _ = first.split(" ")
        return Request(method, target, headers, content)

    # ---- For answers ------------------------------------------------------------------------------

    def send(self, request: Request, status: int, body: bytes = b"", **headers: str) -> None:
        """A whole answer."""
        lines = [f"HTTP/1.1 {status} Whatever"]
        if status != 204:
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send_last(request, "\r\n".join([*lines, "", ""]).encode("latin-1") + body, status)

    def send_last(self, request: Request, data: bytes, status: int | None = None) -> None:
        request.status = status
        self.endpoints.record.end(request)
        self.transport.write(data)


def _body(headers: dict, rest: bytes) -> tuple[bytes, bytes] | None:
    """The body and what comes behind it; None where it is not all there yet."""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        length = int(headers.get("content-length", 0))
        return (rest[:length], rest[length:]) if len(rest) >= length else None
    body = b""
    while True:
        size, found, rest = rest.partition(b"\r\n")
        if not found:
            return None
        length = int(size, 16)
        if len(rest) < length + 2:
            return None
        body, rest = body + rest[:length], rest[length + 2 :]
        if length == 0:
            return body, rest


class Endpoints:
    """Three of them, until `close`."""

    def __init__(self, tls=None):
        self.record = Record()
        # Seconds that `slow` takes, and whether those that are held may go.
        self.seconds, self.released = 0.2, threading.Event()
        self.scheme = "https" if tls else "http"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._servers = self._in_thread(self._listen(tls))
        self.port = self._servers[0].sockets[0].getsockname()[1]

    def _in_thread(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _listen(self, tls) -> list:
        servers = []
        for address in HOSTS.values():
            port = servers[0].sockets[0].getsockname()[1] if servers else 0
            made = await self._loop.create_server(lambda: Connection(self), address, port, ssl=tls, backlog=2000)
            servers.append(made)
        return servers

    def close(self) -> None:
        self._in_thread(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    # ---- Where they are, and what has come -------------------------------------------------------

    def host(self, name: str = "fast") -> str:
        """As it is in the Host header, and in the concurrency key."""
        return f"{HOSTS[name]}:{self.port}"

    def url(self, name: str = "fast", path: str | None = None) -> str:
        return f"{self.scheme}://{self.host(name)}{path or '/' + name}"

    @property
    def requests(self) -> list[Request]:
        return list(self.record.requests)

    def of(self, job: int) -> list[Request]:
        return [request for request in self.requests if request.headers.get("turnstile-job-id") == str(job)]

    def in_flight(self, name: str = "fast") -> int:
        return self.record.in_flight[self.host(name)]

    def release(self) -> None:
        """Those that are held answer, and from now on each does at once."""
        self.released.set()


# Within it an endpoint that has much to do notices that the other side of a connection is gone.
NOTICED = 5.0


def certain_end(request: Request, kills: list[float]) -> float:
    """Until when it was in flight for certain.

    What a killed dispatcher has sent may be read long after: of a connection that was closed soon after a kill all that counts is
    what was before the kill.
    """
    ended = request.ended if request.ended is not None else float("inf")
    closed = request.closed[0] if request.closed else float("inf")
    before = [kill for kill in kills if kill <= closed <= kill + NOTICED]
    if request.lost and not before:
        return request.begun
    return min([ended, *before])


def most_at_once(requests: list[Request], kills: list[float] = ()) -> int:
    """How many were in flight at the same time for certain."""
    edges = []
    for request in requests:
        ended = certain_end(request, kills)
        if ended > request.begun:
            edges += [(request.begun, 1), (ended, -1)]
    most = now = 0
    # Where one ends in the moment in which another begins, it has ended first.
    for _, change in sorted(edges):
        now += change
        most = max(most, now)
    return most
