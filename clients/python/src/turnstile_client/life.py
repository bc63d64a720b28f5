"""The loop that watches: over leases while the worker works, and over its end."""

from __future__ import annotations

import time
from typing import Callable

from turnstile_client.claims import Claims
from turnstile_client.core import Core, Loop
from turnstile_client.faults import Undelivered
from turnstile_client.hooks import Hooks, safely
from turnstile_client.io import Io
from turnstile_client.run import Run, StopReason, log
from turnstile_client.settings import LAST_ANSWER, LAST_ENDS, LONGEST_LOOK


class Life:
    def __init__(self, core: Core, io: Io, hooks: Hooks, claims: Claims) -> None:
        self._core, self._io, self._hooks, self._claims = core, io, hooks, claims

    async def work(self) -> None:
        """Until the last end was told, or given up."""
        core = self._core
        forever = float("inf")
        await self._until(lambda: core.is_draining, forever)
        self._claims.wake()
        await self._until(lambda: core.is_hard or self._is_idle(), core.settings.drain)
        self._stopping(core.stop_all(time.monotonic()))
        await self._end_claims()
        # Jobs of the last claim were never started, so all that runs was told.
        await self._until(self._is_idle, core.settings.grace)
        for run in core.overdue(forever):
            self._abandon(run)
        # What was ended by force says so soon.
        await self._until(lambda: not core.running, LONGEST_LOOK)
        for run in core.leave():
            log.warning("the handler of attempt %d of job %d does not stop: the worker leaves without it", run.job.attempt, run.job.id)
        core.is_finished = True
        self._io.signal(Loop.ENDS)
        await self._until(lambda: core.ends_are_over, LAST_ENDS + LONGEST_LOOK)

    def outcome(self) -> None:
        """Raises what the worker could not survive."""
        core = self._core
        if core.fatal is not None:
            raise core.fatal
        if core.held:
            raise Undelivered(len(core.held))

    def _is_idle(self) -> bool:
        return self._core.claims_are_over and not self._core.is_waited_for()

    async def _end_claims(self) -> None:
        """A claim that is under way is waited for, since what it has claimed has to be given back."""
        core = self._core
        await self._until(lambda: core.claims_are_over, LAST_ANSWER)
        if not core.claims_are_over:
            await self._claims.cancel()
            await self._until(lambda: core.claims_are_over, LAST_ANSWER)
        with core.lock:
            # Nothing goes along with a claim any more, even if one hangs.
            core.endings.let_go()

    async def _until(self, is_so: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not is_so():
            now = time.monotonic()
            if now >= until:
                return
            self._stopping(self._core.expire(now))
            for run in self._core.overdue(now):
                self._abandon(run)
            await self._io.wait(Loop.LIFE, min(until - now, self._core.next_life(now)))

    def _abandon(self, run: Run) -> None:
        how = "it is ended by force" if self._io.abandon(run) else "its thread goes on"
        log.warning("the handler of attempt %d of job %d does not stop: %s", run.job.attempt, run.job.id, how)

    def _stopping(self, stops: list[tuple[Run, StopReason]]) -> None:
        for run, reason in stops:
            safely(self._hooks.stopping, run, reason)
