"""What the workers of threads and of asyncio have in common: handlers, and what becomes of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from turnstile_client.claims import Claims
from turnstile_client.core import Core, Loop
from turnstile_client.hooks import Hooks, safely, together
from turnstile_client.io import Io
from turnstile_client.life import Life
from turnstile_client.outcome import FAIL, Dumps, Ending, Retry, RetryRules, after_stop, text_of, with_text
from turnstile_client.run import Job, Loads, Progress, Run
from turnstile_client.settings import Options, Settings
from turnstile_client.telling import Telling

H = TypeVar("H", bound=Callable[..., Any])


class Handlers(Generic[H]):
    """Handlers by kind; `*` is that of all other kinds."""

    def __init__(self, handlers: Optional[Mapping[str, H]] = None) -> None:
        self.by_kind: dict[str, H] = dict(handlers or {})

    def of(self, kind: str) -> H:
        handler = self.by_kind.get(kind, self.by_kind.get("*"))
        if handler is None:
            raise Retry(f"no handler for jobs of kind {kind!r}")
        return handler


class Loops:
    """The loops of a worker, over one core."""

    def __init__(self, core: Core, io: Io, hooks: Hooks) -> None:
        self.claims, self.telling = Claims(core, io, hooks), Telling(core, io, hooks)
        self.life = Life(core, io, hooks, self.claims)


class BaseWorker(Generic[H]):
    def __init__(
        self, handlers: Optional[Mapping[str, H]], retry: Optional[RetryRules], hooks: Union[Hooks, Sequence[Hooks], None],
        loads: Optional[Loads], dumps: Optional[Dumps], options: Options, make_run: Callable[[Job, Progress], Run],
    ) -> None:  # fmt: skip
        self.settings = Settings.of(options)
        self.handlers = Handlers(handlers)
        self.retry, self.hooks = dict(retry or {}), together(hooks)
        self._dumps = dumps or _dumps
        self._core = Core(self.settings, loads or json.loads, make_run)

    def handler(self, kind: str) -> Callable[[H], H]:
        """Decorates the handler of a kind of job. `*`: of all other kinds."""

        def add(handler: H) -> H:
            self.handlers.by_kind[kind] = handler
            return handler

        return add

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


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
