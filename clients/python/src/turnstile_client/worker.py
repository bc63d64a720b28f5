"""A worker whose handlers run in threads."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Optional, Union

import psycopg
from psycopg.rows import dict_row

from turnstile_client import outcome
from turnstile_client.core import Batch, Core, Statement, pause_after
from turnstile_client.hooks import Hooks, around, log, safely
from turnstile_client.outcome import Ending, RetryRules, ending_of_error, ending_of_result
from turnstile_client.run import Run, StopReason
from turnstile_client.settings import Settings

Handler = Callable[[Run], Any]
Connection = psycopg.Connection[dict[str, Any]]

# The longest time that a thread sleeps without a look at what it waits for.
TICK = 1.0
# A claim waits so long, of the time that the last one took, for more runs to end, and never longer than that.
PATIENCE, LONGEST_PATIENCE = 0.25, 0.005
# Not permitted, or no such function or schema: no second try would mend that.
FATAL = {"42501", "42883", "3F000", "22023"}
CANCEL_AGAIN = 0.1
# How long the last ends may take to reach the server.
LAST_ENDS = 15.0


def is_lost(error: psycopg.Error, connection: Any) -> bool:
    """Whether it is the connection that failed, and not the call."""
    if connection.closed or connection.broken:
        return True
    state = error.sqlstate
    if state is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state.startswith(("08", "57P")) or state == "25006"


class Handlers:
    """Handlers by kind; `*` is that of all other kinds."""

    def __init__(self, handlers: Optional[dict[str, Any]] = None) -> None:
        self.by_kind: dict[str, Any] = dict(handlers or {})

    def of(self, kind: str) -> Any:
        handler = self.by_kind.get(kind, self.by_kind.get("*"))
        if handler is None:
            raise outcome.Retry(f"no handler for jobs of kind {kind!r}")
        return handler


class Worker:
    """Claims jobs, runs a handler for each, and tells the server how they have ended.

    connect: a connection string, or what makes a connection of psycopg.
    handlers: a function for each kind of job; the decorator `handler` adds more.
    retry: what exceptions of handlers mean: {TimeoutError: Retry(in_=60), ValueError: Discard}.
    """

    def __init__(
        self, connect: Union[str, Callable[[], Any]] = "", handlers: Optional[dict[str, Handler]] = None, *,
        retry: Optional[RetryRules] = None, hooks: Optional[Hooks] = None, **settings: Any,
    ) -> None:  # fmt: skip
        if "queues" in settings:
            settings["queues"] = tuple(settings["queues"])
        self.settings = Settings(**settings)
        self.handlers = Handlers(handlers)
        self.retry, self.hooks = retry or {}, hooks or Hooks()
        self._connect = connect
        self._core = Core(self.settings)
        self._changed = threading.Condition(self._core.lock)
        self._draining, self._finished = threading.Event(), threading.Event()
        self._hard = threading.Event()
        self._sleeper: Optional[Connection] = None
        self._fatal: Optional[BaseException] = None

    def handler(self, kind: str) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            self.handlers.by_kind[kind] = handler
            return handler

        return add

    # ---- life

    def run(self, signals: bool = True) -> None:
        """Works until it is told to stop. SIGTERM and SIGINT are a soft stop, the second one is a hard stop."""
        with self._signals() if signals else contextlib.nullcontext():
            ends = threading.Thread(target=self._tell, name="turnstile ends", daemon=True)
            ends.start()
            pool = ThreadPoolExecutor(self.settings.concurrency, "turnstile run")
            try:
                self._claim_and_run(pool)
            finally:
                self._draining.set()
                self._drain()
                pool.shutdown(wait=False)
                self._finished.set()
                self._notify()
                ends.join(LAST_ENDS)
        if self._fatal is not None:
            raise self._fatal

    def stop(self, hard: bool = False) -> None:
        """Soft: no more jobs are taken, and those that run may end within `drain`. Hard: they are told to stop at once."""
        self._draining.set()
        if hard:
            self._hard.set()
        self._notify()
        # A cancellation that comes before the sleep has begun ends nothing, so it is sent again.
        while (sleeper := self._sleeper) is not None:
            with contextlib.suppress(psycopg.Error):
                sleeper.cancel()
            self._wait(CANCEL_AGAIN)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        # A signal may come while this thread holds the lock, so another one stops the worker.
        def on_signal(*_: Any) -> None:
            threading.Thread(target=self.stop, args=[self._draining.is_set()], daemon=True).start()

        before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _drain(self) -> None:
        deadline = time.monotonic() + self.settings.drain
        while not self._no_handlers() and not self._hard.is_set() and time.monotonic() < deadline:
            self._wait(TICK)
        self._core.stop_all(StopReason.SHUTDOWN)
        deadline = time.monotonic() + self.settings.grace
        while not self._no_handlers() and time.monotonic() < deadline:
            self._wait(TICK)
        with self._core.lock:
            for key, held in self._core.held.items():
                if held.ending is None:
                    log.warning("the handler of attempt %d of job %d does not stop: the job is given back", key[1], key[0])
                    held.ending = Ending(outcome.RELEASE)

    def _no_handlers(self) -> bool:
        with self._core.lock:
            return all(held.ending is not None for held in self._core.held.values())

    # ---- claims

    def _claim_and_run(self, pool: ThreadPoolExecutor) -> None:
        connection: Optional[Connection] = None
        failures, usual = 0, 0.0
        while not self._draining.is_set():
            try:
                if connection is None:
                    connection = self._open()
                room = self._await_room(usual)
                if not room:
                    continue
                began = time.monotonic()
                runs = self._claim(connection, room)
                if runs:
                    usual = time.monotonic() - began
                for run in runs:
                    pool.submit(self._work, run)
                if not runs:
                    self._sleep(connection)
                failures = 0
            except psycopg.Error as error:
                if connection is not None and not is_lost(error, connection):
                    if error.sqlstate in FATAL:
                        self._fatal = error
                        return
                else:
                    self._close(connection)
                    connection = None
                pause = pause_after(failures)
                failures += 1
                safely(self.hooks.disconnected, error, pause)
                self._draining.wait(pause)
        self._close(connection)

    def _await_room(self, usual: float) -> int:
        """Short jobs end soon after each other: then one claim is enough for all of them."""
        with self._changed:
            if not self._core.room():
                self._changed.wait(TICK)
            patient_until = time.monotonic() + min(usual * PATIENCE, LONGEST_PATIENCE)
            while 0 < self._core.room() < self.settings.concurrency:
                left = patient_until - time.monotonic()
                if left <= 0 or self._draining.is_set():
                    break
                self._changed.wait(left)
            return 0 if self._draining.is_set() else self._core.room()

    def _claim(self, connection: Connection, room: int) -> list[Run]:
        completed = self._core.completions(time.monotonic())
        keys = completed.keys if completed else []
        asked = time.monotonic()
        try:
            rows = _rows(connection, self._core.claim(room, completed))
        except psycopg.Error as error:
            self._core.unheard(keys)
            if not completed or is_lost(error, connection):
                raise
            # It may have been the fault of those that have ended: the other thread finds out which.
            rows = _rows(connection, self._core.claim(room, None))
        else:
            self._core.accepted(keys)
        return self._core.started(rows, asked)

    def _sleep(self, connection: Connection) -> None:
        safely(self.hooks.idle)
        self._sleeper = connection
        self._notify()
        try:
            if not self._draining.is_set():
                _rows(connection, self._core.sleep())
        except psycopg.errors.QueryCanceled:
            pass
        finally:
            self._sleeper = None

    # ---- handlers

    def _work(self, run: Run) -> None:
        began = time.monotonic()
        try:
            with around(self.hooks, run):
                ending = ending_of_result(self.handlers.of(run.job.kind)(run))
        except BaseException as error:
            ending = ending_of_error(error, self.retry)
        safely(self.hooks.ended, run, ending, time.monotonic() - began)
        self._core.ended(run.job.key, self._core.sendable(ending))
        self._notify()

    # ---- ends and signs of life, on a connection of their own since claims sleep on theirs

    def _tell(self) -> None:
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
                    connection = self._open()
                if not self._tell_once(connection):
                    self._wait(self._core.next_moment(time.monotonic(), TICK))
                failures = 0
            except psycopg.Error as error:
                if connection is None or is_lost(error, connection):
                    self._close(connection)
                    connection = None
                pause = pause_after(failures)
                failures += 1
                safely(self.hooks.disconnected, error, pause)
                time.sleep(pause)
        self._close(connection)

    def _tell_once(self, connection: Connection) -> bool:
        core = self._core
        claims_soon = self._sleeper is None and not self._draining.is_set()
        told = core.ends(time.monotonic(), not claims_soon)
        for number, batch in enumerate(told):
            try:
                self._tell_batch(connection, batch)
            except psycopg.Error:
                core.unheard(key for each in told[number:] for key in each.keys)
                raise
        due = core.take_beats(time.monotonic())
        if due:
            asked = time.monotonic()
            core.heard(due, _rows(connection, core.beat(due)), asked)
        for _, statement in core.take_progress():
            with contextlib.suppress(psycopg.errors.ObjectNotInPrerequisiteState, psycopg.errors.NoDataFound):
                _rows(connection, statement)
        if told:
            self._notify()
        return bool(told or due)

    def _tell_batch(self, connection: Connection, batch: Batch) -> None:
        try:
            _rows(connection, batch.statement)
        except psycopg.Error as error:
            if is_lost(error, connection):
                raise
            if len(batch.keys) > 1:
                for key in batch.keys:
                    self._tell_batch(connection, self._core.alone(key))
                return
            refused = self._core.refused(batch.keys[0], error.sqlstate, error, time.monotonic())
            if refused is not None:
                safely(self.hooks.refused, *refused, error)
        else:
            self._core.accepted(batch.keys)

    # ---- connections and waiting

    def _open(self) -> Connection:
        made: Any = self._connect() if callable(self._connect) else psycopg.connect(self._connect)
        made.autocommit = True
        # A pooler may give the next transaction another server connection.
        made.prepare_threshold = None
        made.row_factory = dict_row
        return made  # type: ignore[no-any-return]

    def _close(self, connection: Optional[Connection]) -> None:
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait(seconds)


def _rows(connection: Connection, statement: Statement) -> list[dict[str, Any]]:
    text, arguments = statement
    cursor = connection.execute(text, arguments)
    return cursor.fetchall() if cursor.description else []
