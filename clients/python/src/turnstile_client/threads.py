"""The world as threads see it: calls that block, and a thread for each handler."""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Optional, Union

import psycopg
from psycopg.rows import tuple_row

from turnstile_client.core import Loop
from turnstile_client.io import Made, conninfo
from turnstile_client.run import Run
from turnstile_client.statements import Rows, Statement

Connect = Union[str, Callable[[], Any]]


class ThreadConnection(Made):
    _made: psycopg.Connection[Any]

    def __init__(self, made: Any) -> None:
        super().__init__(made)
        made.autocommit = True
        # Only where a call is in a transaction of its own.
        made.isolation_level = psycopg.IsolationLevel.READ_COMMITTED

    async def rows(self, statement: Statement, read_committed: bool = False) -> Rows:
        if read_committed:
            with self._made.transaction():
                return await self.rows(statement)
        with self._made.cursor(row_factory=tuple_row) as cursor:
            cursor.execute(*statement)
            return cursor.fetchall() if cursor.description else []

    async def close(self) -> None:
        self._made.close()

    async def cancel(self) -> None:
        try:
            self._made.cancel()
        except psycopg.Error:
            self.hang_up()


class Threads:
    """Handlers run in daemon threads: one that does not stop must not keep the process."""

    def __init__(self, most: int, work: Callable[[Run], None]) -> None:
        self._most, self._work = most, work
        self._runs: queue.SimpleQueue[Optional[Run]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._started, self._free = 0, 0

    def start(self, run: Run) -> None:
        with self._lock:
            self._free -= 1
            is_new = self._free < 0 and self._started < self._most
            self._started += is_new
            self._free += is_new
        self._runs.put(run)
        if is_new:
            threading.Thread(target=self._go_on, name=f"turnstile run {self._started}", daemon=True).start()

    def end(self) -> None:
        for _ in range(self._started):
            self._runs.put(None)

    def _go_on(self) -> None:
        while (run := self._runs.get()) is not None:
            self._work(run)
            with self._lock:
                self._free += 1


class ThreadIo:
    def __init__(self, connect: Connect, threads: Threads) -> None:
        self._connect, self._threads = connect if callable(connect) else conninfo(connect), threads
        # A lock that is held until its loop is signaled. That works in the handler of a signal, too.
        self._flags = {loop: threading.Lock() for loop in Loop}
        for flag in self._flags.values():
            flag.acquire()

    async def open(self) -> ThreadConnection:
        return ThreadConnection(self._connect() if callable(self._connect) else psycopg.connect(self._connect))

    async def wait(self, loop: Loop, seconds: float) -> None:
        self._flags[loop].acquire(timeout=max(0.0, seconds))

    def signal(self, loop: Loop) -> None:
        try:
            self._flags[loop].release()
        except RuntimeError:
            # It was signaled already.
            pass

    def start(self, run: Run) -> None:
        self._threads.start(run)

    def abandon(self, run: Run) -> bool:
        return False
