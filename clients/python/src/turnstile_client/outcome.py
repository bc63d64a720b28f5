"""How a run ends, other than by returning its result or by any other exception. A handler raises these, or returns them."""

from __future__ import annotations

import builtins
import dataclasses
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Optional, Union

from turnstile_client.run import StopReason
from turnstile_client.settings import LONGEST_CLASS, LONGEST_ERROR

Seconds = Union[int, float, timedelta]
Dumps = Callable[[Any], Union[str, bytes]]


def interval(time: Optional[Seconds]) -> Optional[timedelta]:
    return time if time is None or isinstance(time, timedelta) else timedelta(seconds=time)


class Outcome(Exception):
    """Ends the run in a way of its own."""


class Failure(Outcome):
    """The run fails. error_class: what retry curves go by; None: the class of the error, if it is an exception."""

    def __init__(self, error: object = "", error_class: Optional[str] = None) -> None:
        super().__init__(error)
        self.error = printable(str(error)) or None
        self.error_class = class_of(error) if error_class is None and isinstance(error, BaseException) else _class_name(error_class)


class Retry(Failure):
    """The run fails, and the next attempt is due after this time; None: as a retry curve says, or after the backoff of the queue."""

    def __init__(self, error: object = "", in_: Optional[Seconds] = None, error_class: Optional[str] = None) -> None:
        super().__init__(error, error_class)
        self.in_ = interval(in_)


class Discard(Failure):
    """The run fails, and no other attempt follows."""


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
    text: Optional[str] = None
    """The result as JSON."""
    error_class: Optional[str] = None


COMPLETE, FAIL, DISCARD, SNOOZE, RELEASE, AWAIT = "complete", "fail", "discard", "snooze", "release", "await_children"

# From Python 3.11 on.
_GROUP: Any = getattr(builtins, "BaseExceptionGroup", ())

# What an exception of a handler means: an exception class, and the outcome that it stands for.
RetryRules = Mapping[type[BaseException], Union[type[Outcome], Outcome, Callable[[BaseException], Outcome]]]


def checked_rules(rules: Optional[RetryRules]) -> RetryRules:
    """A rule that could never be followed is refused."""
    for error, means in (rules or {}).items():
        if not (isinstance(error, type) and issubclass(error, BaseException)):
            raise TypeError(f"a rule of retry is for a class of exceptions, not for {error!r}")
        if isinstance(means, type) or not callable(means):
            _made(means)
    return dict(rules or {})


def ending_of_result(result: Any) -> Ending:
    if isinstance(result, Outcome) or (isinstance(result, type) and issubclass(result, Outcome)):
        return _ending_of_outcome(_made(result))
    return Ending(COMPLETE, result=result)


def ending_of_error(error: BaseException, rules: RetryRules) -> Ending:
    """The most derived class of the rules that the error is of counts."""
    text, name, error = text_of(error), class_of(error), _counted(error, rules)
    if isinstance(error, Outcome):
        return _ending_of_outcome(error)
    rule = next((rules[each] for each in type(error).__mro__ if each in rules), None)
    if rule is None:
        return Ending(FAIL, error=text, error_class=name)
    try:
        outcome = _made(rule if isinstance(rule, (Outcome, type)) else rule(error))
    except Exception as failed:
        return Ending(FAIL, error=f"{text}\nThe rule for it has failed: {text_of(failed)}", error_class=name)
    ending = _ending_of_outcome(outcome)
    if ending.verb not in (FAIL, DISCARD):
        return ending
    # What the rule leaves open is that of the exception.
    return dataclasses.replace(ending, error=ending.error or text, error_class=ending.error_class or name)


def _counted(error: BaseException, rules: RetryRules) -> BaseException:
    """Of a group the first exception, unless a rule is of groups."""
    is_of_groups = any(each in rules and issubclass(each, _GROUP) for each in type(error).__mro__)
    return error if is_of_groups else _first(error)


def _first(error: BaseException) -> BaseException:
    """A group, as asyncio.TaskGroup raises it, says nothing of its own."""
    while isinstance(error, _GROUP):
        error = error.exceptions[0]
    return error


def _made(outcome: Any) -> Outcome:
    made = outcome() if isinstance(outcome, type) else outcome
    if not isinstance(made, Outcome):
        raise TypeError(f"{made!r} is no outcome")
    return made


def _ending_of_outcome(outcome: Outcome) -> Ending:
    if isinstance(outcome, Retry):
        return Ending(FAIL, error=outcome.error, time=outcome.in_, error_class=outcome.error_class)
    if isinstance(outcome, Discard):
        return Ending(DISCARD, error=outcome.error, error_class=outcome.error_class)
    if isinstance(outcome, Snooze):
        return Ending(SNOOZE, time=outcome.in_)
    return Ending(RELEASE if isinstance(outcome, Release) else AWAIT)


def after_stop(ending: Optional[Ending], reason: Optional[StopReason]) -> Optional[Ending]:
    """What a run leaves behind that was told to stop. None: there is nothing to say, since the run is not ours any more.

    ending: what the handler says; None: it did not stop.
    """
    if reason is None or (ending is not None and ending.verb == COMPLETE):
        return ending
    if reason is StopReason.LOST:
        return None
    if reason is StopReason.CANCELLED:
        # Makes the server cancel it.
        return Ending(FAIL, error="cancelled")
    # That it could not go on to its end is not its failure.
    is_its_own = ending is not None and (ending.verb != FAIL or ending.time is not None)
    return ending if is_its_own else Ending(RELEASE)


def with_text(ending: Ending, dumps: Dumps) -> Ending:
    """A result that is no JSON fails the run."""
    if ending.verb != COMPLETE or ending.result is None:
        return ending
    try:
        text = dumps(ending.result)
        text = text.decode() if isinstance(text, bytes) else text
    except Exception as error:
        return Ending(FAIL, error=f"the result cannot be sent as JSON: {text_of(error)}")
    return dataclasses.replace(ending, text=text)


def text_of(error: BaseException) -> str:
    """The first line says what it is, so that failures can be grouped by it."""
    try:
        counted = _first(error)
        first = f"{type(counted).__name__}: {counted}".rstrip(": ")
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception:
        return printable(type(error).__name__)
    return printable(f"{first}\n{trace}")


def class_of(error: BaseException) -> Optional[str]:
    """Without its module, as in the first line of the error: what operators have set stays right where a class moves."""
    return _class_name(type(_first(error)).__name__)


def _class_name(text: Optional[str]) -> Optional[str]:
    """None: there is no class. A longer one would be refused, and the end with it."""
    name = _storable(text or "").encode()[:LONGEST_CLASS].decode("utf-8", "ignore")
    return name or None


def _storable(text: str) -> str:
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


def printable(text: str) -> str:
    """What PostgreSQL can store and keeps. Of a long text the beginning and the end say most."""
    text = _storable(text)
    if len(text) <= LONGEST_ERROR:
        return text
    half = (LONGEST_ERROR - len(_CUT)) // 2
    return text[:half] + _CUT + text[-half:]


_CUT = "\n[…]\n"
