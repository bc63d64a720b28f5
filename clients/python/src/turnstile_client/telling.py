"""The loop that tells the server of ends and signs of life, on a connection of its own, since claims sleep on theirs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from turnstile_client import statements
from turnstile_client.core import Core, Loop
from turnstile_client.faults import Remedy, described, is_superseded
from turnstile_client.hooks import Hooks, safely
from turnstile_client.io import Connection, Io
from turnstile_client.link import Link
from turnstile_client.outcome import AWAIT
from turnstile_client.run import Run, RunKey, StopReason, log
from turnstile_client.settings import LAST_ENDS, PROGRESS_PAUSE


class Telling:
    def __init__(self, core: Core, io: Io, hooks: Hooks) -> None:
        self._core, self._io, self._hooks = core, io, hooks
        self._link = Link(io, hooks)
        self._next_progress = 0.0
        # Runs whose last heartbeat has failed.
        self._locked: set[RunKey] = set()

    async def work(self) -> None:
        core = self._core
        give_up = float("inf")
        try:
            while True:
                now = time.monotonic()
                if core.is_finished:
                    give_up = min(give_up, now + LAST_ENDS)
                    if core.is_over or now >= give_up:
                        break
                try:
                    if await self._tell_once():
                        self._link.works()
                    else:
                        await self._io.wait(Loop.ENDS, self._next(time.monotonic()))
                except Exception as error:
                    if self._link.remedy(error) is Remedy.NEVER:
                        log.exception("a call of the worker has failed")
                    pause = await self._link.survive(error)
                    core.can_tell = self._link.connection is not None
                    await self._pause(min(pause, max(0.0, give_up - time.monotonic())))
        except BaseException as error:
            core.failed(error)
            raise
        finally:
            core.ends_are_over = True
            self._io.signal(Loop.LIFE)
        await self._link.close()

    async def _pause(self, seconds: float) -> None:
        """Signals do not shorten it, unless nothing is left to tell."""
        until = time.monotonic() + seconds
        while not self._core.is_over and (left := until - time.monotonic()) > 0:
            await self._io.wait(Loop.ENDS, left)

    def _next(self, now: float) -> float:
        longest = self._core.next_end(now)
        return min(longest, max(0.0, self._next_progress - now)) if self._core.progress else longest

    async def _tell_once(self) -> bool:
        """Whether there was anything to tell."""
        core = self._core
        if core.has_begun:
            await self._connect()
        with core.lock:
            lists = core.endings.take(time.monotonic())
        try:
            for keys in lists:
                await self._tell(await self._link.get(), keys)
        finally:
            with core.lock:
                core.endings.unheard(key for keys in lists for key in keys)
        has_beats = await self._tell_beats()
        return await self._tell_progress() or has_beats or bool(lists)

    async def _connect(self) -> None:
        await self._link.get()
        if not self._core.can_tell:
            self._core.can_tell = True
            self._io.signal(Loop.CLAIMS)

    # ---- ends

    async def _tell(self, connection: Connection, keys: Sequence[RunKey]) -> None:
        core = self._core
        with core.lock:
            statement, is_await = core.endings.statement(keys), core.endings.ends[keys[0]].ending.verb == AWAIT
        try:
            rows = await connection.rows(statement)
        except Exception as error:
            await self._not_taken(connection, keys, error)
            return
        if is_await and not rows[0][0]:
            await self._go_on(connection, keys[0])
            return
        core.accepted(keys)
        if rows and type(rows[0][0]) is int and rows[0][0] < len(keys):
            log.warning("%d ends came too late: the runs were lost, or the server knew of their ends", len(keys) - rows[0][0])

    async def _not_taken(self, connection: Connection, keys: Sequence[RunKey], error: Exception) -> None:
        remedy = self._link.remedy(error)
        if remedy is Remedy.RECONNECT or (remedy is Remedy.ELSEWHERE and await self._link.is_read_only()):
            raise error
        if len(keys) > 1:
            # One of them has made the call of all fail, and it is not known which.
            half = len(keys) // 2
            await self._tell(connection, keys[:half])
            await self._tell(connection, keys[half:])
            return
        news = self._core.refused(keys[0], error, time.monotonic())
        if news is not None:
            safely(self._hooks.refused, *news, error)

    async def _go_on(self, connection: Connection, key: RunKey) -> None:
        [(completed, discarded, cancelled)] = await connection.rows((statements.CHILDREN, {"id": key[0]}))
        run = self._core.goes_on(key, {"completed": completed, "discarded": discarded, "cancelled": cancelled})
        if run is not None:
            self._io.start(run)

    # ---- signs of life

    async def _tell_beats(self) -> bool:
        due = self._core.take_beats(time.monotonic())
        # What was locked goes alone and last, so that it keeps no other.
        groups = [[key for key in due if key not in self._locked], *([key] for key in due if key in self._locked)]
        while groups:
            try:
                if groups[0]:
                    await self._beat(await self._link.get(), groups[0])
            except BaseException:
                # By the next connection they are told at once.
                self._core.beat_again(key for keys in groups for key in keys)
                raise
            groups.pop(0)
        return bool(due)

    async def _beat(self, connection: Connection, keys: list[RunKey]) -> None:
        asked = time.monotonic()
        try:
            rows = await connection.rows(self._core.beat(keys))
        except Exception as error:
            remedy = self._link.remedy(error)
            if remedy is Remedy.RECONNECT or (remedy is Remedy.ELSEWHERE and await self._link.is_read_only()):
                raise
            if len(keys) > 1:
                half = len(keys) // 2
                await self._beat(connection, keys[:half])
                await self._beat(connection, keys[half:])
            else:
                self._locked.add(keys[0])
                (job, attempt), reason = keys[0], described(error)
                log.warning("a heartbeat of attempt %d of job %d has failed: %s", attempt, job, reason)
            return
        self._locked.difference_update(keys)
        self.stopping(self._core.heard(keys, rows, asked))

    def stopping(self, stops: list[tuple[Run, StopReason]]) -> None:
        for run, reason in stops:
            safely(self._hooks.stopping, run, reason)

    async def _tell_progress(self) -> bool:
        now = time.monotonic()
        if now < self._next_progress or not self._core.progress:
            return False
        connection = await self._link.get()
        self._next_progress = now + PROGRESS_PAUSE
        for key, statement in self._core.take_progress():
            try:
                [(goes_on,)] = await connection.rows(statement)
            except Exception as error:
                if self._link.remedy(error) is Remedy.RECONNECT:
                    raise
                if not is_superseded(error, *key):
                    log.warning("the progress of attempt %d of job %d was refused: %s", key[1], key[0], error)
            else:
                if not goes_on:
                    self.stopping(self._core.cancelled(key, now))
        return True
