"""Single rows by plain SQL: a job that is added, changed, moved to history or brought back.

What is said of users' columns is said here: no statement names one, but that a column of one name and type in both tables goes
along to history and back.
"""

import psycopg
from psycopg.rows import dict_row

from actor import Actor, Refused

JOB = (
    "id lane lane_group position priority run_at lease_expires_at state holds_session queue tenant account session concurrency_key unique_key"
    " unique_mode kind attempt max_attempts uncounted payload worker owner_pid owner_started_at claimed_at cancel_requested_at"
    " progress errors metadata unique_until created_at lease first_started_at waited"
).split()
BROUGHT_BACK = (
    "id priority queue tenant account session concurrency_key unique_key unique_mode kind attempt max_attempts uncounted payload"
    " errors metadata unique_until created_at first_started_at waited"
).split()
# Of a run that is the first, and of the wait before a run.
FIRST_STARTED_AT = "coalesce(first_started_at, CASE WHEN attempt = 1 THEN claimed_at END)"
WAITED = "CASE WHEN claimed_at IS NULL THEN waited ELSE coalesce(waited, '0') + greatest(claimed_at - run_at, '0') END"
AS_BROUGHT_BACK = {"uncounted": "attempt", "first_started_at": FIRST_STARTED_AT, "waited": WAITED}

SHARED = """
    SELECT own.attname, own.attgenerated, past.attgenerated
    FROM pg_attribute AS own
    JOIN pg_attribute AS past ON (past.attname, past.atttypid) = (own.attname, own.atttypid)
    WHERE own.attrelid = 'turnstile.job'::regclass AND past.attrelid = 'turnstile.job_history'::regclass
        AND own.attnum > 0 AND past.attnum > 0 AND NOT own.attname = ANY (%s)
    ORDER BY 1
"""

KEPT = "errors"
FAILED = (
    "coalesce(errors, '[]') || jsonb_build_object('attempt', attempt, 'at', clock_timestamp(), 'worker', {worker},"
    " 'error', %(error)s::text)"
)
OF_A_RUN = FAILED.format(worker="worker")
OF_NOBODY = FAILED.format(worker="NULL")


class PlainRows(Actor):
    """`changed` has (step, table, operation) of what was really done to rows."""

    def __init__(self, conn, hooks, owner: str | None):
        super().__init__(conn, hooks)
        self.owner = owner
        self.changed: set[tuple[str, str, str]] = set()
        self.refusals: set[str] | None = None
        (self.settings,) = self.rows("SELECT max_attempts, lease::text, retry_base::text FROM turnstile.queue_in_force")
        # Of another start the background worker takes a bound run from its owner, who is gone.
        (self.backend_start,) = conn.execute("SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()").fetchone()
        shared = conn.execute(SHARED, [JOB]).fetchall()
        self.to_history = [name for name, _, computed in shared if not computed]
        self.to_job = [name for name, computed, _ in shared if not computed]

    # ---- Steps ------------------------------------------------------------------------------------

    def attempt(self, work):
        with self.conn.transaction():
            self._become_owner()
            return work()

    def _become_owner(self) -> None:
        if self.owner:
            self.conn.execute(f"SET LOCAL ROLE {self.owner}")

    def refusal(self, error, work) -> frozenset[str]:
        """A verb may change its rows in another order, and so meet another refusal first. So the step is done again to the end,
        whatever is refused, and undone."""
        self.refusals = set(super().refusal(error, work))
        with self.conn.transaction(force_rollback=True):
            self._become_owner()
            try:
                work()
                self._collect(lambda: self.conn.execute("SET CONSTRAINTS ALL IMMEDIATE"))
            except Refused as other:
                self.refusals.add(other.sqlstate)
        refusals, self.refusals = self.refusals, None
        return frozenset(refusals)

    def _collect(self, work) -> None:
        try:
            with self.conn.transaction():
                work()
        except (psycopg.Error, Refused) as error:
            self.refusals.add(error.sqlstate)

    # ---- Statements -------------------------------------------------------------------------------

    def change(self, table: str, operation: str, rest: str, passes_over: bool = False, **values) -> bool:
        """Changes one row. Where a trigger has cancelled that, the verb must not say that it was done; one that takes what it can
        get passes over the job."""
        done = True

        def work():
            nonlocal done
            words = {"INSERT": "INSERT INTO", "UPDATE": "UPDATE", "DELETE": "DELETE FROM"}
            done = self.conn.execute(f"{words[operation]} turnstile.{table} {rest}", values).rowcount > 0
            if not done and not passes_over:
                raise Refused("09000")

        if self.refusals is not None:
            self._collect(work)
            return True
        work()
        if done:
            self.changed.add((self.step, table, operation))
        return done

    def rows(self, query: str, *values) -> list[dict]:
        with self.conn.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, values).fetchall()

    def jobs_where(self, condition: str, *values) -> list[dict]:
        return self.rows(f"SELECT {', '.join(JOB)} FROM turnstile.job WHERE {condition}", *values)

    def live(self, id: int) -> dict | None:
        return next(iter(self.jobs_where("id = %s", id)), None)

    def finished(self, id: int) -> dict | None:
        query = "SELECT id, state, attempt, queue FROM turnstile.job_history WHERE id = %s ORDER BY finished_at DESC LIMIT 1"
        return next(iter(self.rows(query, id)), None)

    def setting(self, column: str):
        """Of all queues: none has a row of its own."""
        return self.settings[column]

    # ---- Rows -------------------------------------------------------------------------------------

    def insert(self, **columns) -> int:
        (row,) = self.rows(
            "SELECT nextval('turnstile.job_id_seq') AS id, nextval('turnstile.job_position_seq') AS position,"
            " clock_timestamp() AS created_at"
        )
        row |= {"state": "available", "holds_session": False, "attempt": 0, "uncounted": 0, "run_at": row["created_at"]}
        row |= dict.fromkeys(["tenant", "account", "session", "concurrency_key", "metadata"]) | columns
        self.change("job", "INSERT", f"({', '.join(row)}) VALUES ({', '.join(f'%({name})s' for name in row)})", **row)
        return row["id"]

    def update(self, id: int, assignments: str, passes_over: bool = False, **values) -> bool:
        return self.change("job", "UPDATE", f"SET {assignments} WHERE id = %(id)s", passes_over, id=id, **values)

    def move(self, id: int, state: str, errors: str = KEPT, asked: bool = False, **values) -> None:
        """Ends a job. `errors`: as an expression; `asked`: this is its cancellation."""
        given = {"state": "%(state)s", "errors": errors}
        if asked:
            given["cancel_requested_at"] = "clock_timestamp()"
        columns = [*JOB, *self.to_history]
        expressions = [given.get(name, name) for name in columns]
        values = {"result": None, "error": None} | values
        self.change(
            "job_history",
            "INSERT",
            f"({', '.join(columns)}, finished_at, result)"
            f" SELECT {', '.join(expressions)}, clock_timestamp(), %(result)s FROM turnstile.job WHERE id = %(id)s",
            id=id,
            state=state,
            **values,
        )
        self.change("job", "DELETE", "WHERE id = %(id)s", id=id)

    def bring_back(self, id: int) -> None:
        columns = [*BROUGHT_BACK, *self.to_job]
        expressions = [AS_BROUGHT_BACK.get(name, name) for name in columns]
        self.change(
            "job",
            "INSERT",
            f"({', '.join(columns)}) SELECT {', '.join(expressions)} FROM turnstile.job_history"
            " WHERE id = %(id)s ORDER BY finished_at DESC LIMIT 1",
            id=id,
        )
