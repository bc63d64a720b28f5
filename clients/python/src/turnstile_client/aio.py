"""A worker whose handlers are coroutines."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import signal
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from turnstile_client.base import BaseWorker, Loops, stop_signals
from turnstile_client.hooks import Hooks
from turnstile_client.loop import AsyncConnect, AsyncIo
from turnstile_client.outcome import Dumps, Ending, RetryRules, ending_of_error, ending_of_result
from turnstile_client.run import Loads, Run, StopReason

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from turnstile_client.settings import Options


class AsyncRun(Run):
    """What a coroutine gets."""

    # Made for those that wait.
    _told: Optional[asyncio.Event] = None

    async def stop_asked(self) -> StopReason:
        """Returns when the run should stop, and why."""
        if self._told is None:
            self._told = asyncio.Event()
            self.on_stop(self._told.set)
        await self._told.wait()
        assert self.stopped is not None
        return self.stopped


AsyncHandler = Callable[[AsyncRun], Awaitable[Any]]


class AsyncWorker(BaseWorker[AsyncHandler]):
    """As Worker; its handlers are coroutines. One that goes on for `grace` after its run was told to stop is cancelled.

    connect: a connection string, or a coroutine function that makes a connection of psycopg.
    """

    def __init__(
        self, connect: AsyncConnect = "", handlers: Optional[Mapping[str, AsyncHandler]] = None, *, retry: Optional[RetryRules] = None,
        hooks: Union[Hooks, Sequence[Hooks], None] = None, loads: Optional[Loads] = None, dumps: Optional[Dumps] = None,
        **options: Unpack[Options],
    ) -> None:  # fmt: skip
        super().__init__(handlers, retry, hooks, loads, dumps, options, AsyncRun, are_coroutines=True)
        self._connect = connect
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    async def run(self, signals: bool = True) -> None:
        """Works until it is told to stop, once. A cancellation of this call is a hard stop.

        signals: SIGTERM, SIGINT and SIGHUP are a soft stop, and the second one is a hard stop. SIGHUP stays as it is where it is ignored or
        has a handler.
        """
        self._loop = asyncio.get_running_loop()
        io = AsyncIo(self._connect, self._work)
        self._core.signal = io.signal
        loops = Loops(self._core, io, self.hooks)
        with self._signals() if signals else contextlib.nullcontext():
            self.hooks.ready()
            others = [asyncio.create_task(each) for each in (loops.claims.work(), loops.telling.work())]
            life = asyncio.create_task(loops.life.work())
            try:
                await asyncio.shield(life)
            except asyncio.CancelledError:
                self._ask_to_stop(hard=True)
                await life
                raise
            finally:
                for task in others:
                    task.cancel()
                await asyncio.gather(*others, return_exceptions=True)
        loops.life.outcome()

    def stop(self, hard: bool = False) -> None:
        """From any thread. Soft: no more jobs are taken, and those that run may end within `drain`. Hard: they are told to stop at once."""
        if self._loop is None:
            self._ask_to_stop(hard)
        else:
            with contextlib.suppress(RuntimeError):
                # Where the loop is closed there is nothing to stop any more.
                self._loop.call_soon_threadsafe(self._ask_to_stop, hard)

    async def _work(self, run: Run) -> None:
        assert isinstance(run, AsyncRun)
        began = time.monotonic()
        if not self._begins(run, began):
            return
        ending: Optional[Ending]
        try:
            with self.hooks.around(run):
                result: Any = self.handlers.of(run.job.kind)(run)
                ending = ending_of_result(await result if inspect.isawaitable(result) else result)
        except asyncio.CancelledError as error:
            # Of a run that was told to stop, it says nothing of how far it came.
            ending = None if run.stopped is not None else ending_of_error(error, {})
        except BaseException as error:
            ending = ending_of_error(error, self.retry)
        self._conclude(run, ending, began)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in stop_signals()}
        for number in before:
            loop.add_signal_handler(number, lambda: self._ask_to_stop(hard=self._core.is_draining))
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
