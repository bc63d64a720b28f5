"""Ends on their way to the server: which go together, which go along with a claim, and which are told again later."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from turnstile_client import faults, statements
from turnstile_client.outcome import AWAIT, COMPLETE, DISCARD, FAIL, RELEASE, SNOOZE, Ending, printable
from turnstile_client.run import RunKey
from turnstile_client.settings import FIRST_PAUSE, LONGEST_PAUSE, MOST_BYTES, MOST_ENDS, MOST_REFUSALS
from turnstile_client.statements import Statement

_ALONE = {SNOOZE: statements.SNOOZE, RELEASE: statements.RELEASE, AWAIT: statements.AWAIT_CHILDREN}


def pause_after(failures: int) -> float:
    """Between half of the pause and all of it, so that workers which lost one server do not come back at once."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures, 30)) * random.uniform(0.5, 1)


@dataclass
class End:
    ending: Ending
    refusals: int = 0
    not_before: float = 0
    is_being_told: bool = False
    told: Optional[str] = None
    is_last_resort: bool = False


@dataclass
class Endings:
    ends: dict[RunKey, End] = field(default_factory=dict)
    # Of runs that are done: the next claim completes them. None: no claim is about to be made.
    with_claim: Optional[list[RunKey]] = None

    def add(self, key: RunKey, ending: Ending) -> bool:
        """Whether the next claim takes it along."""
        self.ends[key] = End(ending)
        if ending.verb != COMPLETE or self.with_claim is None:
            return False
        self.with_claim.append(key)
        return True

    def of(self, key: RunKey) -> Optional[Ending]:
        end = self.ends.get(key)
        return None if end is None else end.ending

    def forget(self, key: RunKey) -> None:
        self.ends.pop(key, None)

    # ---- along with claims

    def take_completed(self) -> list[RunKey]:
        """What the claim that is made now is to complete. Others may follow while it lasts. All lock rows by id."""
        taken, rest = self._as_many(sorted(self.with_claim or []))
        self.with_claim = rest
        self._being_told(taken, True)
        return taken

    def let_go(self) -> bool:
        """No claim follows for a while: whether there are ends that it would have taken along."""
        had, self.with_claim = self.with_claim, None
        return bool(had)

    def completed(self, keys: Sequence[RunKey]) -> dict[str, Any]:
        results = [self.ends[key].ending.text for key in keys]
        return {**_runs(keys), "results": results if any(text is not None for text in results) else None}

    # ---- by themselves

    def take(self, now: float) -> list[list[RunKey]]:
        """What is to be told now. Those of one list go in one call."""
        along = set(self.with_claim or ())
        due = sorted(
            key for key, end in self.ends.items() if not end.is_being_told and end.not_before <= now and key not in along
        )  # fmt: skip
        # One that was refused goes alone, so that it keeps no other.
        alone = [key for key in due if self.ends[key].refusals or self.ends[key].ending.verb in _ALONE]
        alone_set = set(alone)
        together = [key for key in due if key not in alone_set]
        found = []
        for verbs in ((COMPLETE,), (FAIL, DISCARD)):
            rest = [key for key in together if self.ends[key].ending.verb in verbs]
            while rest:
                taken, rest = self._as_many(rest)
                found.append(taken)
        found += [[key] for key in alone]
        self._being_told(due, True)
        return found

    def statement(self, keys: Sequence[RunKey]) -> Statement:
        """Of ends that go in one call."""
        ends = [self.ends[key].ending for key in keys]
        verb = ends[0].verb
        if verb == COMPLETE:
            return statements.COMPLETE_MANY, self.completed(keys)
        if verb in _ALONE:
            [(job, attempt)] = keys
            arguments = {"id": job, "attempt": attempt}
            return _ALONE[verb], {**arguments, "time": ends[0].time} if verb == SNOOZE else arguments
        return statements.FAIL_MANY, {
            **_runs(keys), "errors": [end.error for end in ends], "times": [end.time for end in ends],
            "discards": [end.verb == DISCARD for end in ends], "classes": [end.error_class for end in ends],
        }  # fmt: skip

    def unheard(self, keys: Iterable[RunKey]) -> None:
        """There was no answer: they are told again."""
        self._being_told(keys, False)

    def refused(self, key: RunKey, error: BaseException, now: float) -> bool:
        """False: the server takes no end of this run at all. It fails when its lease is over."""
        end = self.ends[key]
        end.is_being_told = False
        if not faults.is_hopeless(error):
            end.not_before = now + pause_after(end.refusals)
            end.refusals += 1
            # However often: others may hold a lock for as long as they like.
            if end.refusals <= MOST_REFUSALS or faults.is_locked(error):
                return True
        if end.is_last_resort:
            return False
        self.instead(key, f"the server refuses how the run has ended: {faults.described(error)}")
        return True

    def instead(self, key: RunKey, why: str) -> None:
        self.ends[key] = End(Ending(FAIL, error=printable(why)), is_last_resort=True)

    def is_news(self, key: RunKey, reason: str) -> bool:
        end = self.ends[key]
        is_news, end.told = end.told != reason, reason
        return is_news

    def are_known(self) -> bool:
        """But for those that the server does not take now."""
        return all(end.refusals for end in self.ends.values())

    def next_due(self, now: float) -> float:
        return min((end.not_before for end in self.ends.values() if end.not_before > now), default=float("inf"))

    def _being_told(self, keys: Iterable[RunKey], is_so: bool) -> None:
        for key in keys:
            if key in self.ends:
                self.ends[key].is_being_told = is_so

    def _as_many(self, keys: list[RunKey]) -> tuple[list[RunKey], list[RunKey]]:
        """As many as go in one call, and the rest."""
        size = 0
        for number, key in enumerate(keys):
            size += len(self.ends[key].ending.text or "")
            if number == MOST_ENDS or (number and size > MOST_BYTES):
                return keys[:number], keys[number:]
        return keys, []


def _runs(keys: Sequence[RunKey]) -> dict[str, Any]:
    return {"ids": [job for job, _ in keys], "attempts": [attempt for _, attempt in keys]}
