"""A connection that comes back: made when it is first needed, and anew when it was lost."""

from __future__ import annotations

from typing import Optional

import psycopg

from turnstile_client import faults, statements
from turnstile_client.ends import pause_after
from turnstile_client.faults import CannotConnect, Remedy
from turnstile_client.hooks import Hooks, safely
from turnstile_client.io import Connection, Io


class Link:
    """may_be_refused: for what a worker begins with. A server that refuses it at once would do so later, too."""

    def __init__(self, io: Io, hooks: Hooks, may_be_refused: bool = False) -> None:
        self.connection: Optional[Connection] = None
        self._may_be_refused, self._is_refused = may_be_refused, False
        self._io, self._hooks = io, hooks
        self._failures = 0
        self._told: Optional[str] = None

    async def get(self) -> Connection:
        if self.connection is None:
            try:
                self.connection = await self._io.open()
            except (psycopg.Error, OSError) as error:
                self._is_refused = self._may_be_refused and faults.is_refused(error)
                if self._is_refused:
                    raise
                raise CannotConnect from error
            self._may_be_refused = False
        return self.connection

    def works(self) -> None:
        """A call was answered, so the next loss is a new one."""
        self._failures = 0
        if self._told is not None:
            self._told = None
            safely(self._hooks.connected)

    def remedy(self, error: BaseException) -> Remedy:
        if self._is_refused:
            return Remedy.NEVER
        return faults.remedy(error, self.connection is None or self.connection.is_closed())

    async def is_read_only(self) -> bool:
        """After 25006: whether it is the server that takes no writes, and not a trigger that has raised it."""
        if self.connection is None:
            return False
        [(is_so,)] = await self.connection.rows((statements.IS_READ_ONLY, {}))
        return bool(is_so)

    async def survive(self, error: BaseException) -> float:
        """Returns how long to pause. Another connection may lead to a server that takes writes."""
        if self.remedy(error) is not Remedy.AGAIN:
            await self.close()
        pause = pause_after(self._failures)
        self._failures += 1
        reason = faults.described(error)
        if reason != self._told:
            # Each reason is told once for as long as it stays the same.
            self._told = reason
            safely(self._hooks.disconnected, error.__cause__ or error, pause)
        return pause

    async def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            await connection.close()
