"""What the loops of a worker ask of the world. Threads and asyncio have one implementation each.

The loops are coroutines. The calls of threads block and never suspend, so that `blocking` runs the same loops there.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

import psycopg

from turnstile_client.core import Loop
from turnstile_client.run import Run, log
from turnstile_client.settings import CONNECTION
from turnstile_client.statements import Rows, Statement

T = TypeVar("T")


class Connection(Protocol):
    async def rows(self, statement: Statement, read_committed: bool = False) -> Rows: ...

    async def close(self) -> None: ...

    async def cancel(self) -> None:
        """Ends the call that runs there, if one does."""

    def hang_up(self) -> None:
        """From anywhere: the call that runs there fails, and so does any later one. The server sees it at once."""

    def is_closed(self) -> bool: ...


class Io(Protocol):
    async def open(self) -> Connection: ...

    async def wait(self, loop: Loop, seconds: float) -> None:
        """Returns when the loop was signaled since the last time, or after so long."""

    def signal(self, loop: Loop) -> None:
        """From any thread, and from the handler of a signal."""

    def start(self, run: Run) -> None:
        """Runs the handler."""

    def abandon(self, run: Run) -> bool:
        """Ends the handler by force. False: that cannot be."""


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    coroutine.close()
    raise RuntimeError("this is a coroutine of asyncio; the function whose name begins with async_ takes it")


def conninfo(text: str) -> str:
    """With what the library adds where the string says nothing else."""
    given = psycopg.conninfo.conninfo_to_dict(text)
    return psycopg.conninfo.make_conninfo(text, **{name: value for name, value in CONNECTION.items() if name not in given})


def log_notice(notice: psycopg.errors.Diagnostic) -> None:
    """Such as that some of the runs which a claim was to complete had ended before."""
    level = logging.WARNING if notice.severity_nonlocalized in ("WARNING", "NOTICE") else logging.DEBUG
    log.log(level, "the server says: %s", notice.message_primary)


class Made:
    """What both kinds of connections are: one of psycopg, set up for a worker."""

    def __init__(self, made: Any) -> None:
        self._made = made
        # A pooler may give the next transaction another connection to the server.
        made.prepare_threshold = None
        made.add_notice_handler(log_notice)

    def hang_up(self) -> None:
        hang_up(self._made)

    def is_closed(self) -> bool:
        return bool(self._made.closed)


def hang_up(connection: Any) -> None:
    with contextlib.suppress(psycopg.Error, OSError):
        if sys.platform == "win32":
            connection.close()
            return
        file = socket.socket(fileno=connection.fileno())
        try:
            file.shutdown(socket.SHUT_RDWR)
        finally:
            file.detach()
