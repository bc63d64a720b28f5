"""What a worker tells of itself: for logs, metrics and traces."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, ContextManager, Optional, Union

from turnstile_client import faults
from turnstile_client.outcome import RELEASE, Ending
from turnstile_client.run import Run, StopReason, log


class Hooks:
    """Override what you need. What a hook raises is logged and changes nothing else. Hooks are called in several threads, and
    should not take long."""

    def ready(self) -> None:
        """The worker begins. Signals stop it from now on."""

    def claimed(self, runs: Sequence[Run]) -> None:
        """These begin now."""

    def around(self, run: Run) -> ContextManager[Any]:
        """Entered around the handler, in its thread or task."""
        return contextlib.nullcontext()

    def stopping(self, run: Run, reason: StopReason) -> None:
        """The run was told to stop."""

    def ended(self, run: Run, ending: Ending, seconds: float) -> None:
        """The handler is done. What it leaves behind is told to the server next."""

    def refused(self, run: Run, ending: Ending, error: BaseException) -> None:
        """The server did not take the end of the run: it was superseded, or a trigger has raised an error, or the like."""

    def disconnected(self, error: BaseException, pause: float) -> None:
        """The server cannot be reached, or a call has failed. It is tried again after the pause, and after longer ones; each
        reason is told once."""

    def connected(self) -> None:
        """It works again."""

    def idle(self) -> None:
        """There is no work: the worker sleeps in the server."""


class Log(Hooks):
    """What every worker tells the logger `turnstile`."""

    def stopping(self, run: Run, reason: StopReason) -> None:
        log.info("attempt %d of job %d (%s) is told to stop: %s", run.job.attempt, run.job.id, run.job.kind, reason.value)

    def ended(self, run: Run, ending: Ending, seconds: float) -> None:
        if ending.verb == RELEASE:
            log.info("attempt %d of job %d (%s) is given back", run.job.attempt, run.job.id, run.job.kind)
        elif ending.error is not None and run.stopped is StopReason.CANCELLED:
            log.info("attempt %d of job %d (%s) is cancelled", run.job.attempt, run.job.id, run.job.kind)
        elif ending.error is not None:
            log.warning("attempt %d of job %d (%s) failed: %s", run.job.attempt, run.job.id, run.job.kind, ending.error.split("\n", 1)[0])

    def refused(self, run: Run, ending: Ending, error: BaseException) -> None:
        log.warning("the end of attempt %d of job %d was refused: %s", run.job.attempt, run.job.id, faults.described(error))

    def disconnected(self, error: BaseException, pause: float) -> None:
        log.warning("a call to the server has failed, trying again in %.1f s: %s", pause, faults.described(error))

    def connected(self) -> None:
        log.info("calls to the server work again")


class Together(Hooks):
    def __init__(self, hooks: Sequence[Hooks]) -> None:
        self._hooks = hooks
        self._around = [each for each in hooks if type(each).around is not Hooks.around]

    def around(self, run: Run) -> ContextManager[Any]:
        return self._enter(run) if self._around else _NOTHING

    @contextlib.contextmanager
    def _enter(self, run: Run) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for each in self._around:
                stack.enter_context(_safe_around(each, run))
            yield

    def _each(self, name: str, *arguments: Any) -> None:
        for each in self._hooks:
            safely(getattr(each, name), *arguments)

    def ready(self) -> None:
        self._each("ready")

    def claimed(self, runs: Sequence[Run]) -> None:
        self._each("claimed", runs)

    def stopping(self, run: Run, reason: StopReason) -> None:
        self._each("stopping", run, reason)

    def ended(self, run: Run, ending: Ending, seconds: float) -> None:
        self._each("ended", run, ending, seconds)

    def refused(self, run: Run, ending: Ending, error: BaseException) -> None:
        self._each("refused", run, ending, error)

    def disconnected(self, error: BaseException, pause: float) -> None:
        self._each("disconnected", error, pause)

    def connected(self) -> None:
        self._each("connected")

    def idle(self) -> None:
        self._each("idle")


_NOTHING = contextlib.nullcontext()
# With SystemExit: a loop that ended would take the worker along.
_RAISED = (Exception, SystemExit)


def together(hooks: Union[Hooks, Sequence[Hooks], None]) -> Together:
    given = [hooks] if isinstance(hooks, Hooks) else list(hooks or ())
    return Together([Log(), *given])


def safely(hook: Any, *arguments: Any) -> None:
    try:
        hook(*arguments)
    except _RAISED:
        log.exception("a hook has failed")


@contextlib.contextmanager
def _safe_around(hooks: Hooks, run: Run) -> Iterator[None]:
    """The hook's context, without which the run goes on if it cannot be entered."""
    context: Optional[ContextManager[Any]] = None
    try:
        context = hooks.around(run)
        context.__enter__()
    except _RAISED:
        log.exception("a hook has failed")
        context = None
    error: tuple[Any, Any, Any] = (None, None, None)
    try:
        yield
    except BaseException as raised:
        error = (type(raised), raised, raised.__traceback__)
        raise
    finally:
        if context is not None:
            safely(context.__exit__, *error)
