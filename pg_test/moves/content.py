"""A database with all that a move must bring along, what it says of itself, and the proof that it goes on where it was."""

from dataclasses import dataclass, field

import psycopg

from faults.mixture import admits_what_may_run, fill
from faults.witness import agrees
from support import rows
from support.batches import awaited, children_of, claim_awaited, enqueue_batch, nothing_comes, of
from support.calls import Run, call, cancel, claim_next, complete, discard, enqueue, fail
from support.node import await_true

# Columns of users' own: a dump carries those of the history only (docs/operations.md), pg_upgrade all.
OWN_COLUMNS = "ALTER TABLE turnstile.job ADD COLUMN note text DEFAULT 'none'"
OWN_COLUMNS_OF_HISTORY = "ALTER TABLE turnstile.job_history ADD COLUMN note text"
OWN_REST = "CREATE INDEX own_idx ON turnstile.job (note); GRANT SELECT ON turnstile.job TO mover"
OWN_TABLE = "CREATE TABLE public.note_of_job (job_id bigint, note text)"

TABLES = """
    SELECT oid::regclass::text FROM pg_class
     WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND relname NOT IN ('history_pass', 'maintain_task')
     ORDER BY 1
"""
# The rights of the owner are listed otherwise by each version.
RIGHTS = """
    SELECT 'column ' || attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod)
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
     WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p', 'v') AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'turnstile'
    UNION ALL SELECT 'table ' || pg_class.oid::regclass || ' ' || grantee::regrole || ' ' || privilege_type
      FROM pg_class, aclexplode(relacl) WHERE relnamespace = 'turnstile'::regnamespace AND grantee NOT IN (0, relowner)
    UNION ALL SELECT 'function ' || pg_proc.oid::regprocedure || ' ' || grantee::regrole || ' ' || privilege_type
      FROM pg_proc, aclexplode(proacl) WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND grantee NOT IN (0, proowner)
    UNION ALL SELECT 'trigger ' || tgrelid::regclass || ' ' || tgname || ' ' || tgenabled::text
      FROM pg_trigger WHERE NOT tgisinternal
"""


@dataclass
class Content:
    slots: dict[str, int]
    made: list[int]
    runs: list[Run]
    bound: int
    held: list[int]
    keys: list[tuple[dict, int | None]]
    extra: list[int] = field(default_factory=list)


# A minor release of 15 gives each column an option that no other version knows, and writes it into dumps.
STRANGE_OPTIONS = r"""
    UPDATE pg_attribute
       SET attoptions = nullif(ARRAY(SELECT each FROM unnest(attoptions) AS each WHERE each NOT LIKE 'pg\_attver=%'), '{}')
     WHERE attoptions IS NOT NULL
"""


def forget_strange_options(conn) -> None:
    conn.execute(STRANGE_OPTIONS)


def make_role(conn) -> None:
    conn.execute("CREATE ROLE mover")


def make(conn, seed: int) -> Content:
    """Jobs in every state, keys that are held, runs, a session that is held, settings, rights, and what is a user's own."""
    make_role(conn)
    for statement in (OWN_COLUMNS, OWN_COLUMNS_OF_HISTORY, OWN_REST, OWN_TABLE):
        conn.execute(statement)
    slots, made = fill(conn, seed)
    call(conn, "allow_worker", role="mover", queues=["kept"])
    conn.execute("INSERT INTO turnstile.paused_session (queue, session) VALUES ('kept', 'paused')")
    conn.execute("INSERT INTO turnstile.route (pattern, queue) VALUES ('letter*', 'kept')")
    call(conn, "set_endpoint", pattern="web*", url="https://API.example:8443/{payload.a}", headers={"a": "b"}, timeout="1 minute", paused=True)
    call(conn, "set_retry_curve", kind="web*", error_class="http.429", base="1 minute", discard=False)
    call(conn, "set_endpoint", pattern="sent*", url="http://b.example", secret="env:TURNSTILE_SECRET_A", permanent_status=[404])
    call(conn, "pause_concurrency", key="host:b.example")
    conn.execute("INSERT INTO turnstile.recurring (name, cron, kind, next_firing) VALUES ('nightly', '0 3 * * *', 'work', '2100-01-01 03:00Z')")
    conn.execute("UPDATE turnstile.queue SET keep_completed = '-1' WHERE name = '*'")
    extra = [enqueue(conn, queue="kept", payload={"nth": nth}) for nth in range(3)]
    runs = [call(conn, "claim_next", queue="kept", lease="1 day")[0] for _ in range(3)]
    conn.execute("UPDATE turnstile.job SET note = 'mine' WHERE id = ANY (%s)", [extra])
    conn.execute("INSERT INTO turnstile.queue (name, retry_base, retry_cap) VALUES ('bound', '1 day', '1 day')")
    bound = enqueue(conn, queue="bound")
    call(conn, "claim_next", queue="bound", bind_to_connection=True)
    held = [enqueue(conn, queue="held", session="s") for _ in range(2)]
    fail(conn, claim_next(conn, "held"), retry_in="1 day")
    ended = [enqueue(conn, queue="ended") for _ in range(2)]
    discard(conn, claim_next(conn, "ended"))
    cancel(conn, ended[1])
    paused = enqueue(conn, queue="kept", session="paused")
    parent = enqueue_batch(conn, "all", of(2), slots=1, queue="batch")
    batch = [parent, *children_of(conn, parent), enqueue(conn, "then", queue="batch", after=[parent])]
    awaited(conn, "SELECT bool_and(is_told) FROM turnstile.dependency", True)
    modes = [{}, {"unique_mode": "until_expired", "unique_for": "1 day"}, {"unique_mode": "until_and_while_executing"}]
    keys = [{"queue": "keys", "unique_key": f"k{nth}", "tenant": "t"} | mode for nth, mode in enumerate(modes)]
    holders = [enqueue(conn, **key) for key in keys]
    # The last one runs, so that its key may be taken by another job.
    claimed = [claim_next(conn, "keys") for _ in keys]
    assert [run.id for run in claimed] == holders
    complete(conn, claimed[1])
    kept = [(keys[0], holders[0]), (keys[1], holders[1]), (keys[2], None)]
    runs = [Run(run.id, run.attempt) for run in [*runs, claimed[0], claimed[2]]]
    return Content(slots, made, runs, bound, held, kept, [*extra, bound, *held, *ended, paused, *batch, *holders])


def said(conn) -> dict[str, list]:
    """All rows, sequences, rights and objects, as text."""
    everything = {"objects": sorted(row[0] for row in conn.execute(RIGHTS))}
    for (table,) in conn.execute(TABLES).fetchall():
        everything[table] = sorted(row[0] for row in conn.execute(f"SELECT each::text FROM {table} AS each"))
    everything["sequences"] = conn.execute(
        "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'turnstile' ORDER BY 1"
    ).fetchall()
    return everything


def settle(conn, content: Content) -> None:
    """Memory is made, and the run whose connection is gone has been failed."""
    agrees(conn)
    await_true(lambda: rows.live(conn, content.bound).errors is not None, "the connection is known to be gone")


def endpoints_go_on(conn) -> None:
    """Endpoints apply, and what was paused is paused."""
    for kind, key in (("web", "host:api.example:8443"), ("sent", "host:b.example")):
        job = call(conn, "enqueue", kind=kind, queue="endpoints")[0][0]
        assert rows.live(conn, job).concurrency_key == key
        assert claim_next(conn, "endpoints") is None
    conn.execute("DELETE FROM turnstile.job WHERE queue = 'endpoints'")


def batches_go_on(conn) -> None:
    """Children share the limit of their batch, the parent waits for them, and another job for the parent."""
    for kind in ("child", "child", "all", "then"):
        run = claim_awaited(conn, "batch")
        assert run.kind == kind
        nothing_comes(conn, "batch")
        assert complete(conn, run) is True


def goes_on(conn, content: Content) -> None:
    """Runs end, keys and sessions are held, rights count, ids go on, and all jobs run in their order, each once."""
    settle(conn, content)
    assert rows.live(conn, content.bound).errors[-1]["error"] == "connection lost"
    assert claim_next(conn, "held") is None, "the session is held by the job that failed"
    assert claim_next(conn, "kept") is None, "the session is paused"
    made = list(content.made) + list(content.extra)
    for key, holder in content.keys:
        again = enqueue(conn, **key)
        assert holder is None or again == holder
        if holder is None:
            assert again > max(made)
            assert claim_next(conn, "keys") is None, "the holder of its key runs"
            made.append(again)
    for run in content.runs:
        assert complete(conn, run) is True
    conn.execute("SET ROLE mover")
    assert claim_next(conn, "kept") is None
    try:
        claim_next(conn, "held")
        raise AssertionError("the role may not work there")
    except psycopg.errors.InsufficientPrivilege:
        conn.execute("RESET ROLE")
    assert rows.live(conn, call(conn, "enqueue", kind="letters")[0][0]).queue == "kept"
    conn.execute("DELETE FROM turnstile.job WHERE kind = 'letters'; DELETE FROM turnstile.paused_session")
    endpoints_go_on(conn)
    batches_go_on(conn)
    last = conn.execute("SELECT max(id), max(position) FROM turnstile.job").fetchone()
    new = enqueue(conn, queue="kept")
    assert new > last[0]
    assert rows.live(conn, new).position > last[1], "new jobs queue behind the others"
    made.append(new)
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE queue IN ('held', 'bound')")
    for queue, number in (("held", 2), ("bound", 1), ("kept", 2), ("keys", 1)):
        for _ in range(number):
            assert complete(conn, claim_next(conn, queue)) is True, queue
    admits_what_may_run(conn, content.slots, made)
