"""What a worker tells of itself: for logs, metrics and traces."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, ContextManager, Optional

from turnstile_client.outcome import Ending
from turnstile_client.run import Run

log = logging.getLogger("turnstile")


class Hooks:
    """Override what you need. What a hook raises is logged and changes nothing else."""

    def around(self, run: Run) -> ContextManager[Any]:
        """Entered around the handler, in its thread or task."""
        return contextlib.nullcontext()

    def ended(self, run: Run, ending: Ending, seconds: float) -> None:
        """The handler is done."""
        if ending.error is not None:
            log.warning("attempt %d of job %d (%s) failed: %s", run.job.attempt, run.job.id, run.job.kind, ending.error.splitlines()[0])

    def refused(self, run: Run, ending: Ending, error: BaseException) -> None:
        """The server did not take the end of the run: it was superseded, or a trigger raised an error."""
        log.warning("the end of attempt %d of job %d was refused: %s", run.job.attempt, run.job.id, error)

    def disconnected(self, error: BaseException, pause: float) -> None:
        log.warning("no connection to the server, trying again in %.1f s: %s", pause, error)

    def idle(self) -> None:
        """There is no work: the worker sleeps in the server."""


def safely(hook: Any, *arguments: Any) -> None:
    try:
        hook(*arguments)
    except Exception:
        log.exception("a hook has failed")


@contextlib.contextmanager
def around(hooks: Hooks, run: Run) -> Any:
    """The hook's context, without which the run goes on if it cannot be entered."""
    context: Optional[ContextManager[Any]] = None
    try:
        context = hooks.around(run)
        context.__enter__()
    except Exception:
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
