"""A worker whose handlers run in threads."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from turnstile_client.base import BaseWorker, Loops, stop_signals
from turnstile_client.hooks import Hooks
from turnstile_client.io import blocking
from turnstile_client.outcome import Dumps, RetryRules, ending_of_error, ending_of_result
from turnstile_client.run import Loads, Run
from turnstile_client.threads import Connect, ThreadIo, Threads

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from turnstile_client.settings import Options

Handler = Callable[[Run], Any]


class Worker(BaseWorker[Handler]):
    """Claims jobs, runs a handler for each, and tells the server how they have ended.

    connect: a connection string, or what makes a connection of psycopg.
    handlers: a function for each kind of job; the decorator `handler` adds more.
    retry: what exceptions of handlers mean: {TimeoutError: Retry(in_=60), ValueError: Discard}.
    hooks: one, or several.
    loads, dumps: how JSON is read and written; those of json.
    options: the fields of turnstile_client.settings.Settings.
    """

    def __init__(
        self, connect: Connect = "", handlers: Optional[Mapping[str, Handler]] = None, *, retry: Optional[RetryRules] = None,
        hooks: Union[Hooks, Sequence[Hooks], None] = None, loads: Optional[Loads] = None, dumps: Optional[Dumps] = None,
        **options: Unpack[Options],
    ) -> None:  # fmt: skip
        super().__init__(handlers, retry, hooks, loads, dumps, options, Run, are_coroutines=False)
        self._connect = connect

    def run(self, signals: Optional[bool] = None) -> None:
        """Works until it is told to stop, once.

        signals: SIGTERM, SIGINT and SIGHUP are a soft stop, and the second one is a hard stop. SIGHUP stays as it is where it is ignored or
        has a handler. None: in the main thread.
        """
        if signals is None:
            signals = threading.current_thread() is threading.main_thread()
        threads = Threads(self.settings.concurrency, self._work)
        io = ThreadIo(self._connect, threads)
        self._core.signal = io.signal
        loops = Loops(self._core, io, self.hooks)
        with self._signals() if signals else contextlib.nullcontext():
            self.hooks.ready()
            _in_thread("turnstile claims", loops.claims.work())
            _in_thread("turnstile ends", loops.telling.work())
            try:
                blocking(loops.life.work())
            except BaseException:
                # KeyboardInterrupt, where signals are not the worker's.
                self._ask_to_stop(hard=True)
                blocking(loops.life.work())
                raise
        threads.end()
        loops.life.outcome()

    def stop(self, hard: bool = False) -> None:
        """From any thread. Soft: no more jobs are taken, and those that run may end within `drain`. Hard: they are told to stop at once."""
        self._ask_to_stop(hard)

    def _work(self, run: Run) -> None:
        began = time.monotonic()
        if not self._begins(run, began):
            return
        try:
            with self.hooks.around(run):
                ending = ending_of_result(self.handlers.of(run.job.kind)(run))
        except BaseException as error:
            ending = ending_of_error(error, self.retry)
        self._conclude(run, ending, began)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, lambda *_: self.stop(hard=self._core.is_draining)) for number in stop_signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _in_thread(name: str, loop: Coroutine[Any, Any, None]) -> None:
    threading.Thread(target=blocking, args=[loop], name=name, daemon=True).start()
