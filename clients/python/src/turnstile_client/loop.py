"""The world as coroutines of asyncio see it, and a task for each handler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, Callable, Optional, Union

import psycopg
from psycopg.rows import tuple_row

from turnstile_client.core import Loop
from turnstile_client.io import Made, conninfo
from turnstile_client.run import Run, RunKey
from turnstile_client.statements import Rows, Statement

AsyncConnect = Union[str, Callable[[], Awaitable[Any]]]


class AsyncConnection(Made):
    _made: psycopg.AsyncConnection[Any]

    @classmethod
    async def of(cls, made: Any) -> AsyncConnection:
        await made.set_autocommit(True)
        # Only where a call is in a transaction of its own.
        await made.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)
        return cls(made)

    async def rows(self, statement: Statement, read_committed: bool = False) -> Rows:
        if read_committed:
            async with self._made.transaction():
                return await self.rows(statement)
        async with self._made.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(*statement)
            return await cursor.fetchall() if cursor.description else []

    async def close(self) -> None:
        await self._made.close()

    async def cancel(self) -> None:
        try:
            await asyncio.to_thread(self._made.cancel)
        except psycopg.Error:
            self.hang_up()


class Flag:
    """Set until somebody has waited for it."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiter: Optional[asyncio.Future[None]] = None

    def set(self) -> None:
        self._is_set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, seconds: float) -> None:
        if not self._is_set:
            loop = asyncio.get_running_loop()
            waiter = self._waiter = loop.create_future()
            timer = loop.call_later(max(0.0, seconds), _wake, waiter)
            try:
                await waiter
            finally:
                timer.cancel()
                self._waiter = None
        else:
            # Others have their turn in any case.
            await asyncio.sleep(0)
        self._is_set = False


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class AsyncIo:
    def __init__(self, connect: AsyncConnect, work: Callable[[Run], Coroutine[Any, Any, None]]) -> None:
        self._connect, self._work = connect if callable(connect) else conninfo(connect), work
        self._flags = {loop: Flag() for loop in Loop}
        self._tasks: dict[RunKey, asyncio.Task[None]] = {}

    async def open(self) -> AsyncConnection:
        if callable(self._connect):
            return await AsyncConnection.of(await self._connect())
        return await AsyncConnection.of(await psycopg.AsyncConnection.connect(self._connect))

    async def wait(self, loop: Loop, seconds: float) -> None:
        await self._flags[loop].wait(seconds)

    def signal(self, loop: Loop) -> None:
        """In the thread of the loop."""
        self._flags[loop].set()

    def start(self, run: Run) -> None:
        key = run.job.key
        task = self._tasks[key] = asyncio.create_task(self._work(run))
        task.add_done_callback(lambda ended: self._forget(key, ended))

    def abandon(self, run: Run) -> bool:
        task = self._tasks.get(run.job.key)
        return task is not None and task.cancel()

    def _forget(self, key: RunKey, ended: asyncio.Task[None]) -> None:
        if self._tasks.get(key) is ended:
            del self._tasks[key]
