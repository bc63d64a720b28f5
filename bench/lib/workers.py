"""Idle workers in one event loop, each with a connection of its own and its own way to wait for work."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import psycopg

from lib.project import SQL

QUEUE = "default"
POLL_SECONDS = 1
MOST_SECONDS_TO_WAIT = 60


def _text(file: str) -> str:
    return (SQL / "wake_up" / file).read_text()


@dataclass
class Crew:
    """Who is busy, and what was claimed."""

    busy: int = 0
    claimed: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def note(self, busy: int, claimed: int = 0) -> None:
        async with self.changed:
            self.busy += busy
            self.claimed += claimed
            self.changed.notify_all()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(is_so), MOST_SECONDS_TO_WAIT)


@dataclass
class Worker:
    connection: psycopg.AsyncConnection
    crew: Crew

    async def _run(self, file: str, values: dict | None = None) -> list[tuple]:
        cursor = await self.connection.execute(_text(file), values)
        return await cursor.fetchall() if cursor.description else []

    async def _complete(self, jobs: list[tuple]) -> None:
        for job_id, attempt in jobs:
            await self._run("complete.sql", {"id": job_id, "attempt": attempt})

    async def _idle(self, wait: Callable[[], Awaitable]) -> None:
        await self.crew.note(busy=-1)
        await wait()
        await self.crew.note(busy=1)

    async def _notified(self) -> None:
        async for _ in self.connection.notifies(stop_after=1):
            pass

    async def _claim_until_empty(self, claim: str, values: dict | None) -> None:
        while jobs := await self._run(claim, values):
            if claim == "claim_next.sql":
                await self._complete(jobs)
            await self.crew.note(0, claimed=1)

    async def sleep_in_the_claim(self) -> None:
        await self.crew.note(busy=-1)
        while True:
            jobs = await self._run("claim_next_or_wait.sql", {"queue": QUEUE})
            await self.crew.note(busy=1)
            await self._complete(jobs)
            await self.crew.note(busy=-1, claimed=len(jobs))

    async def sleep_in_the_procedure(self) -> None:
        while True:
            await self._claim_until_empty("claim_next.sql", {"queue": QUEUE})
            await self._idle(lambda: self._run("wait_for_job.sql", {"queue": QUEUE}))

    async def listen(self) -> None:
        [[channel]] = await self._run("listen_channel.sql", {"queue": QUEUE})
        await self.connection.execute(f"LISTEN {channel}")
        while True:
            await self._claim_until_empty("claim_next.sql", {"queue": QUEUE})
            await self._idle(self._notified)

    async def listen_to_the_bare_table(self) -> None:
        await self._run("bare_listen.sql")
        while True:
            await self._claim_until_empty("bare_claim.sql", None)
            await self._idle(self._notified)

    async def poll_the_bare_table(self) -> None:
        await asyncio.sleep(random.random() * POLL_SECONDS)
        while True:
            await self._claim_until_empty("bare_claim.sql", None)
            await self._idle(lambda: asyncio.sleep(POLL_SECONDS))


async def give_work(way: Callable[[Worker], Awaitable], number: int, add: str, jobs: int) -> None:
    """So many workers wait in this way while jobs are committed one by one, each when all are idle again."""
    longest_pause = POLL_SECONDS if way is Worker.poll_the_bare_table else 0.01
    crew = Crew(busy=number)
    connections = [await psycopg.AsyncConnection.connect(autocommit=True) for _ in range(number)]
    tasks = [asyncio.create_task(way(Worker(connection, crew))) for connection in connections]
    producer = await psycopg.AsyncConnection.connect(autocommit=True, options="-c synchronous_commit=off")
    try:
        for made in range(1, jobs + 1):
            await crew.until(lambda: crew.busy == 0)
            # Whoever has just told that it waits is about to; and commits come at any time.
            await asyncio.sleep(0.005 + random.random() * longest_pause)
            await producer.execute(_text(add), {"queue": QUEUE} if add == "add.sql" else None)
            await crew.until(lambda made=made: crew.claimed >= made)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in [*connections, producer]:
            await connection.close()
