"""The script by the verbs of the extension, each a call of its own."""

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from actor import Actor, Run, handed_out

JSON = {"payload", "metadata", "result", "jobs"}


class Verbs(Actor):
    def attempt(self, work):
        return work()

    def _rows(self, function: str, **arguments) -> list[dict]:
        named = ", ".join(f"{name} => %({name})s" for name in arguments)
        given = {name: Jsonb(value) if name in JSON else value for name, value in arguments.items()}
        with self.conn.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(f"SELECT * FROM turnstile.{function}({named})", given).fetchall()

    def _value(self, function: str, **arguments):
        return next(iter(self._rows(function, **arguments)[0].values()))

    def _said(self, what: str, function: str, **arguments) -> None:
        """A call of which only the answer counts."""

        def work():
            value = self._value(function, **arguments)
            return value, value

        self.answer(what, work)

    # ---- Producers --------------------------------------------------------------------------------

    def enqueue(self, label: str, **arguments) -> None:
        def work():
            arguments["payload"] = {"job": label} | arguments.get("payload", {})
            id = self._value("enqueue", **arguments)
            return id, self.enqueued(label, id)

        self.answer(f"enqueue {label}", work)

    def enqueue_many(self, jobs: dict[str, dict]) -> None:
        def work():
            elements = [{**job, "payload": {"job": label} | job.get("payload", {})} for label, job in jobs.items()]
            rows = self._rows("enqueue_many", jobs=elements)
            known = [self.enqueued(label, row["id"]) for label, row in zip(jobs, rows, strict=True)]
            return rows, [(row["ord"], label, row["created"]) for label, row in zip(known, rows)]

        self.answer(f"enqueue_many {' '.join(jobs)}", work)

    # ---- Workers ----------------------------------------------------------------------------------

    def _claimed(self, what: str, function: str, **arguments) -> list[Run]:
        def work():
            rows = self._rows(function, **arguments)
            return [self.run_of(row) for row in rows], handed_out(rows)

        return self.answer(what, work) or []

    def claim_next(self, queue: str, **arguments) -> list[Run]:
        return self._claimed(f"claim_next {queue}", "claim_next", queue=queue, **arguments)

    def claim(self, queues: list[str], most: int) -> list[Run]:
        return self._claimed(f"claim {most} of {' '.join(queues)}", "claim", queues=queues, max_jobs=most)

    def complete(self, run: Run, **arguments) -> None:
        self._said(f"complete {run.label}", "complete", job_id=run.id, attempt=run.attempt, **arguments)

    def complete_many(self, runs: list[Run]) -> None:
        ids, attempts = [run.id for run in runs], [run.attempt for run in runs]
        self._said(f"complete_many {len(runs)}", "complete_many", job_ids=ids, attempts=attempts)

    def complete_and_claim_next(self, run: Run) -> list[Run]:
        name = "complete_and_claim_next"
        return self._claimed(f"{name} {run.label}", name, job_id=run.id, attempt=run.attempt)

    def fail(self, run: Run, **arguments) -> None:
        self._said(f"fail {run.label}", "fail", job_id=run.id, attempt=run.attempt, **arguments)

    def release(self, run: Run) -> None:
        self._said(f"release {run.label}", "release", job_id=run.id, attempt=run.attempt)

    def snooze(self, run: Run, delay: str) -> None:
        self._said(f"snooze {run.label}", "snooze", job_id=run.id, attempt=run.attempt, delay=delay)

    def heartbeat(self, run: Run, lease: str | None = None) -> None:
        self._said(f"heartbeat {run.label}", "heartbeat", job_id=run.id, attempt=run.attempt, lease=lease)

    def progress(self, run: Run, done: int, total: int, message: str) -> None:
        how_far = {"done": done, "total": total, "message": message}
        self._said(f"progress {run.label}", "progress", job_id=run.id, attempt=run.attempt, **how_far)

    # ---- Operators --------------------------------------------------------------------------------

    def cancel(self, run: Run) -> None:
        self._said(f"cancel {run.label}", "cancel", job_id=run.id)

    def discard(self, run: Run, error: str) -> None:
        self._said(f"discard {run.label}", "discard", job_id=run.id, error=error)

    def retry(self, run: Run) -> None:
        self._said(f"retry {run.label}", "retry", job_id=run.id)

    def reprioritize(self, run: Run, priority: int) -> None:
        self._said(f"reprioritize {run.label}", "reprioritize", job_id=run.id, priority=priority)

    def cancel_many(self, queue: str, kind: str) -> None:
        self._said(f"cancel_many {queue} {kind}", "cancel_many", queue=queue, kind=kind)

    def discard_many(self, queue: str, kind: str) -> None:
        self._said(f"discard_many {queue} {kind}", "discard_many", queue=queue, kind=kind)

    def retry_many(self, queue: str) -> None:
        self._said(f"retry_many {queue}", "retry_many", queue=queue)

    def reroute(self, pattern: str) -> None:
        self._said(f"reroute {pattern}", "reroute", pattern=pattern)

    def rescue(self) -> None:
        self._said("rescue", "rescue")

    def promote(self) -> None:
        self._said("promote", "promote")
