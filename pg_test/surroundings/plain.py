"""What each verb means, in plain SQL. Gates other than sessions are not modelled; the script meets none."""

from psycopg.types.json import Jsonb

from actor import Refused, Run, handed_out
from plain_rows import FIRST_STARTED_AT, KEPT, OF_A_RUN, OF_NOBODY, WAITED, PlainRows

# A job of a session has its turn when nobody before it waits, and nobody runs or holds the session.
NEXT = """
    queue = %s AND state = 'available' AND NOT id = ANY (%s)
        AND (session IS NULL OR NOT EXISTS (
            SELECT FROM turnstile.job AS other
            WHERE (other.queue, other.session) = (job.queue, job.session) AND other.tenant IS NOT DISTINCT FROM job.tenant
                AND other.id <> job.id AND (
                    other.state = 'running' OR other.holds_session
                    OR other.state = 'available' AND (other.priority, other.position) < (job.priority, job.position)
                        AND NOT job.holds_session
                )
        ))
    ORDER BY priority, position LIMIT 1
"""
START = (
    "state = 'running', attempt = attempt + 1, worker = %(worker)s, owner_pid = CASE WHEN %(bound)s THEN pg_backend_pid() END,"
    " owner_started_at = CASE WHEN %(bound)s THEN %(backend_start)s::timestamptz END, claimed_at = clock_timestamp(),"
    " lease_expires_at = clock_timestamp() + coalesce(%(lease)s, %(default_lease)s)::interval, lease = %(lease)s::interval"
)
NO_RUN = (
    "worker = NULL, owner_pid = NULL, owner_started_at = NULL, claimed_at = NULL, lease_expires_at = NULL, lease = NULL,"
    f" progress = NULL, first_started_at = {FIRST_STARTED_AT}, waited = {WAITED}"
)
PLACE = "position = CASE WHEN session IS NULL THEN nextval('turnstile.job_position_seq') ELSE position END"
REPLACE = (
    "kind = %(kind)s, payload = %(payload)s, queue = %(queue)s, account = NULL, session = NULL, concurrency_key = NULL,"
    " priority = %(priority)s, run_at = run_at, max_attempts = %(max_attempts)s, metadata = NULL, state = 'available',"
    " position = position, uncounted = attempt"
)
RESCUED = "state = 'running' AND lease_expires_at <= clock_timestamp() ORDER BY id"
DUE = "state IN ('scheduled', 'retryable') AND run_at <= clock_timestamp() ORDER BY run_at, position"
BROUGHT_BACK = """
    SELECT DISTINCT ON (id) id, state FROM turnstile.job_history AS past
    WHERE queue = %s AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = past.id)
    ORDER BY id, finished_at DESC
"""


class Plain(PlainRows):
    def _does(self, what: str, work) -> None:
        """A step of which the answer is what is compared."""

        def answered():
            value = work()
            return value, value

        self.answer(what, answered)

    # ---- Producers --------------------------------------------------------------------------------

    def _add(self, label: str, kind: str, queue: str, payload=None, unique_key=None, unique_mode="until_executed", **columns):
        """The id, and whether the job is a new one."""
        job = {"kind": kind, "queue": queue, "payload": Jsonb({"job": label} | (payload or {})), "priority": 0}
        job |= {"max_attempts": self.setting("max_attempts")} | columns
        if "metadata" in columns:
            job["metadata"] = Jsonb(columns["metadata"])
        if unique_key is not None:
            holder = next(iter(self.jobs_where("unique_key = %s AND tenant IS NULL", unique_key)), None)
            if holder is not None:
                if unique_mode == "replace":
                    self.update(holder["id"], REPLACE, **job)
                return holder["id"], False
            job |= {"unique_key": unique_key, "unique_mode": unique_mode}
        return self.insert(**job), True

    def enqueue(self, label: str, **arguments) -> None:
        def work():
            id, _ = self._add(label, **arguments)
            return id, self.enqueued(label, id)

        self.answer(f"enqueue {label}", work)

    def enqueue_many(self, jobs: dict[str, dict]) -> None:
        def work():
            added = [(label, *self._add(label, **job)) for label, job in jobs.items()]
            return added, [(ord, self.enqueued(label, id), new) for ord, (label, id, new) in enumerate(added, start=1)]

        self.answer(f"enqueue_many {' '.join(jobs)}", work)

    # ---- Workers ----------------------------------------------------------------------------------

    def _start(self, queues: list[str], most: int, worker=None, lease=None, bind_to_connection=False) -> list[dict]:
        started: list[int] = []
        seen: list[int] = []
        for queue in queues:
            # What a trigger keeps from running is passed over.
            while len(started) < most and (found := self.jobs_where(NEXT, queue, seen)):
                id = found[0]["id"]
                seen.append(id)
                run = {"worker": worker, "bound": bind_to_connection, "backend_start": self.backend_start}
                run |= {"lease": lease, "default_lease": self.setting("lease")}
                if self.update(id, START, passes_over=True, **run):
                    started.append(id)
        rows = sorted(self.jobs_where("id = ANY (%s)", started), key=lambda row: started.index(row["id"]))
        return [row | {"max_attempts": row["max_attempts"] + row["uncounted"]} for row in rows]

    def _claims(self, what: str, work) -> list[Run]:
        def answered():
            rows = work()
            return [self.run_of(row) for row in rows], handed_out(rows)

        return self.answer(what, answered) or []

    def claim_next(self, queue: str, **arguments) -> list[Run]:
        return self._claims(f"claim_next {queue}", lambda: self._start([queue], 1, **arguments))

    def claim(self, queues: list[str], most: int) -> list[Run]:
        return self._claims(f"claim {most} of {' '.join(queues)}", lambda: self._start(queues, most))

    def _is_running(self, run: Run) -> dict | None:
        row = self.live(run.id)
        return row if row and (row["state"], row["attempt"]) == ("running", run.attempt) else None

    def _running(self, run: Run) -> dict:
        if row := self._is_running(run):
            return row
        raise Refused("55000" if self.live(run.id) or self.finished(run.id) else "P0002")

    def _complete(self, run: Run, result=None) -> bool:
        past = self.finished(run.id)
        if past and (past["state"], past["attempt"]) == ("completed", run.attempt):
            return False
        self._running(run)
        self.move(run.id, "completed", result=None if result is None else Jsonb(result))
        return True

    def complete(self, run: Run, **arguments) -> None:
        self._does(f"complete {run.label}", lambda: self._complete(run, **arguments))

    def complete_many(self, runs: list[Run]) -> None:
        def work():
            """Leaves alone what does not run any more."""
            return sum(self._complete(run) for run in runs if self._is_running(run))

        self._does(f"complete_many {len(runs)}", work)

    def complete_and_claim_next(self, run: Run) -> list[Run]:
        def work():
            row = self._running(run)
            self._complete(run)
            is_bound = row["owner_started_at"] == self.backend_start
            return self._start([row["queue"]], 1, row["worker"], row["lease"], is_bound)

        return self._claims(f"complete_and_claim_next {run.label}", work)

    def _fail(self, row: dict, error, retry_in=None, discard=False) -> str:
        if row["cancel_requested_at"] is not None:
            state = "cancelled"
        elif discard or row["attempt"] - row["uncounted"] >= row["max_attempts"]:
            state = "discarded"
        else:
            changes = (
                "state = 'retryable', run_at = clock_timestamp() + %(wait)s::interval, holds_session = session IS NOT NULL,"
                f" {NO_RUN}, errors = {OF_A_RUN}"
            )
            wait = retry_in or self.setting("retry_base")
            self.update(row["id"], changes, wait=wait, error=error)
            return "retryable"
        self.move(row["id"], state, OF_A_RUN, error=error)
        return state

    def fail(self, run: Run, **arguments) -> None:
        self._does(f"fail {run.label}", lambda: self._fail(self._running(run), **arguments))

    def _put_back(self, run: Run, changes: str, **values) -> bool:
        if self._running(run)["cancel_requested_at"] is not None:
            self.move(run.id, "cancelled")
        else:
            self.update(run.id, f"uncounted = uncounted + 1, {changes}, {NO_RUN}", **values)
        return True

    def release(self, run: Run) -> None:
        self._does(f"release {run.label}", lambda: self._put_back(run, f"state = 'available', run_at = clock_timestamp(), {PLACE}"))

    def snooze(self, run: Run, delay: str) -> None:
        changes = "state = 'scheduled', run_at = clock_timestamp() + %(delay)s::interval, holds_session = false"
        self._does(f"snooze {run.label}", lambda: self._put_back(run, changes, delay=delay))

    def _signs_of_life(self, run: Run, changes: str, **values) -> bool:
        row = self._running(run)
        self.update(run.id, changes, **values)
        return row["cancel_requested_at"] is None

    def heartbeat(self, run: Run, lease: str | None = None) -> None:
        def work():
            changes = "lease_expires_at = clock_timestamp() + coalesce(%(lease)s, lease, %(default_lease)s)::interval"
            return self._signs_of_life(run, changes, lease=lease, default_lease=self.setting("lease"))

        self._does(f"heartbeat {run.label}", work)

    def progress(self, run: Run, done: int, total: int, message: str) -> None:
        changes = (
            "progress = jsonb_build_object('done', %(done)s::numeric, 'total', %(total)s::numeric, 'message', %(message)s::text,"
            " 'at', clock_timestamp())"
        )
        how_far = {"done": done, "total": total, "message": message}
        self._does(f"progress {run.label}", lambda: self._signs_of_life(run, changes, **how_far))

    # ---- Operators --------------------------------------------------------------------------------

    def _ended(self, run: Run, same: str) -> str:
        """A job that is not live: as asked, or otherwise."""
        past = self.finished(run.id)
        if past and past["state"] == same:
            return same
        raise Refused("55000" if past else "P0002")

    def _cancel(self, row: dict) -> str:
        if row["state"] != "running":
            self.move(row["id"], "cancelled", asked=True)
            return "cancelled"
        if row["cancel_requested_at"] is None:
            self.update(row["id"], "cancel_requested_at = clock_timestamp()")
        return "running"

    def cancel(self, run: Run) -> None:
        def work():
            row = self.live(run.id)
            return self._cancel(row) if row else self._ended(run, "cancelled")

        self._does(f"cancel {run.label}", work)

    def _discard(self, row: dict, error: str | None) -> str:
        if row["state"] == "running":
            raise Refused("55000")
        self.move(row["id"], "discarded", OF_NOBODY if error else KEPT, error=error)
        return "discarded"

    def discard(self, run: Run, error: str) -> None:
        def work():
            row = self.live(run.id)
            return self._discard(row, error) if row else self._ended(run, "discarded")

        self._does(f"discard {run.label}", work)

    def _make_available(self, id: int | None, **how) -> bool:
        return self.update(id, f"state = 'available', run_at = clock_timestamp(), {PLACE}", **how)

    def retry(self, run: Run) -> None:
        def work():
            row = self.live(run.id)
            if row and row["state"] == "running":
                raise Refused("55000")
            if row is None and self.finished(run.id) is None:
                raise Refused("P0002")
            if row is None:
                # A finished job is looked for among those that wait first. A table that takes no UPDATE refuses one of no row, too.
                self._make_available(run.id, passes_over=True)
                self.bring_back(run.id)
            elif row["state"] != "available":
                self._make_available(run.id)
            return "available"

        self._does(f"retry {run.label}", work)

    def reprioritize(self, run: Run, priority: int) -> None:
        def work():
            row = self.live(run.id)
            if row is None:
                raise Refused("55000" if self.finished(run.id) else "P0002")
            if row["priority"] == priority:
                return False
            self.update(run.id, "priority = %(priority)s", priority=priority)
            return True

        self._does(f"reprioritize {run.label}", work)

    def cancel_many(self, queue: str, kind: str) -> None:
        where = "queue = %s AND kind = %s AND (state <> 'running' OR cancel_requested_at IS NULL) ORDER BY id"
        self._does(f"cancel_many {queue} {kind}", lambda: len([self._cancel(row) for row in self.jobs_where(where, queue, kind)]))

    def discard_many(self, queue: str, kind: str) -> None:
        where = "queue = %s AND kind = %s AND state <> 'running' ORDER BY id"
        self._does(
            f"discard_many {queue} {kind}", lambda: len([self._discard(row, None) for row in self.jobs_where(where, queue, kind)])
        )

    def retry_many(self, queue: str) -> None:
        def work():
            waiting = self.jobs_where("queue = %s AND state = 'retryable' ORDER BY id", queue)
            finished = [row for row in self.rows(BROUGHT_BACK, queue) if row["state"] != "completed"]
            self._make_available(None, passes_over=True)
            for row in waiting:
                self._make_available(row["id"])
            for row in finished:
                self.bring_back(row["id"])
            return len(waiting) + len(finished)

        self._does(f"retry_many {queue}", work)

    def reroute(self, pattern: str) -> None:
        """By the only route there is."""

        def work():
            moved = self.jobs_where("kind = 'move' AND state <> 'running' AND queue <> 'elsewhere' ORDER BY id")
            changes = "queue = 'elsewhere', concurrency_key = concurrency_key"
            return len([row for row in moved if self.update(row["id"], changes, passes_over=True)])

        self._does(f"reroute {pattern}", work)

    def rescue(self) -> None:
        self._does("rescue", lambda: len([self._fail(row, "lease expired") for row in self.jobs_where(RESCUED)]))

    def promote(self) -> None:
        def work():
            return len([row for row in self.jobs_where(DUE) if self.update(row["id"], f"state = 'available', {PLACE}", True)])

        self._does("promote", work)
