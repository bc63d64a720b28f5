"""The loop that claims: as many jobs as there is room for, and sleep in the server where there are none."""

from __future__ import annotations

import time

from turnstile_client import faults
from turnstile_client.core import Core, Loop
from turnstile_client.faults import Remedy
from turnstile_client.hooks import Hooks, safely
from turnstile_client.io import Connection, Io
from turnstile_client.link import Link
from turnstile_client.run import Run
from turnstile_client.settings import AFTER_VAIN_WAKE_UPS, LONGEST_LOOK, LONGEST_PATIENCE, PATIENCE, VAIN_WAKE_UPS
from turnstile_client.statements import Rows, Statement


class Claims:
    def __init__(self, core: Core, io: Io, hooks: Hooks) -> None:
        self._core, self._io, self._hooks = core, io, hooks
        self._link = Link(io, hooks, may_be_refused=True)
        self._usual_time = 0.0
        self._in_vain = 0
        self._has_own_isolation = False
        self._is_asleep = False

    async def work(self) -> None:
        core = self._core
        try:
            while not core.is_draining:
                try:
                    await self._work_once()
                except Exception as error:
                    if core.is_draining:
                        break
                    if self._link.remedy(error) is Remedy.NEVER:
                        raise
                    self._let_go()
                    await self._rest(await self._link.survive(error))
        except BaseException as error:
            core.failed(error)
        finally:
            self._let_go()
            core.claims_are_over = True
            self._io.signal(Loop.LIFE)
            self._io.signal(Loop.ENDS)
        await self._link.close()

    def wake(self) -> None:
        """For the worker drains."""
        self._io.signal(Loop.CLAIMS)
        with self._core.lock:
            if self._is_asleep and self._link.connection is not None:
                self._link.connection.hang_up()

    async def cancel(self) -> None:
        connection = self._link.connection
        if connection is not None:
            await connection.cancel()

    async def _work_once(self) -> None:
        connection = await self._link.get()
        if not self._core.can_tell:
            await self._await_way_back()
            return
        room = await self._await_room()
        if not room:
            return
        runs = await self._claim(connection, room)
        for run in runs:
            self._io.start(run)
        if runs:
            self._in_vain = 0
        elif not self._core.is_draining:
            await self._sleep(connection)
        self._link.works()

    async def _await_way_back(self) -> None:
        """A run that cannot say that it is alive is lost in the end, and would be claimed again and again."""
        self._let_go()
        self._core.has_begun = True
        self._io.signal(Loop.ENDS)
        await self._io.wait(Loop.CLAIMS, LONGEST_LOOK)

    # ---- room

    async def _await_room(self) -> int:
        """Short jobs end soon after each other: then one claim is enough for all of them."""
        core = self._core
        if not self._room(1):
            with core.lock:
                # It may be ends that are waited for, and no claim takes them along.
                is_of_ends = core.running < core.settings.concurrency and core.endings.let_go()
            if is_of_ends:
                self._io.signal(Loop.ENDS)
            await self._io.wait(Loop.CLAIMS, LONGEST_LOOK)
        patient_until = time.monotonic() + min(self._usual_time * PATIENCE, LONGEST_PATIENCE)
        while 0 < self._room(core.settings.concurrency) < core.settings.concurrency:
            left = patient_until - time.monotonic()
            if left <= 0 or core.is_draining:
                break
            await self._io.wait(Loop.CLAIMS, left)
        return 0 if core.is_draining else self._room(1)

    def _room(self, wanted: int) -> int:
        """And to be woken when there is so much."""
        with self._core.lock:
            self._core.wanted_room = wanted
            return self._core.room()

    # ---- claims

    async def _claim(self, connection: Connection, room: int) -> list[Run]:
        core = self._core
        with core.lock:
            completed = core.endings.take_completed()
            statement = core.claim(room, completed)
        asked = time.monotonic()
        try:
            rows = await self._rows(connection, statement)
        except Exception as error:
            with core.lock:
                core.endings.unheard(completed)
            self._let_go()
            if not completed or self._link.remedy(error) is Remedy.RECONNECT:
                raise
            # It may have been the fault of those that have ended: the other loop finds out which.
            asked = time.monotonic()
            rows = await self._rows(connection, core.claim(room, None))
        else:
            if completed:
                core.accepted(completed)
        runs = core.started(rows, asked)
        if runs:
            self._usual_time = time.monotonic() - asked
            safely(self._hooks.claimed, runs)
        return runs

    async def _rows(self, connection: Connection, statement: Statement) -> Rows:
        """What works everywhere costs two more messages, and only those pay who need it."""
        if not self._has_own_isolation:
            try:
                return await connection.rows(statement)
            except Exception as error:
                if not faults.is_refused_by_isolation(error):
                    raise
            self._has_own_isolation = True
        return await connection.rows(statement, read_committed=True)

    # ---- sleep

    async def _sleep(self, connection: Connection) -> None:
        await self._before_sleep()
        core = self._core
        with core.lock:
            # What has ended meanwhile may have been what the next job has waited for.
            if core.is_draining:
                return
            self._is_asleep = True
        safely(self._hooks.idle)
        began = time.monotonic()
        try:
            await connection.rows(core.sleep())
        except Exception as error:
            # A statement_timeout has ended the sleep: that is a wake-up, too.
            if not faults.is_cancelled(error):
                raise
        finally:
            with core.lock:
                self._is_asleep = False
        self._in_vain = self._in_vain + 1 if time.monotonic() - began < AFTER_VAIN_WAKE_UPS else 0

    async def _before_sleep(self) -> None:
        """Ends go first: behind a pooler the sleeper may have the last connection to the server."""
        self._let_go()
        core = self._core
        while not core.is_draining:
            with core.lock:
                if core.endings.are_known():
                    break
            await self._io.wait(Loop.CLAIMS, LONGEST_LOOK)
        if self._in_vain > VAIN_WAKE_UPS:
            await self._rest(AFTER_VAIN_WAKE_UPS)

    async def _rest(self, seconds: float) -> None:
        """Unless the worker drains."""
        until = time.monotonic() + seconds
        while not self._core.is_draining and (left := until - time.monotonic()) > 0:
            await self._io.wait(Loop.CLAIMS, left)

    def _let_go(self) -> None:
        with self._core.lock:
            has_ends = self._core.endings.let_go()
        if has_ends:
            self._io.signal(Loop.ENDS)
