"""One who goes through the script: notes what each step answered, and what the tables say at some points."""

import psycopg
from psycopg.rows import dict_row

EVERYTHING = (
    "SELECT 'job' AS relation, to_jsonb(j) AS row, clock_timestamp() AS at FROM turnstile.job AS j"
    " UNION ALL SELECT 'history', to_jsonb(h), clock_timestamp() FROM turnstile.job_history AS h"
)
# What a claim hands out, but for ids and times.
HANDED_OUT = "attempt queue kind payload priority tenant account session max_attempts metadata".split()


class Run:
    """A claimed job, or one that ran before the surroundings came."""

    def __init__(self, id: int, attempt: int, label: str):
        self.id, self.attempt, self.label = id, attempt, label


class Refused(Exception):
    """What a verb refuses where plain SQL would not: 09000, where a trigger has cancelled what was to be done."""

    def __init__(self, sqlstate: str):
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


class Actor:
    """What the ways have in common. `answers` has what each step said: a value, or the SQLSTATEs that it may end with."""

    def __init__(self, conn: psycopg.Connection, hooks: dict[str, list[str]]):
        self.conn = conn
        self.hooks = hooks
        self.answers: list[tuple[str, object]] = []
        self.looks: list[tuple[str, list[dict]]] = []
        self.step = ""
        # Runs by label, and those of the step, which may come to nothing.
        self.fresh: dict[str, Run] = {}
        self.jobs = {run.label: run for run in self._prior()}

    def _prior(self) -> list[Run]:
        rows = self.conn.execute(
            "SELECT id, attempt, payload ->> 'job' FROM turnstile.job"
            " UNION SELECT id, attempt, payload ->> 'job' FROM turnstile.job_history"
        )
        return [Run(*row) for row in rows.fetchall()]

    # ---- Steps ------------------------------------------------------------------------------------

    def begin(self, what: str) -> None:
        self.step = f"{len(self.answers) + 1:02} {what}"
        # For the users' triggers, which note it.
        self.conn.execute(f"SET surroundings.step = '{self.step}'")

    def answer(self, what: str, work):
        """Does one step, whatever comes of it; None after an error."""
        self.begin(what)
        self.fresh = {}
        try:
            value, said = self.attempt(work)
            self.jobs |= self.fresh
        except (psycopg.Error, Refused) as error:
            # There is nothing to go on with.
            assert not self.conn.broken, f"the server broke down at step {self.step}: {error}"
            value, said = None, self.refusal(error, work)
        self.answers.append((self.step, said))
        return value

    def attempt(self, work):
        raise NotImplementedError

    def refusal(self, error: Exception, work) -> frozenset[str]:
        """The SQLSTATEs that the step may be refused with."""
        return frozenset([error.sqlstate])

    def run_of(self, row: dict) -> Run:
        label = row["payload"]["job"]
        return self.fresh.setdefault(label, Run(row["id"], row["attempt"], label))

    def enqueued(self, label: str, id: int) -> str:
        """Under which label the job is known: another's, if that one holds the unique key."""
        for run in self.jobs.values():
            if run.id == id:
                return run.label
        return self.fresh.setdefault(label, Run(id, 0, label)).label

    def known(self, *labels: str) -> list[Run]:
        """Those of the jobs that could be added, and that users have left in their tables."""
        return [self.jobs[label] for label in labels if label in self.jobs]

    # ---- Of users ---------------------------------------------------------------------------------

    def by_hand(self, statement: str) -> None:
        """A statement of a user, the same in all ways."""
        self.begin("by hand")
        try:
            said: object = self.conn.execute(statement).rowcount
        except psycopg.Error as error:
            said = frozenset([error.sqlstate])
        self.answers.append((self.step, said))

    def pause(self, point: str) -> None:
        """A point of the script: users may do something of theirs, and the tables are looked at."""
        for statement in self.hooks.get(point, []):
            self.by_hand(statement)
        with self.conn.cursor(row_factory=dict_row) as cursor:
            self.looks.append((point, cursor.execute(EVERYTHING).fetchall()))

    def find_by_hand(self) -> None:
        """Learns of the jobs that were inserted without a call."""
        self.jobs = {run.label: run for run in self._prior()} | self.jobs


def handed_out(rows: list[dict]) -> list[dict]:
    return [{column: row[column] for column in HANDED_OUT} for row in rows]
