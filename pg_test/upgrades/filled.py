"""A database as users have it: what they have added to the extension's tables, and jobs in every state."""

from dataclasses import dataclass

from psycopg import sql
from psycopg.types.json import Jsonb

from support import rows
from support.calls import (
    Run, call, cancel, claim, claim_next, complete, discard, enqueue, enqueue_many, fail, retry, snooze,
)  # fmt: skip

# All names begin with my_, by which the comparison knows them.
_OWN = """
ALTER TABLE turnstile.job ADD COLUMN my_region text DEFAULT 'north';
ALTER TABLE turnstile.job_history ADD COLUMN my_region text;
COMMENT ON COLUMN turnstile.job.my_region IS 'Where we do it.';
CREATE INDEX my_regions ON turnstile.job (my_region) WHERE state = 'available';
CREATE INDEX my_kinds ON turnstile.job_history (kind);
CREATE FUNCTION public.my_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER my_note AFTER INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.my_note();
CREATE TRIGGER my_other_note AFTER INSERT ON turnstile.tenant FOR EACH STATEMENT EXECUTE FUNCTION public.my_note();
ALTER TABLE turnstile.tenant DISABLE TRIGGER my_other_note;
ALTER TABLE turnstile.job ADD CONSTRAINT my_kinds CHECK (kind <> 'forbidden');
ALTER TABLE turnstile.job SET (autovacuum_vacuum_cost_delay = 1);
ALTER TABLE turnstile.job ALTER COLUMN kind SET STATISTICS 500;
CREATE STATISTICS public.my_statistics ON kind, queue FROM turnstile.job;
CREATE POLICY my_policy ON turnstile.job_history USING (kind <> 'secret');
CREATE VIEW public.my_jobs AS SELECT id, kind, my_region FROM turnstile.job;
GRANT USAGE ON SCHEMA turnstile TO {role};
GRANT SELECT ON turnstile.jobs, turnstile.queues TO {role};
GRANT SELECT (id, kind), UPDATE (metadata) ON turnstile.job TO {role};
GRANT USAGE ON SEQUENCE turnstile.job_id_seq TO {role};
GRANT EXECUTE ON FUNCTION turnstile.check() TO {role} WITH GRANT OPTION;
GRANT SELECT ON turnstile.memory TO PUBLIC;
GRANT SELECT (lanes) ON turnstile.memory TO {role} WITH GRANT OPTION;
GRANT EXECUTE ON FUNCTION turnstile.version TO {role};
GRANT EXECUTE ON FUNCTION turnstile.enqueue, turnstile.claim_next, turnstile.complete, turnstile.set_queue TO {role};
GRANT EXECUTE ON PROCEDURE turnstile.wait_for_job TO {role};
"""
# From 0.2.0 on the view queues needs it.
_OF_FIGURES = "GRANT EXECUTE ON FUNCTION turnstile_internal.figures(text) TO {role}"
_SETTINGS = """
SELECT turnstile.set_queue('*', lease => '10 minutes');
SELECT turnstile.set_queue('mail', max_running => 3, rate => 1000, policy => 'fair', keep_completed => '30 days');
SELECT turnstile.set_tenant('acme', slots => 5, weight => 3);
SELECT turnstile.set_account('acme', 'a', slots => 2);
SELECT turnstile.set_concurrency('c', slots => 2);
SELECT turnstile.set_route('letter', 'mail', priority_offset => 2);
SELECT turnstile.pause_session('default', 'acme', 'paused', until => '2100-01-01');
SELECT turnstile.pause_tenant('idle');
INSERT INTO turnstile.tenant (name, slots, burst) VALUES ('*', 50, 900), ('all_null', NULL, NULL);
INSERT INTO turnstile.account (tenant, name, slots) VALUES ('*', '*', 60), ('acme', '*', NULL), ('globex', '*', 5);
INSERT INTO turnstile.concurrency (key, slots) VALUES ('*', 70), ('all_null', NULL);
INSERT INTO turnstile.permission (role, verb, queue, tenant) VALUES ('pg_monitor', 'see', '*', 'acme'), ('pg_monitor', 'work', 'mail', '*');
"""
_RECURRING = "INSERT INTO turnstile.recurring (name, cron, kind, metadata, next_firing) VALUES ('nightly', '0 3 * * *', 'report', %s, '2100-01-01 03:00Z')"
_TABLES = """
SELECT oid::regclass::text FROM pg_class JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = oid AND deptype = 'e'
WHERE relkind IN ('r', 'p') AND NOT relispartition
"""


def add_own(conn, role: str) -> None:
    conn.execute(sql.SQL(_OWN).format(role=sql.SQL(role)))
    if conn.execute("SELECT to_regprocedure('turnstile_internal.figures(text)')").fetchone()[0]:
        conn.execute(sql.SQL(_OF_FIGURES).format(role=sql.SQL(role)))


@dataclass(frozen=True)
class Filling:
    """The jobs, and the runs of those that run."""

    live: set[int]
    finished: dict[int, str]
    runs: list[Run]


def fill(conn) -> Filling:
    """Jobs in every state, keys and sessions that are held, settings, routes, a recurring job."""
    conn.execute(_SETTINGS)
    conn.execute(_RECURRING, [Jsonb({"from": "settings"})])
    finished = _finished(conn)
    runs = _runs(conn)
    _waiting(conn)
    states = dict(conn.execute("SELECT id, state::text FROM turnstile.job").fetchall())
    assert set(states.values()) == {"available", "scheduled", "running", "retryable"}
    assert {run.id for run in runs} == {job for job, state in states.items() if state == "running"}
    return Filling(set(states), finished, runs)


def _finished(conn) -> dict[int, str]:
    done = enqueue(conn, payload={"n": 1}, tenant="acme", unique_key="window", unique_for="1 day")
    complete(conn, claim_next(conn), result={"sum": 3})
    given_up = enqueue(conn)
    discard(conn, claim_next(conn))
    cancelled = enqueue(conn)
    cancel(conn, cancelled)
    return {done: "completed", given_up: "discarded", cancelled: "cancelled"}


def _runs(conn) -> list[Run]:
    enqueue(conn, session="s", tenant="acme", account="a", unique_key="held", unique_mode="until_executed")
    enqueue(conn, concurrency_key="c", metadata={"m": 1})
    enqueue(conn, kind="letter", priority=-3)
    claimed = [*claim(conn, ["default"], 2), claim_next(conn, "mail")]
    call(conn, "progress", job_id=claimed[1].id, attempt=claimed[1].attempt, done=1, total=10, message="begun")
    call(conn, "cancel", job_id=claimed[2].id)
    return [Run(run.id, run.attempt) for run in claimed]


def _waiting(conn) -> None:
    enqueue(conn, session="retried", tenant="other")
    fail(conn, claim_next(conn), error="once", retry_in="1 hour")
    enqueue(conn)
    snooze(conn, claim_next(conn), "1 hour")
    enqueue(conn, run_at="2100-01-01", unique_key="later", unique_mode="replace")
    for session in ("s", "paused", "retried"):
        enqueue(conn, session=session, tenant="other" if session == "retried" else "acme")
    enqueue(conn, tenant="idle")
    enqueue_many(conn, [{"kind": "many", "priority": n, "account": "a", "tenant": "acme"} for n in range(10)])
    conn.execute("INSERT INTO turnstile.job (kind, lane, my_region) VALUES ('by hand', 0, 'south')")


def contents(conn) -> dict[str, list[dict]]:
    """The rows of all tables of the extension."""
    tables = [table for (table,) in conn.execute(_TABLES).fetchall()]
    return {
        table: [row for (row,) in conn.execute(f"SELECT to_jsonb(t) FROM {table} AS t ORDER BY to_jsonb(t)::text").fetchall()]
        for table in sorted(tables)
    }


_MODES = """
SELECT tgname::text, CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE' END
FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal
"""
_COLUMNS = """
SELECT string_agg(quote_ident(attname), ', '), string_agg(
    CASE WHEN attnotnull AND adbin IS NOT NULL THEN format('coalesce(%%I, %%s)', attname, pg_get_expr(adbin, adrelid)) ELSE quote_ident(attname) END, ', '
)
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""


def copy_rows(source, conn) -> None:
    """For a catalog that the library does not serve: gives it what another has, past the triggers."""
    tables = contents(conn)
    for table, copied in contents(source).items():
        if table in tables:
            modes = conn.execute(_MODES, [table]).fetchall()
            # What is inherited where it is NULL was filled in before 0.2.0.
            columns, values = conn.execute(_COLUMNS, [table]).fetchone()
            conn.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER; DELETE FROM {table}")
            into = f"INSERT INTO {table} ({columns}) SELECT {values} FROM jsonb_populate_recordset(NULL::{table}, %s)"
            conn.execute(into, [Jsonb(copied)])
            for trigger, mode in modes:
                conn.execute(f"ALTER TABLE {table} {mode} TRIGGER {trigger}")
    for sequence in ("job_id_seq", "job_position_seq"):
        (last,) = source.execute(f"SELECT last_value FROM turnstile.{sequence}").fetchone()
        conn.execute(f"SELECT setval('turnstile.{sequence}', {last})")


# Columns that a release has dropped because they were made of others.
DERIVED = {"cron_entry"}


def idle(table: str, row: dict) -> set[str]:
    """Columns that mean nothing without another one, which 0.2.0 refuses."""
    needs = {"unique_mode": "unique_key", "account": "tenant"} if table == "turnstile.recurring" else {}
    return {column for column, needed in needs.items() if row[needed] is None}


def lost(before: dict[str, list[dict]], after: dict[str, list[dict]]) -> list[str]:
    """Rows that are gone or have another value. What an upgrade adds does not count."""
    found = []
    for table, old in before.items():
        new = after.get(table, [])
        old = [{name: value for name, value in row.items() if name not in DERIVED | idle(table, row)} for row in old]
        found += [f"{table}: {row}" for row in old if not any(row.items() <= other.items() for other in new)]
        found += [f"{table} has {len(new)} rows"] * (table in ("turnstile.job", "turnstile.job_history") and len(new) != len(old))
    return found


_SETTINGS_OF = {"queue": ["name"], "tenant": ["name"], "account": ["tenant", "name"], "concurrency": ["key"]}


def unlike(before: dict[str, list[dict]], conn) -> list[str]:
    """Takes out the settings, and names those that do not mean what they meant before 0.2.0: a row held as a whole, and NULL was no limit."""
    found = []
    for table, key in _SETTINGS_OF.items():
        rows = [row for (row,) in conn.execute(f"SELECT to_jsonb(t) FROM turnstile.{table}_in_force AS t").fetchall()]
        force = {tuple(row[name] for name in key): row for row in rows}
        for old in before.pop(f"turnstile.{table}"):
            new = force.get(tuple(old[name] for name in key), {})
            meant = old | ({"burst": old["burst"] or 1})
            found += [f"{table}: {old} is {new} now"] * (not meant.items() <= new.items())
    return found


def work_off(conn, filling: Filling) -> None:
    """All that lives runs once more and completes; nothing else does."""
    assert enqueue(conn, unique_key="held", unique_mode="until_executed", tenant="acme") == filling.runs[0].id
    conn.execute("DELETE FROM turnstile.paused_session; SELECT turnstile.resume_tenant('idle')")
    completed = {run.id for run in filling.runs if complete(conn, run)}
    assert len(completed) == len(filling.runs)
    for (job_id,) in conn.execute("SELECT id FROM turnstile.job WHERE state IN ('scheduled', 'retryable')").fetchall():
        assert retry(conn, job_id) == "available"
    while runs := claim(conn, ["*"], 4):
        for run in runs:
            assert run.id not in completed
            completed.add(run.id)
            assert complete(conn, run) is True
    assert completed == filling.live
    assert {job: rows.state(conn, job) for job in filling.finished} == filling.finished
