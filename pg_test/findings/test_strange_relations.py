"""Other relations where the extension's own are expected: what can be done is done, the rest is a clean error."""

import contextlib

import psycopg
import pytest

from faults.witness import is_sound
from findings.verbs import ENDS, VERBS
from support import naive, rows
from support.calls import (
    call, claim, claim_next, complete, complete_and_claim_next, complete_many, discard, enqueue, enqueue_many, enqueue_times, ids,
)  # fmt: skip
from support.modules import need_module
from support.settings import configure

# No such relation, no such column, not the kind of relation that is needed, not in a state for it.
CLEAN = {"42P01", "42703", "42809", "55000"}

TODAY = "SELECT partition::text, begins::text, ends::text FROM turnstile.history_partition WHERE now() >= begins AND now() < ends"


def _outcome(conn, work) -> str:
    """The SQLSTATE of the error in which it ends, or none; nothing of it stays."""
    conn.execute("BEGIN; SAVEPOINT trial")
    try:
        work(conn)
        return ""
    except psycopg.Error as error:
        assert error.sqlstate, f"the connection is lost: {error}"
        return error.sqlstate
    finally:
        conn.execute("ROLLBACK")


# ---- Partitions of the history that are elsewhere ------------------------------------------------------


def _make_today_foreign(conn, make: str) -> str:
    today, begins, ends = conn.execute(TODAY).fetchone()
    conn.execute(f"DROP TABLE {today}")
    conn.execute(f"CREATE FOREIGN TABLE public.today PARTITION OF turnstile.job_history FOR VALUES FROM ('{begins}') TO ('{ends}') {make}")


def _loopback(conn) -> None:
    need_module(conn, "postgres_fdw")
    conn.execute("CREATE TABLE public.remote (LIKE turnstile.job_history)")
    host, port = conn.info.host, conn.info.port
    conn.execute(
        "CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw"
        f" OPTIONS (host '{host}', port '{port}', dbname '{conn.info.dbname}')"
    )
    conn.execute("CREATE USER MAPPING FOR CURRENT_USER SERVER loopback OPTIONS (password_required 'false')")
    _make_today_foreign(conn, "SERVER loopback OPTIONS (schema_name 'public', table_name 'remote')")


def _file(conn) -> None:
    need_module(conn, "file_fdw")
    conn.execute("CREATE SERVER files FOREIGN DATA WRAPPER file_fdw")
    _make_today_foreign(conn, "SERVER files OPTIONS (filename '/dev/null')")


def _without_handler(conn) -> None:
    conn.execute("CREATE FOREIGN DATA WRAPPER none; CREATE SERVER nowhere FOREIGN DATA WRAPPER none")
    _make_today_foreign(conn, "SERVER nowhere")


def _columns(conn) -> list[str]:
    """Of the jobs, those that the history has."""
    query = """
        SELECT attname::text FROM pg_attribute
         WHERE attrelid IN ('turnstile.job'::regclass, 'turnstile.job_history'::regclass) AND attnum > 0 AND NOT attisdropped
         GROUP BY attname HAVING count(*) = 2
    """
    return [name for (name,) in conn.execute(query).fetchall()]


FINISHES = {
    "complete": lambda conn, runs: complete(conn, runs[0]),
    "complete_many": complete_many,
    "complete_and_claim_next": lambda conn, runs: complete_and_claim_next(conn, runs[0]),
    "discard": lambda conn, runs: discard(conn, runs[0]),
}
PLAIN_END = """
    WITH gone AS (DELETE FROM turnstile.job WHERE state = 'running' RETURNING *)
    INSERT INTO turnstile.job_history ({columns}, finished_at) SELECT {columns}, clock_timestamp() FROM gone"""


@pytest.mark.parametrize("partition", [_loopback, _file, _without_handler], ids=["postgres_fdw", "file_fdw", "no handler"])
@pytest.mark.parametrize("finish", FINISHES.values(), ids=FINISHES.keys())
def test_a_day_of_the_history_that_is_foreign_takes_what_an_insert_could_put_there(conn, other, finish, partition):
    enqueue_times(conn, 4)
    runs = claim(conn, ["default"], 2)
    # This session knows the day as it was.
    complete(conn, runs.pop())
    runs += claim(conn, ["default"], 1)
    partition(other)
    columns = ", ".join(_columns(conn))
    expected = _outcome(conn, lambda conn: conn.execute(PLAIN_END.format(columns=columns)))
    for session in (conn, other):
        assert _outcome(session, lambda conn: finish(conn, runs)) == expected
    if expected:
        assert other.execute("SELECT count(*) FROM turnstile.job WHERE state = 'running'").fetchone() == (2,)
        # It cannot be read either.
        other.execute("DROP FOREIGN TABLE public.today")
    else:
        finish(conn, runs)
        assert rows.finished(other, runs[0].id) is not None
        assert other.execute("SELECT count(*) FROM public.remote WHERE id = %s", [runs[0].id]).fetchone() == (1,)
    is_sound(other)


# ---- Other relations by the names of the tables --------------------------------------------------------

IN_PLACE = {
    "view": "CREATE VIEW turnstile.{0} AS SELECT * FROM turnstile.was_{0}",
    "plain table": "CREATE TABLE turnstile.{0} (LIKE turnstile.was_{0} INCLUDING DEFAULTS)",
    "table with other columns": "CREATE TABLE turnstile.{0} (id bigint, name text)",
    "partitioned table": "CREATE TABLE turnstile.{0} (LIKE turnstile.was_{0} INCLUDING DEFAULTS) PARTITION BY LIST (kind)",
    "foreign table": "CREATE FOREIGN DATA WRAPPER none; CREATE SERVER nowhere FOREIGN DATA WRAPPER none;"
    " CREATE FOREIGN TABLE turnstile.{0} (id bigint) SERVER nowhere",
    "materialized view": "CREATE MATERIALIZED VIEW turnstile.{0} AS SELECT * FROM turnstile.was_{0}",
    "sequence": "CREATE SEQUENCE turnstile.{0}",
    "nothing": "SELECT 1",
}
# Discarding runs plain SQL, which does with any relation what SQL does.
DIRECT = {name: finish for name, finish in FINISHES.items() if name != "discard"}
AT_JOBS = {
    "enqueue": lambda conn, runs: enqueue(conn),
    "enqueue with a key": lambda conn, runs: enqueue(conn, unique_key="k"),
    "enqueue_many": lambda conn, runs: enqueue_many(conn, [{"kind": "a"}, {"kind": "b"}]),
    "claim_next": lambda conn, runs: claim_next(conn),
    "claim": lambda conn, runs: claim(conn, ["default"], 2),
    "rebuild": lambda conn, runs: call(conn, "rebuild"),
    "check": lambda conn, runs: call(conn, "check"),
} | DIRECT


@contextlib.contextmanager
def _replaced(conn, table: str, make: str):
    conn.execute(f"ALTER TABLE turnstile.{table} RENAME TO was_{table}")
    conn.execute(make.format(table))
    yield
    (kind,) = conn.execute(
        "SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'f' THEN 'FOREIGN TABLE'"
        " WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END FROM pg_class WHERE oid = to_regclass(%s)",
        [f"turnstile.{table}"],
    ).fetchone() or (None,)
    if kind:
        conn.execute(f"DROP {kind} turnstile.{table}")
    conn.execute(f"ALTER TABLE turnstile.was_{table} RENAME TO {table}")


def _refused_cleanly(work) -> None:
    with pytest.raises(psycopg.Error) as caught:
        work()
    assert caught.value.sqlstate in CLEAN, f"{caught.value.sqlstate}: {caught.value}"


@pytest.mark.parametrize("make", IN_PLACE.values(), ids=IN_PLACE.keys())
@pytest.mark.parametrize("act", AT_JOBS.values(), ids=AT_JOBS.keys())
def test_something_else_in_place_of_the_jobs_is_refused(db, conn, other, act, make):
    enqueue_times(conn, 4)
    runs = claim(conn, ["default"], 2)
    before = rows.everything(other)
    with _replaced(other, "job", make):
        for session in (conn, db.connect()):
            _refused_cleanly(lambda session=session: act(session, runs))
    assert rows.everything(other) == before
    is_sound(other)
    assert len(claim(conn, ["default"], 5)) == 2
    is_sound(other)


@pytest.mark.parametrize("make", IN_PLACE.values(), ids=IN_PLACE.keys())
@pytest.mark.parametrize("finish", FINISHES.values(), ids=FINISHES.keys())
def test_something_else_in_place_of_the_history_is_refused_or_taken_as_an_insert_takes_it(db, conn, other, finish, make):
    enqueue_times(conn, 4)
    runs = claim(conn, ["default"], 2)
    before = rows.everything(other)
    with _replaced(other, "job_history", make):
        plain = _outcome(other, lambda conn: conn.execute(PLAIN_END))
        for session in (conn, db.connect()):
            outcome = _outcome(session, lambda conn: finish(conn, runs))
            assert outcome in CLEAN or outcome == plain, f"{outcome}, an INSERT: {plain}"
    assert rows.everything(other) == before
    is_sound(other)
    finish(conn, runs)
    assert rows.finished(other, runs[0].id) is not None
    is_sound(other)


OTHERS = sorted(VERBS.keys() - {"enqueue", "enqueue with a key", "claim_next", "claim"} - ENDS.keys())


@pytest.mark.parametrize("table", ["job", "job_history"])
@pytest.mark.parametrize("make", ["view", "plain table", "table with other columns", "nothing"])
@pytest.mark.parametrize("verb", OTHERS)
def test_no_call_meets_a_strange_relation_with_an_internal_error(conn, other, verb, make, table):
    """Those that run plain SQL may do with the relation what SQL does."""
    verb = VERBS[verb]
    subject = verb.prepare(conn)
    conn.execute("BEGIN")
    with _replaced(conn, table, IN_PLACE[make]):
        conn.execute("SAVEPOINT s")
        try:
            verb.call(conn, subject)
        except psycopg.Error as error:
            assert error.sqlstate and not error.sqlstate.startswith("XX"), f"{error.sqlstate}: {error}"
        conn.execute("ROLLBACK TO SAVEPOINT s")
    conn.execute("ROLLBACK")
    assert verb.call(conn, subject) == verb.answer
    assert call(other, "check") == []


# ---- Indexes -------------------------------------------------------------------------------------------


def _cancelled_build(conn, holder, lock: str) -> None:
    """The build waits for another transaction until it is cancelled: the index stays, and is not valid."""
    conn.execute("DROP INDEX turnstile.job_claim_idx")
    holder.execute(lock)
    conn.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        conn.execute("CREATE INDEX CONCURRENTLY job_claim_idx ON turnstile.job (lane_group, lane, position) WHERE waits_for IS NULL")
    conn.execute("SET statement_timeout = '120s'")
    holder.execute("ROLLBACK")
    assert conn.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'turnstile.job_claim_idx'::regclass").fetchone() == (False,)


def _failed_build(conn, holder) -> None:
    """A unique index that cannot be built over the rows that are there, and to which later ones get entries."""
    conn.execute("DROP INDEX turnstile.job_claim_idx")
    with pytest.raises(psycopg.errors.UniqueViolation):
        conn.execute("CREATE UNIQUE INDEX CONCURRENTLY job_claim_idx ON turnstile.job (lane) WHERE state = 'available' AND attempt = 0 AND id < 8")


def _other_index(definition: str):
    def make(conn, holder):
        conn.execute("DROP INDEX turnstile.job_claim_idx")
        conn.execute(definition)

    return make


def _marked_invalid(index: str):
    def make(conn, holder):
        conn.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [f"turnstile.{index}"])

    return make


CLAIM_INDEXES = {
    "none": lambda conn, holder: conn.execute("DROP INDEX turnstile.job_claim_idx"),
    "marked invalid": _marked_invalid("job_claim_idx"),
    "a build cancelled before it has entries": lambda conn, holder: _cancelled_build(
        conn, holder, "BEGIN; LOCK TABLE turnstile.job IN ROW EXCLUSIVE MODE"
    ),
    "a build cancelled at its end": lambda conn, holder: _cancelled_build(
        conn, holder, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM turnstile.job_history"
    ),
    "a build that has failed": _failed_build,
    "of another column": _other_index("CREATE INDEX job_claim_idx ON turnstile.job (kind)"),
    "without the group": _other_index("CREATE INDEX job_claim_idx ON turnstile.job (lane, position) WHERE waits_for IS NULL"),
    "of one column": _other_index("CREATE INDEX job_claim_idx ON turnstile.job (lane_group) WHERE waits_for IS NULL"),
    "in another order": _other_index("CREATE INDEX job_claim_idx ON turnstile.job (lane, lane_group, position) WHERE waits_for IS NULL"),
    "descending": _other_index("CREATE INDEX job_claim_idx ON turnstile.job (lane_group DESC, lane DESC, position DESC) WHERE waits_for IS NULL"),
    "of other rows": _other_index("CREATE INDEX job_claim_idx ON turnstile.job (lane_group, lane, position) WHERE state = 'running'"),
    "of fewer rows": _other_index("CREATE INDEX job_claim_idx ON turnstile.job (lane_group, lane, position) WHERE waits_for IS NULL AND priority < 0"),
    "hash": _other_index("CREATE INDEX job_claim_idx ON turnstile.job USING hash (lane)"),
    "brin": _other_index("CREATE INDEX job_claim_idx ON turnstile.job USING brin (lane_group, lane, position)"),
    "gin": _other_index("CREATE INDEX job_claim_idx ON turnstile.job USING gin (payload)"),
    "of an expression": _other_index("CREATE INDEX job_claim_idx ON turnstile.job ((lane_group + 0), lane, position) WHERE waits_for IS NULL"),
    "of another table": _other_index("CREATE INDEX job_claim_idx ON turnstile.job_history_default (lane_group, lane, position)"),
    "a table": _other_index("CREATE TABLE turnstile.job_claim_idx (lane_group bigint, lane bigint, position bigint)"),
    "key dropped": lambda conn, holder: conn.execute("ALTER TABLE turnstile.job DROP CONSTRAINT job_pkey"),
    "key marked invalid": _marked_invalid("job_pkey"),
    "key is another index": lambda conn, holder: conn.execute(
        "ALTER TABLE turnstile.job DROP CONSTRAINT job_pkey; CREATE INDEX job_pkey ON turnstile.job (kind)"
    ),
    "key on more columns": lambda conn, holder: conn.execute(
        "ALTER TABLE turnstile.job DROP CONSTRAINT job_pkey, ADD CONSTRAINT job_pkey PRIMARY KEY (kind, id)"
    ),
    "no index at all": lambda conn, holder: conn.execute(
        "ALTER TABLE turnstile.job DROP CONSTRAINT job_pkey;"
        " DROP INDEX turnstile.job_claim_idx, turnstile.job_due_idx, turnstile.job_owner_idx"
    ),
    "the others are others": lambda conn, holder: conn.execute(
        "DROP INDEX turnstile.job_due_idx, turnstile.job_blocked_idx, turnstile.job_owner_idx;"
        " CREATE INDEX job_due_idx ON turnstile.job (kind); CREATE INDEX job_blocked_idx ON turnstile.job USING hash (kind);"
        " CREATE INDEX job_owner_idx ON turnstile.job (attempt)"
    ),
    "the others are invalid": lambda conn, holder: [
        _marked_invalid(index)(conn, holder) for index in ("job_due_idx", "job_blocked_idx", "job_owner_idx")
    ],
}


@pytest.fixture(params=["a session that has worked", "a new session"])
def caller(request, db):
    conn = db.connect()
    if request.param == "a session that has worked":
        enqueue(conn)
        complete(conn, claim_next(conn))
    return conn


@pytest.mark.parametrize("change", CLAIM_INDEXES.values(), ids=CLAIM_INDEXES.keys())
def test_claims_and_ends_work_with_any_index(db, caller, other, change):
    """Slower, where the one that they would use is not what it should be."""
    configure(other, "tenant", "acme", slots=1)
    before = enqueue_times(other, 2, tenant="acme") + enqueue_times(other, 2, session="s") + enqueue_times(other, 3)
    change(other, db.connect())
    enqueue_times(caller, 2, tenant="acme")
    made = ids(enqueue_many(caller, [{"kind": "work", "priority": -1}, {"kind": "work"}]))
    first = claim_next(caller)
    assert first.id == made[0]
    naive.claim_as_predicted(caller, "default")
    assert complete(caller, first) is True
    more = claim(caller, ["default"], 2)
    assert len(more) == 2
    assert complete_many(caller, more) == 2
    naive.claim_all_as_predicted(caller, ["default"])
    is_sound(other)
    call(caller, "rebuild")
    is_sound(other)
    while runs := other.execute("SELECT id, attempt FROM turnstile.job WHERE state = 'running'").fetchall():
        for job_id, attempt in runs:
            caller.execute("SELECT turnstile.complete(%s, %s)", [job_id, attempt])
        naive.claim_all_as_predicted(caller, ["default"])
    assert other.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)
    assert {job_id for (job_id,) in other.execute("SELECT id FROM turnstile.job_history")} >= {*before, *made}
    is_sound(other)


@pytest.mark.parametrize("change", ["no index at all", "the others are others", "the others are invalid"])
def test_errands_work_with_any_index(db, caller, other, change):
    enqueue_times(other, 2)
    enqueue(other, run_at="2100-01-01")
    CLAIM_INDEXES[change](other, db.connect())
    claim_next(caller, lease="1 millisecond")
    bound = db.connect()
    claim_next(bound, bind_to_connection=True)
    pid = bound.info.backend_pid
    bound.close()
    other.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE state = 'scheduled'")
    while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone():
        pass
    assert call(caller, "promote")[0][0] == 1
    other.execute("SELECT pg_sleep(0.01)")
    # A claim may have rescued the first in passing.
    assert call(caller, "rescue")[0][0] >= 1
    # A session that has worked has completed a job before.
    assert rows.counts(other) | {"completed": 0} == {"available": 1, "retryable": 2, "completed": 0}
    is_sound(other)
