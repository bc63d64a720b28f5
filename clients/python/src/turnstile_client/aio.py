"""A worker whose handlers are coroutines."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable
from typing import Any, Callable, Optional, Union

import psycopg
from psycopg.rows import dict_row

from turnstile_client import outcome
from turnstile_client.core import Batch, Core, Statement, pause_after
from turnstile_client.hooks import Hooks, around, log, safely
from turnstile_client.outcome import Ending, RetryRules, ending_of_error, ending_of_result
from turnstile_client.run import Job, Run, StopReason
from turnstile_client.settings import Settings
from turnstile_client.worker import CANCEL_AGAIN, FATAL, LAST_ENDS, LONGEST_PATIENCE, PATIENCE, TICK, Handlers, is_lost

Connection = psycopg.AsyncConnection[dict[str, Any]]


class AsyncRun(Run):
    """What a coroutine gets."""

    def __init__(self, job: Job, progress: Callable[..., None]) -> None:
        super().__init__(job, progress)
        self._told = asyncio.Event()
        self.on_stop(self._told.set)

    async def stop_asked(self) -> StopReason:
        """Returns when the run should stop, and why."""
        await self._told.wait()
        assert self.stopped is not None
        return self.stopped


AsyncHandler = Callable[[AsyncRun], Awaitable[Any]]


class AsyncWorker:
    """As Worker; its handlers are coroutines. One that goes on after `grace` is cancelled."""

    def __init__(
        self, connect: Union[str, Callable[[], Awaitable[Any]]] = "", handlers: Optional[dict[str, AsyncHandler]] = None, *,
        retry: Optional[RetryRules] = None, hooks: Optional[Hooks] = None, **settings: Any,
    ) -> None:  # fmt: skip
        if "queues" in settings:
            settings["queues"] = tuple(settings["queues"])
        self.settings = Settings(**settings)
        self.handlers = Handlers(handlers)
        self.retry, self.hooks = retry or {}, hooks or Hooks()
        self._connect = connect
        self._core = Core(self.settings, make_run=AsyncRun)
        self._draining, self._hard, self._finished = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._changed: set[asyncio.Event] = set()
        self._tasks: dict[asyncio.Task[None], AsyncRun] = {}
        self._sleeper: Optional[Connection] = None
        self._fatal: Optional[BaseException] = None

    def handler(self, kind: str) -> Callable[[AsyncHandler], AsyncHandler]:
        def add(handler: AsyncHandler) -> AsyncHandler:
            self.handlers.by_kind[kind] = handler
            return handler

        return add

    # ---- life

    async def run(self, signals: bool = True) -> None:
        """Works until it is told to stop. SIGTERM and SIGINT are a soft stop, the second one is a hard stop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT) if signals else ():
            loop.add_signal_handler(number, lambda: self.stop(hard=self._draining.is_set()))
        ends = asyncio.create_task(self._tell())
        try:
            await self._claim_and_run()
        finally:
            self._draining.set()
            await self._drain()
            self._finished.set()
            self._notify()
            await ends
            for number in (signal.SIGTERM, signal.SIGINT) if signals else ():
                loop.remove_signal_handler(number)
        if self._fatal is not None:
            raise self._fatal

    def stop(self, hard: bool = False) -> None:
        """Soft: no more jobs are taken, and those that run may end within `drain`. Hard: they are told to stop at once."""
        self._draining.set()
        if hard:
            self._hard.set()
        self._notify()

    async def _drain(self) -> None:
        deadline = time.monotonic() + self.settings.drain
        while self._tasks and not self._hard.is_set() and time.monotonic() < deadline:
            await self._wait(TICK)
        self._core.stop_all(StopReason.SHUTDOWN)
        deadline = time.monotonic() + self.settings.grace
        while self._tasks and time.monotonic() < deadline:
            await self._wait(TICK)
        for task, run in list(self._tasks.items()):
            log.warning("the handler of attempt %d of job %d does not stop: it is cancelled", run.job.attempt, run.job.id)
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=TICK)

    # ---- claims

    async def _claim_and_run(self) -> None:
        connection: Optional[Connection] = None
        failures, usual = 0, 0.0
        while not self._draining.is_set():
            try:
                if connection is None:
                    connection = await self._open()
                room = await self._await_room(usual)
                if not room:
                    continue
                began = time.monotonic()
                runs = await self._claim(connection, room)
                if runs:
                    usual = time.monotonic() - began
                for run in runs:
                    task = asyncio.create_task(self._work(run))
                    self._tasks[task] = run
                    task.add_done_callback(self._done)
                if not runs:
                    await self._sleep(connection)
                failures = 0
            except psycopg.Error as error:
                if connection is not None and not is_lost(error, connection):
                    if error.sqlstate in FATAL:
                        self._fatal = error
                        break
                else:
                    await self._close(connection)
                    connection = None
                pause = pause_after(failures)
                failures += 1
                safely(self.hooks.disconnected, error, pause)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._draining.wait(), pause)
        await self._close(connection)

    async def _await_room(self, usual: float) -> int:
        if not self._core.room():
            await self._wait(TICK)
        patient_until = time.monotonic() + min(usual * PATIENCE, LONGEST_PATIENCE)
        while 0 < self._core.room() < self.settings.concurrency:
            left = patient_until - time.monotonic()
            if left <= 0 or self._draining.is_set():
                break
            await self._wait(left)
        return 0 if self._draining.is_set() else self._core.room()

    async def _claim(self, connection: Connection, room: int) -> list[Any]:
        completed = self._core.completions(time.monotonic())
        keys = completed.keys if completed else []
        asked = time.monotonic()
        try:
            rows = await _rows(connection, self._core.claim(room, completed))
        except psycopg.Error as error:
            self._core.unheard(keys)
            if not completed or is_lost(error, connection):
                raise
            rows = await _rows(connection, self._core.claim(room, None))
        else:
            self._core.accepted(keys)
        return self._core.started(rows, asked)

    async def _sleep(self, connection: Connection) -> None:
        """Who is told to stop meanwhile cancels the sleep."""
        safely(self.hooks.idle)
        self._sleeper = connection
        self._notify()
        sleep = asyncio.create_task(_rows(connection, self._core.sleep()))
        drains = asyncio.create_task(self._draining.wait())
        try:
            await asyncio.wait([sleep, drains], return_when=asyncio.FIRST_COMPLETED)
            # A cancellation that comes before the sleep has begun ends nothing, so it is sent again.
            while not sleep.done():
                with contextlib.suppress(psycopg.Error):
                    await asyncio.to_thread(connection.cancel)
                await asyncio.wait([sleep], timeout=CANCEL_AGAIN)
            with contextlib.suppress(psycopg.errors.QueryCanceled):
                await sleep
        finally:
            drains.cancel()
            self._sleeper = None

    # ---- handlers

    async def _work(self, run: AsyncRun) -> None:
        began = time.monotonic()
        try:
            with around(self.hooks, run):
                ending = ending_of_result(await self.handlers.of(run.job.kind)(run))
        except asyncio.CancelledError:
            ending = Ending(outcome.RELEASE)
        except Exception as error:
            ending = ending_of_error(error, self.retry)
        safely(self.hooks.ended, run, ending, time.monotonic() - began)
        self._core.ended(run.job.key, self._core.sendable(ending))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._notify()

    # ---- ends and signs of life

    async def _tell(self) -> None:
        connection: Optional[Connection] = None
        failures = 0
        give_up: Optional[float] = None
        while True:
            if self._finished.is_set():
                give_up = give_up or time.monotonic() + LAST_ENDS
                if self._core.all_ended() or time.monotonic() >= give_up:
                    break
            self._core.expire(time.monotonic())
            try:
                if connection is None:
                    connection = await self._open()
                if not await self._tell_once(connection):
                    await self._wait(self._core.next_moment(time.monotonic(), TICK))
                failures = 0
            except psycopg.Error as error:
                if connection is None or is_lost(error, connection):
                    await self._close(connection)
                    connection = None
                pause = pause_after(failures)
                failures += 1
                safely(self.hooks.disconnected, error, pause)
                await asyncio.sleep(pause)
        await self._close(connection)

    async def _tell_once(self, connection: Connection) -> bool:
        core = self._core
        claims_soon = self._sleeper is None and not self._draining.is_set()
        told = core.ends(time.monotonic(), not claims_soon)
        for number, batch in enumerate(told):
            try:
                await self._tell_batch(connection, batch)
            except psycopg.Error:
                core.unheard(key for each in told[number:] for key in each.keys)
                raise
        due = core.take_beats(time.monotonic())
        if due:
            asked = time.monotonic()
            core.heard(due, await _rows(connection, core.beat(due)), asked)
        for _, statement in core.take_progress():
            with contextlib.suppress(psycopg.errors.ObjectNotInPrerequisiteState, psycopg.errors.NoDataFound):
                await _rows(connection, statement)
        if told:
            self._notify()
        return bool(told or due)

    async def _tell_batch(self, connection: Connection, batch: Batch) -> None:
        try:
            await _rows(connection, batch.statement)
        except psycopg.Error as error:
            if is_lost(error, connection):
                raise
            if len(batch.keys) > 1:
                for key in batch.keys:
                    await self._tell_batch(connection, self._core.alone(key))
                return
            refused = self._core.refused(batch.keys[0], error.sqlstate, error, time.monotonic())
            if refused is not None:
                safely(self.hooks.refused, *refused, error)
        else:
            self._core.accepted(batch.keys)

    # ---- connections and waiting

    async def _open(self) -> Connection:
        made: Any = await (self._connect() if callable(self._connect) else psycopg.AsyncConnection.connect(self._connect))
        await made.set_autocommit(True)
        made.prepare_threshold = None
        made.row_factory = dict_row
        return made  # type: ignore[no-any-return]

    async def _close(self, connection: Optional[Connection]) -> None:
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                await connection.close()

    def _notify(self) -> None:
        for each in self._changed:
            each.set()

    async def _wait(self, seconds: float) -> None:
        told = asyncio.Event()
        self._changed.add(told)
        try:
            await asyncio.wait_for(told.wait(), max(seconds, 0))
        except asyncio.TimeoutError:
            pass
        finally:
            self._changed.discard(told)


async def _rows(connection: Connection, statement: Statement) -> list[dict[str, Any]]:
    text, arguments = statement
    cursor = await connection.execute(text, arguments)
    return await cursor.fetchall() if cursor.description else []
