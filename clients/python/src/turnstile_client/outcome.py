"""How a run ends, other than by returning its result or by any other exception. A handler raises these, or returns them."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Optional, Union

Seconds = Union[int, float, timedelta]


def interval(time: Optional[Seconds]) -> Optional[timedelta]:
    return time if time is None or isinstance(time, timedelta) else timedelta(seconds=time)


class Outcome(Exception):
    """Ends the run in a way of its own."""


class Retry(Outcome):
    """The run fails, and the next attempt is due after this time; None: after the backoff of the queue."""

    def __init__(self, error: object = "", in_: Optional[Seconds] = None) -> None:
        super().__init__(error)
        self.error, self.in_ = printable(str(error)) or None, interval(in_)


class Discard(Outcome):
    """The run fails, and no other attempt follows."""

    def __init__(self, error: object = "") -> None:
        super().__init__(error)
        self.error = printable(str(error)) or None


class Snooze(Outcome):
    """The job runs again after this time. The attempt does not count."""

    def __init__(self, in_: Seconds) -> None:
        super().__init__(in_)
        self.in_ = interval(in_)


class Release(Outcome):
    """The job is available again at once. The attempt does not count."""


class AwaitChildren(Outcome):
    """The run steps aside until the children that it has added have ended. Then the job runs again."""


@dataclass(frozen=True)
class Ending:
    """What the server is told."""

    verb: str
    result: Any = None
    error: Optional[str] = None
    time: Optional[timedelta] = None


COMPLETE, FAIL, DISCARD, SNOOZE, RELEASE, AWAIT = "complete", "fail", "discard", "snooze", "release", "await_children"

# What an exception of a handler means: an exception class, and the outcome that it stands for.
RetryRules = dict[type[BaseException], Union[type[Outcome], Outcome, Callable[[BaseException], Outcome]]]


def ending_of_result(result: Any) -> Ending:
    return ending_of_error(result, {}) if isinstance(result, Outcome) else Ending(COMPLETE, result=result)


def ending_of_error(error: BaseException, rules: RetryRules) -> Ending:
    """The most derived class of the rules that the error is of counts."""
    if isinstance(error, Retry):
        return Ending(FAIL, error=error.error, time=error.in_)
    if isinstance(error, Discard):
        return Ending(DISCARD, error=error.error)
    if isinstance(error, Snooze):
        return Ending(SNOOZE, time=error.in_)
    if isinstance(error, Release):
        return Ending(RELEASE)
    if isinstance(error, AwaitChildren):
        return Ending(AWAIT)
    rule = next((rules[each] for each in type(error).__mro__ if each in rules), None)
    if rule is None:
        return Ending(FAIL, error=text_of(error))
    outcome = rule if isinstance(rule, Outcome) else rule(error)
    ending = ending_of_error(outcome, {})
    says = ending.error if isinstance(rule, Outcome) or not isinstance(rule, type) else None
    return Ending(ending.verb, error=says or text_of(error), time=ending.time)


def text_of(error: BaseException) -> str:
    """With what PostgreSQL can store. The first line says what it is, so that failures can be grouped by it."""
    first = f"{type(error).__name__}: {error}".rstrip(": ")
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return printable(f"{first}\n{trace}")


def printable(text: str) -> str:
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")
