"""What the workers of threads and of asyncio have in common: handlers, and what becomes of a run."""

from __future__ import annotations

import inspect
import json
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from turnstile_client.claims import Claims
from turnstile_client.core import Core, Loop
from turnstile_client.hooks import Hooks, safely, together
from turnstile_client.io import Io
from turnstile_client.life import Life
from turnstile_client.outcome import FAIL, RELEASE, Dumps, Ending, Retry, RetryRules, after_stop, checked_rules, text_of, with_text
from turnstile_client.run import Job, Loads, Progress, Run
from turnstile_client.settings import Options, Settings
from turnstile_client.telling import Telling

H = TypeVar("H", bound=Callable[..., Any])


class Handlers(Generic[H]):
    """Handlers by kind; `*` is that of all other kinds."""

    def __init__(self, handlers: Optional[Mapping[str, H]] = None, are_coroutines: bool = True) -> None:
        self._by_kind: dict[str, H] = {}
        self._are_coroutines = are_coroutines
        for kind, handler in (handlers or {}).items():
            self.add(kind, handler)

    def add(self, kind: str, handler: H) -> None:
        """What could never run is refused."""
        _refuse_unnamed(kind)
        if not callable(handler):
            raise TypeError(f"the handler of {kind!r} must be a function, not {handler!r}")
        if not self._are_coroutines and _is_async(handler):
            raise TypeError(f"the handler of {kind!r} is a coroutine function, which only an AsyncWorker runs")
        self._by_kind[kind] = handler

    def of(self, kind: str) -> H:
        handler = self._by_kind.get(kind, self._by_kind.get("*"))
        if handler is None:
            raise Retry(f"no handler for jobs of kind {kind!r}")
        return handler


def _refuse_unnamed(kind: object) -> None:
    if not isinstance(kind, str):
        raise TypeError(f"a handler needs the kind of its jobs, as in @worker.handler('send'), not {kind!r}")


def _is_async(handler: object) -> bool:
    """Also of an object that is called."""
    both = (handler, getattr(handler, "__call__", None))  # noqa: B004
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in both)


class Loops:
    """The loops of a worker, over one core."""

    def __init__(self, core: Core, io: Io, hooks: Hooks) -> None:
        self.claims, self.telling = Claims(core, io, hooks), Telling(core, io, hooks)
        self.life = Life(core, io, hooks, self.claims)


class BaseWorker(Generic[H]):
    def __init__(
        self, handlers: Optional[Mapping[str, H]], retry: Optional[RetryRules], hooks: Union[Hooks, Sequence[Hooks], None],
        loads: Optional[Loads], dumps: Optional[Dumps], options: Options, make_run: Callable[[Job, Progress], Run], are_coroutines: bool,
    ) -> None:  # fmt: skip
        self.settings = Settings.of(options)
        self.handlers = Handlers(handlers, are_coroutines)
        self.retry, self.hooks = checked_rules(retry), together(hooks)
        self._dumps = dumps or _dumps
        self._core = Core(self.settings, loads or json.loads, make_run)

    def handler(self, kind: str) -> Callable[[H], H]:
        """Decorates the handler of a kind of job, in place of one that it had. `*`: of all other kinds."""
        _refuse_unnamed(kind)

        def add(handler: H) -> H:
            self.handlers.add(kind, handler)
            return handler

        return add

    def _begins(self, run: Run, now: float) -> bool:
        """After a stall others may have the job. If it is still ours, it is available again."""
        if not self._core.is_late(run.job.key, now):
            return True
        self._core.ended(run.job.key, Ending(RELEASE))
        return False

    def _conclude(self, run: Run, ending: Optional[Ending], began: float) -> None:
        """Whatever the handler did: a run that had no end would be held for ever."""
        try:
            ending = after_stop(ending and with_text(ending, self._dumps), run.stopped)
        except BaseException as error:
            ending = Ending(FAIL, error=text_of(error))
        if ending is not None:
            safely(self.hooks.ended, run, ending, time.monotonic() - began)
        self._core.ended(run.job.key, ending)

    def _ask_to_stop(self, hard: bool) -> None:
        core = self._core
        core.is_hard = core.is_hard or hard
        core.is_draining = True
        core.signal(Loop.LIFE)


def stop_signals() -> list[int]:
    """SIGHUP only where it would end the process: under nohup it is ignored, and others have a handler of their own for it."""
    own = [getattr(signal, "SIGHUP", None)]
    return [signal.SIGTERM, signal.SIGINT, *(each for each in own if each and signal.getsignal(each) is signal.SIG_DFL)]


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
