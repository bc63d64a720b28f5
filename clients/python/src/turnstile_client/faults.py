"""What can go wrong with a call, and what a worker makes of it."""

from __future__ import annotations

import enum
import re
from typing import Optional

import psycopg

# Classes of SQLSTATE, and single ones, that pass by themselves.
_OF_THE_MOMENT = ("57014", "40001", "40P01", "55P03", "53200", "53300", "25P03", "25P04", "08", "57P")
_READ_ONLY, _LOCKED = "25006", "55P03"
# libpq gives no SQLSTATE of a connection that was not made, so there is only the text, in English.
_REFUSED = re.compile(
    r'password authentication failed|no pg_hba\.conf entry|role ".*" (does not exist|is not permitted to log in)'
    r'|database ".*" does not exist|permission denied for database'
)
_SEVERAL = "Multiple connection attempts failed"


class Remedy(enum.Enum):
    RECONNECT = enum.auto()
    """The connection is of no use any more."""
    AGAIN = enum.auto()
    """The call may work a moment later."""
    ELSEWHERE = enum.auto()
    """The same, but the server may be one that takes no writes."""
    NEVER = enum.auto()
    """It fails each time."""


class CannotConnect(Exception):
    """There is no connection, for the reason that is its cause."""


class Undelivered(Exception):
    """The worker had to leave before the server knew how these runs had ended. They come back when their leases are over."""

    def __init__(self, runs: int) -> None:
        super().__init__(f"the server does not know how {runs} run(s) have ended")
        self.runs = runs


def remedy(error: BaseException, is_closed: bool) -> Remedy:
    """What a statement says that leaves the connection open is no loss of it, whatever the SQLSTATE: triggers raise any."""
    if is_closed or isinstance(error, (CannotConnect, OSError)):
        return Remedy.RECONNECT
    if not isinstance(error, psycopg.Error):
        return Remedy.NEVER
    if error.diag.severity_nonlocalized in ("FATAL", "PANIC"):
        return Remedy.RECONNECT
    state = error.sqlstate
    if state is None:
        # Of the driver: the connection, or a value that it cannot send.
        is_lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
        return Remedy.RECONNECT if is_lost else Remedy.NEVER
    if state == _READ_ONLY:
        return Remedy.ELSEWHERE
    return Remedy.AGAIN if state.startswith(_OF_THE_MOMENT) else Remedy.NEVER


def is_refused(error: BaseException) -> bool:
    """Whether a server, and the only one that was tried, lets nobody in who comes so. In another language than English it may be, too."""
    if not isinstance(error, psycopg.OperationalError) or _SEVERAL in str(error):
        return False
    needs_password = error.pgconn is not None and error.pgconn.needs_password
    return needs_password or bool(_REFUSED.search(str(error)))


def is_hopeless(error: BaseException) -> bool:
    """Of an end: what is too long, or no value for PostgreSQL or its driver, gets no better. What a trigger says may."""
    state = _state(error)
    return state is None or state.startswith(("22", "54"))


def is_locked(error: BaseException) -> bool:
    return _state(error) == _LOCKED


def is_cancelled(error: BaseException) -> bool:
    return isinstance(error, psycopg.errors.QueryCanceled)


def is_refused_by_isolation(error: BaseException) -> bool:
    """Claims are refused where SERIALIZABLE is the default of the role or the database."""
    return _state(error) == "0A000" and "SERIALIZABLE" in str(error)


def is_superseded(error: BaseException, job_id: int, attempt: int) -> bool:
    """Whether the server says that the run has ended: by others, or by the call before, of which there was no answer. Triggers may
    raise the same SQLSTATE, so the message has to be that of the run."""
    told = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    messages = {"55000": f"attempt {attempt} of job {job_id} is not running", "P0002": f"job {job_id} does not exist"}
    return told is not None and messages.get(_state(error) or "") == told


def described(error: BaseException) -> str:
    """In one line: what the server says, with its detail and its hint, or what the driver says."""
    if isinstance(error, CannotConnect) and error.__cause__ is not None:
        error = error.__cause__
    if not isinstance(error, psycopg.Error) or error.diag.message_primary is None:
        return " ".join(f"{error or type(error).__name__}".split())
    more = [line.rstrip(".") for line in (error.diag.message_detail, error.diag.message_hint) if line]
    return ". ".join([f"{error.diag.message_primary} ({error.sqlstate})", *more])


def _state(error: BaseException) -> Optional[str]:
    return error.sqlstate if isinstance(error, psycopg.Error) else None
