"""What goes on beside the workers: changes of the tables' definitions and of how they are stored, one after the other."""

import random
import time
from collections import Counter

import psycopg

from support.crew import Progress

# A user's triggers. One does nothing, one catches an error of its own each time, one asks a function of the extension.
SETUP = """
    CREATE FUNCTION public.pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$;
    CREATE FUNCTION public.stumble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END; RETURN coalesce(NEW, OLD); END $$;
"""
TRIGGERS = {
    "a_pass": "BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.pass()",
    "a_stumble": "BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.stumble()",
    "z_stumble": "AFTER INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.stumble()",
}
INDEXES = ["job_pkey", "job_claim_idx", "job_due_idx", "job_owner_idx"]

# What one who changes definitions beside others has to expect.
ALLOWED = {
    "40P01": "a deadlock with a transaction that has locks on the table and wants another",
    "55P03": "its lock_timeout",
}
# A table has 1,600 columns at most, those that were dropped too.
MOST_COLUMNS = 1000


class Weather:
    """Changes in random order, each committed by itself, until the time is over."""

    def __init__(self, conn, seed: int, progress: Progress, patience: str):
        self.conn, self.progress = conn, progress
        self.chance = random.Random(seed)
        self.done, self.errors = Counter(), Counter()
        self.made = 0
        self.columns: list[str] = []
        self.triggers: set[str] = set()
        self.has_index = self.has_check = False
        conn.execute(SETUP)
        # Then it lets others go first rather than hold them all up behind it.
        conn.execute(f"SET lock_timeout = '{patience}'")

    def __call__(self) -> None:
        changes = [
            self.fillfactor, self.add_column, self.drop_column, self.trigger, self.reindex_table, self.reindex_index,
            self.reindex_history, self.vacuum_full, self.cluster, self.truncate_and_undo, self.index, self.analyze, self.check,
        ]  # fmt: skip
        while self.progress.going:
            change = self.chance.choice(changes)
            try:
                change()
                self.done[change.__name__] += 1
            except psycopg.Error as error:
                self.after(error)
            time.sleep(self.chance.random() * 0.05)

    def after(self, error: psycopg.Error) -> None:
        assert error.sqlstate in ALLOWED, f"DDL: {error.sqlstate}: {error}"
        self.errors[error.sqlstate] += 1
        self.conn.execute("ROLLBACK")
        # A build that was given up leaves an index that is not valid.
        left = self.conn.execute(
            "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
            " WHERE NOT indisvalid AND relname ~ '_ccnew[0-9]*$'"
        ).fetchall()
        for (index,) in left:
            try:
                self.conn.execute(f"DROP INDEX {index}")
            except psycopg.errors.LockNotAvailable:
                self.errors["55P03"] += 1

    def fillfactor(self) -> None:
        self.conn.execute(f"ALTER TABLE turnstile.job SET (fillfactor = {self.chance.randint(30, 100)})")

    def add_column(self) -> None:
        if self.made < MOST_COLUMNS and len(self.columns) < 20:
            self.made += 1
            name = f"own{self.made}"
            kind = self.chance.choice(["uuid NOT NULL DEFAULT gen_random_uuid()", "int NOT NULL DEFAULT 7", "text", "float DEFAULT random()"])
            self.conn.execute(f"ALTER TABLE turnstile.job ADD COLUMN {name} {kind}")
            self.columns.append(name)

    def drop_column(self) -> None:
        if self.columns:
            name = self.chance.choice(self.columns)
            self.conn.execute(f"ALTER TABLE turnstile.job DROP COLUMN {name}")
            self.columns.remove(name)

    def trigger(self) -> None:
        name = self.chance.choice(list(TRIGGERS))
        if name in self.triggers:
            self.conn.execute(f"DROP TRIGGER {name} ON turnstile.job")
        else:
            self.conn.execute(f"CREATE TRIGGER {name} {TRIGGERS[name]}")
        self.triggers ^= {name}

    def reindex_table(self) -> None:
        self.conn.execute("REINDEX TABLE CONCURRENTLY turnstile.job")

    def reindex_index(self) -> None:
        self.conn.execute(f"REINDEX INDEX CONCURRENTLY turnstile.{self.chance.choice(INDEXES)}")

    def reindex_history(self) -> None:
        self.conn.execute("REINDEX TABLE CONCURRENTLY turnstile.job_history")

    def vacuum_full(self) -> None:
        self.conn.execute("VACUUM FULL turnstile.job")

    def cluster(self) -> None:
        self.conn.execute("CLUSTER turnstile.job USING job_pkey")

    def truncate_and_undo(self) -> None:
        self.conn.execute("BEGIN; TRUNCATE turnstile.job")
        # Its own calls look at the empty table.
        if self.chance.random() < 0.5:
            self.conn.execute(self.chance.choice(["SELECT turnstile.rebuild()", "SELECT turnstile.claim_next('q1')"]))
        self.conn.execute("ROLLBACK")

    def index(self) -> None:
        self.conn.execute("DROP INDEX turnstile.own_idx" if self.has_index else "CREATE INDEX own_idx ON turnstile.job (kind, state)")
        self.has_index = not self.has_index

    def analyze(self) -> None:
        self.conn.execute("ANALYZE turnstile.job")

    def check(self) -> None:
        change = "DROP CONSTRAINT own_check" if self.has_check else "ADD CONSTRAINT own_check CHECK (attempt >= 0)"
        self.conn.execute(f"ALTER TABLE turnstile.job {change}")
        self.has_check = not self.has_check
