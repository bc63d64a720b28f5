"""What a worker knows and decides, without any input or output: the thread and the asyncio worker share it.

1. A run is held from its claim until the server has taken its end, or has said that the run is not ours any more.
2. An end is told until the server has an answer to it. Told twice it does no harm: a run ends once.
3. A run whose lease is over by our own clock is told to stop, whether or not the server can be reached.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Callable, Optional

from turnstile_client import outcome, statements
from turnstile_client.outcome import Ending
from turnstile_client.run import Job, Run, RunKey, StopReason
from turnstile_client.settings import Settings

Statement = tuple[str, dict[str, Any]]
# SQLSTATEs: no such job, and superseded or in another state.
GONE = {"P0002", "55000"}
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
# An end that the server refuses is told again so often; then the run fails with what the server has said.
MOST_REFUSALS = 20
# Of a claim that says nothing else. The real one is the queue's.
USUAL_LEASE = 300.0


@dataclass
class Held:
    run: Run
    lease: float
    lease_ends: float
    next_beat: float
    ending: Optional[Ending] = None
    refusals: int = 0
    not_before: float = 0


@dataclass
class Batch:
    """Ends that are told in one statement."""

    statement: Statement
    keys: list[RunKey]


@dataclass
class Core:
    settings: Settings
    to_json: Callable[[Any], str] = functools.partial(json.dumps, allow_nan=False)
    make_run: Callable[[Job, Callable[..., None]], Run] = Run
    held: dict[RunKey, Held] = field(default_factory=dict)
    told: set[RunKey] = field(default_factory=set)
    progress: dict[RunKey, tuple[Any, Any, Any]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    # ---- claims

    def room(self) -> int:
        """Handlers that are done make room. While the server does not hear of ends it takes no more than twice as many as may run."""
        with self.lock:
            running = sum(held.ending is None for held in self.held.values())
            most = self.settings.concurrency
            return max(0, min(most - running, 2 * most - len(self.held)))

    def started(self, rows: Iterable[dict[str, Any]], now: float) -> list[Run]:
        runs = []
        with self.lock:
            for row in rows:
                run = self.make_run(Job.of(row), self._note_progress)
                expires = row["lease_expires_at"]
                lease = USUAL_LEASE if expires is None else max(0.001, (expires - row["now"]).total_seconds())
                beat = min(lease / 3, self.settings.heartbeat)
                self.held[run.job.key] = Held(run, lease, now + lease, now + beat)
                runs.append(run)
        return runs

    def claim(self, room: int, completed: Optional[Batch]) -> Statement:
        settings = self.settings
        lease = None if settings.lease is None else timedelta(seconds=settings.lease)
        arguments = {"queues": list(settings.queues), "room": room, "worker": settings.name, "lease": lease}
        if completed is None:
            return statements.CLAIM, arguments
        return statements.COMPLETE_AND_CLAIM, {**completed.statement[1], **arguments}

    def sleep(self) -> Statement:
        return statements.SLEEP, {"queues": list(self.settings.queues), "wait": timedelta(seconds=self.settings.wait)}

    # ---- ends

    def ended(self, key: RunKey, ending: Ending) -> None:
        with self.lock:
            if key in self.held:
                self.held[key].ending = ending
                self.progress.pop(key, None)

    def take(self, verbs: Iterable[str], now: float) -> list[RunKey]:
        """Runs with such ends that nobody tells just now."""
        with self.lock:
            wanted = set(verbs)
            keys = [
                key for key, held in self.held.items()
                if held.ending is not None and held.ending.verb in wanted and key not in self.told and held.not_before <= now
            ]  # fmt: skip
            self.told.update(keys)
            return sorted(keys)

    def completions(self, now: float) -> Optional[Batch]:
        """Those that a claim may take along."""
        keys = self.take([outcome.COMPLETE], now)
        return Batch((statements.COMPLETE_MANY, self._completed(keys)), keys) if keys else None

    def failures(self, now: float) -> Optional[Batch]:
        keys = self.take([outcome.FAIL, outcome.DISCARD], now)
        ends = [self._ending(key) for key in keys]
        arguments = {
            "errors": [end.error for end in ends], "times": [end.time for end in ends],
            "discards": [end.verb == outcome.DISCARD for end in ends],
        }  # fmt: skip
        return Batch((statements.FAIL_MANY, {**_runs(keys), **arguments}), keys) if keys else None

    def others(self, now: float) -> list[Batch]:
        texts = {outcome.SNOOZE: statements.SNOOZE, outcome.RELEASE: statements.RELEASE, outcome.AWAIT: statements.AWAIT_CHILDREN}
        batches = []
        for key in self.take(texts, now):
            ending = self._ending(key)
            arguments = {"id": key[0], "attempt": key[1]} | ({"time": ending.time} if ending.verb == outcome.SNOOZE else {})
            batches.append(Batch((texts[ending.verb], arguments), [key]))
        return batches

    def ends(self, now: float, with_completions: bool) -> list[Batch]:
        """All that is to be told. A claim takes completions along, if one comes soon."""
        found = [self.completions(now)] if with_completions else []
        return [batch for batch in [*found, self.failures(now), *self.others(now)] if batch is not None]

    def sendable(self, ending: Ending) -> Ending:
        try:
            self.to_json(ending.result)
        except (TypeError, ValueError) as error:
            return Ending(outcome.FAIL, error=f"the result is no JSON: {error}")
        return ending

    def alone(self, key: RunKey) -> Batch:
        """One end, where one of many was refused and it is not known which."""
        ending = self._ending(key)
        if ending.verb == outcome.COMPLETE:
            return Batch((statements.COMPLETE_MANY, self._completed([key])), [key])
        arguments = {"errors": [ending.error], "times": [ending.time], "discards": [ending.verb == outcome.DISCARD]}
        return Batch((statements.FAIL_MANY, {**_runs([key]), **arguments}), [key])

    def accepted(self, keys: Iterable[RunKey]) -> None:
        with self.lock:
            for key in keys:
                self.told.discard(key)
                self.held.pop(key, None)

    def unheard(self, keys: Iterable[RunKey]) -> None:
        """There was no answer: they are told again."""
        with self.lock:
            self.told.difference_update(keys)

    def refused(self, key: RunKey, sqlstate: Optional[str], error: BaseException, now: float) -> Optional[tuple[Run, Ending]]:
        """What is gone is gone; all else is told again, after pauses that grow, and fails in the end."""
        with self.lock:
            self.told.discard(key)
            held = self.held.get(key)
            if held is None or held.ending is None:
                return None
            refused = (held.run, held.ending)
            if sqlstate in GONE:
                del self.held[key]
                return refused
            held.refusals += 1
            held.not_before = now + min(LONGEST_PAUSE, FIRST_PAUSE * 2**held.refusals)
            # What is too long, or no value for PostgreSQL or its driver, gets no better.
            is_hopeless = sqlstate is None or sqlstate == "54000" or sqlstate.startswith("22")
            if held.refusals >= MOST_REFUSALS or is_hopeless:
                held.ending = Ending(outcome.FAIL, error=outcome.printable(f"the end of the run was refused: {error}"))
            return refused

    def all_ended(self) -> bool:
        with self.lock:
            return not self.held

    # ---- signs of life

    def take_beats(self, now: float) -> list[RunKey]:
        """The runs that are due, with those that are nearly so."""
        with self.lock:
            due = [key for key, held in self.held.items() if held.next_beat <= now + min(held.lease / 3, self.settings.heartbeat) / 3]
            if not any(self.held[key].next_beat <= now for key in due):
                return []
            for key in due:
                held = self.held[key]
                held.next_beat = now + min(held.lease / 3, self.settings.heartbeat)
            return sorted(due)

    def beat(self, keys: list[RunKey]) -> Statement:
        lease = None if self.settings.lease is None else timedelta(seconds=self.settings.lease)
        return statements.HEARTBEAT_MANY, {**_runs(keys), "lease": lease}

    def heard(self, keys: list[RunKey], rows: Iterable[dict[str, Any]], asked: float) -> None:
        with self.lock:
            for key, row in zip(keys, rows):
                held = self.held.get(key)
                if held is None or held.ending is not None:
                    continue
                if row["status"] == "lost":
                    held.run.stop(StopReason.LOST)
                    continue
                held.lease_ends = asked + held.lease
                if row["status"] == "cancel_requested":
                    held.run.stop(StopReason.CANCELLED)

    def expire(self, now: float) -> None:
        with self.lock:
            for held in self.held.values():
                if held.lease_ends <= now and held.ending is None:
                    held.run.stop(StopReason.LOST)

    def stop_all(self, reason: StopReason) -> None:
        with self.lock:
            for held in self.held.values():
                held.run.stop(reason)

    def next_moment(self, now: float, longest: float) -> float:
        """Seconds until something falls due."""
        with self.lock:
            moments = [min(held.next_beat, held.lease_ends) for held in self.held.values()]
            moments += [held.not_before for held in self.held.values() if held.ending is not None and held.not_before > now]
            return max(0.0, min([longest, *[moment - now for moment in moments]]))

    def take_progress(self) -> list[tuple[RunKey, Statement]]:
        with self.lock:
            found, self.progress = self.progress, {}
        return [
            (key, (statements.PROGRESS, {"id": key[0], "attempt": key[1], "done": done, "total": total, "message": message}))
            for key, (done, total, message) in found.items()
        ]  # fmt: skip

    def _note_progress(self, key: RunKey, done: Any, total: Any, message: Any) -> None:
        with self.lock:
            if key in self.held:
                self.progress[key] = (done, total, message)

    def _ending(self, key: RunKey) -> Ending:
        ending = self.held[key].ending
        assert ending is not None
        return ending

    def _completed(self, keys: list[RunKey]) -> dict[str, Any]:
        results = [self._ending(key).result for key in keys]
        texts = [None if result is None else self.to_json(result) for result in results]
        return {**_runs(keys), "results": texts if any(text is not None for text in texts) else None}


def _runs(keys: list[RunKey]) -> dict[str, Any]:
    return {"ids": [job for job, _ in keys], "attempts": [attempt for _, attempt in keys]}


def pause_after(failures: int) -> float:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**failures)
