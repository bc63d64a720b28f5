"""Single calls pass over the triggers and indexes of the job table that the extension made itself, as long as nothing else
hangs on the rows. Whatever a user adds, takes away or changes holds from the next call on, also on connections that were there
before."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from support.calls import claim, claim_all, claim_next, complete, complete_and_claim_next, enqueue, enqueue_times
from support.modules import has_module

COUNTED = "SELECT coalesce(sum(calls), 0)::int FROM pg_stat_xact_user_functions WHERE funcname IN ('job_changed', 'place_job')"
ERROR = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$"


@pytest.fixture
def warm(db):
    """A connection that knows the job table as the extension made it."""
    conn = db.connect()
    enqueue(conn)
    complete(conn, claim_next(conn))
    return conn


def _work(conn):
    enqueue(conn)
    run = claim_next(conn)
    complete(conn, run)
    return run


def _trigger_calls(conn):
    conn.execute("BEGIN; SET LOCAL track_functions = 'all'")
    before = conn.execute(COUNTED).fetchone()[0]
    enqueue(conn)
    inserted = conn.execute(COUNTED).fetchone()[0] - before
    conn.execute("ROLLBACK")
    return inserted


def _check_indexes(conn):
    """Each row that meets an index's condition has an entry, and no other has."""
    if not has_module(conn, "amcheck"):
        return
    conn.execute(
        "SELECT bt_index_check(index.indexrelid, heapallindexed => true) FROM pg_index AS index JOIN pg_class AS class"
        " ON class.oid = index.indexrelid JOIN pg_am ON pg_am.oid = class.relam"
        " WHERE index.indrelid = 'turnstile.job'::regclass AND pg_am.amname = 'btree'"
    )


ADDED = {
    "trigger": "CREATE TRIGGER other BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass()",
    "trigger that never fires": "CREATE TRIGGER other AFTER DELETE ON turnstile.job FOR EACH ROW WHEN (false) EXECUTE FUNCTION pass()",
    "trigger of statements": "CREATE TRIGGER other AFTER INSERT ON turnstile.job EXECUTE FUNCTION pass()",
    "trigger of origins only": "ALTER TABLE turnstile.job ENABLE TRIGGER place_job",
    "foreign key": "CREATE TABLE part (job bigint REFERENCES turnstile.job ON DELETE CASCADE)",
    "deferrable key": "ALTER TABLE turnstile.job ADD UNIQUE (id, kind) DEFERRABLE",
    "generated column": "ALTER TABLE turnstile.job ADD twice int GENERATED ALWAYS AS (priority * 2) STORED",
}


def test_no_trigger_is_called(warm, other):
    assert _trigger_calls(warm) == 0
    assert _trigger_calls(other) == 0, "on a new connection"


@pytest.mark.parametrize("added", ADDED.values(), ids=ADDED.keys())
def test_triggers_are_called_where_others_may_be(warm, other, added):
    other.execute("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$")
    other.execute(f"BEGIN; {added}")
    assert _trigger_calls_within(other) == 2, "in the transaction that has added it"
    other.execute("ROLLBACK")
    assert _trigger_calls(other) == 0
    other.execute(added)
    assert _trigger_calls(warm) == 2
    assert _work(warm).attempt == 1


def _trigger_calls_within(conn):
    conn.execute("SET LOCAL track_functions = 'all'")
    before = conn.execute(COUNTED).fetchone()[0]
    enqueue(conn)
    return conn.execute(COUNTED).fetchone()[0] - before


def test_a_before_trigger_that_moves_the_job(warm, other):
    other.execute("CREATE FUNCTION hurry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.priority := -1; RETURN NEW; END $$")
    # Before and after the extension's own, by name.
    for name in ("a_hurry", "z_hurry"):
        other.execute(f"CREATE TRIGGER {name} BEFORE INSERT ON turnstile.job FOR EACH ROW WHEN (NEW.kind = '{name}') EXECUTE FUNCTION hurry()")
    enqueue(warm)
    urgent = enqueue(warm, kind="a_hurry")
    with pytest.raises(psycopg.errors.CheckViolation):
        enqueue(warm, kind="z_hurry")
    assert [run.id for run in claim_all(warm)][0] == urgent


@pytest.mark.parametrize("operation", ["INSERT", "UPDATE", "UPDATE OF state", "DELETE"])
@pytest.mark.parametrize("timing", ["BEFORE", "AFTER"])
def test_a_trigger_that_raises(warm, other, operation, timing):
    other.execute(ERROR)
    enqueue(warm)
    run = None if operation.startswith("UPDATE") else claim_next(warm)
    other.execute(f"CREATE TRIGGER refuse {timing} {operation} ON turnstile.job FOR EACH ROW EXECUTE FUNCTION refuse()")
    calls = {"I": enqueue, "U": claim_next, "D": lambda conn: complete(conn, run)}
    with pytest.raises(psycopg.errors.RaiseException):
        calls[operation[0]](warm)
    other.execute("DROP TRIGGER refuse ON turnstile.job")
    if operation[0] == "I":
        assert claim_next(warm) is None
    run = run or claim_next(warm)
    assert complete(warm, run)


def test_a_trigger_of_columns_that_a_claim_does_not_change(warm, other):
    other.execute(ERROR)
    other.execute("CREATE TRIGGER refuse AFTER UPDATE OF tenant ON turnstile.job FOR EACH ROW EXECUTE FUNCTION refuse()")
    assert _work(warm)


def test_an_own_trigger_that_is_disabled(warm, other):
    other.execute("ALTER TABLE turnstile.job DISABLE TRIGGER place_job")
    with pytest.raises(psycopg.errors.CheckViolation):
        enqueue(warm)
    other.execute("ALTER TABLE turnstile.job ENABLE TRIGGER place_job")
    enqueue(warm)
    warm.execute("SET session_replication_role = replica")
    with pytest.raises(psycopg.errors.CheckViolation):
        enqueue(warm)
    other.execute("ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER place_job")
    enqueue(warm)
    assert len(claim_all(other)) == 2


def test_an_own_function_that_was_replaced(warm, other):
    other.execute("CREATE OR REPLACE FUNCTION turnstile_internal.job_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'mine'; END $$")
    with pytest.raises(psycopg.errors.RaiseException):
        enqueue(warm)
    # What it was made of is in the extension's script.
    (library,) = other.execute("SELECT probin FROM pg_proc WHERE proname = 'place_job'").fetchone()
    other.execute(
        f"CREATE OR REPLACE FUNCTION turnstile_internal.job_changed() RETURNS trigger LANGUAGE c AS '{library}', 'turnstile_job_changed'"
    )
    assert _trigger_calls(warm) == 0
    assert _work(warm)


def test_rows_of_a_replica_session_are_seen(warm, other):
    warm.execute("SET session_replication_role = replica")
    enqueue(warm)
    run = claim_next(other)
    assert run is not None
    assert complete_and_claim_next(warm, run) is None


USERS_INDEXES = {
    "unique": "CREATE UNIQUE INDEX one ON turnstile.job (kind)",
    "unique and partial": "CREATE UNIQUE INDEX one ON turnstile.job (kind) WHERE state = 'running'",
    "of an expression": "CREATE UNIQUE INDEX one ON turnstile.job (lower(kind))",
    "constraint that excludes": "ALTER TABLE turnstile.job ADD CONSTRAINT one EXCLUDE USING btree (kind WITH =) WHERE (attempt = 1)",
}


@pytest.mark.parametrize("index", USERS_INDEXES.values(), ids=USERS_INDEXES.keys())
def test_an_index_of_a_user(warm, other, index):
    other.execute(index)
    enqueue(warm)
    run = claim_next(warm)
    with pytest.raises((psycopg.errors.UniqueViolation, psycopg.errors.ExclusionViolation)):
        enqueue(warm)
        claim_next(warm)
    complete(warm, run)
    _check_indexes(other)
    other.execute("DELETE FROM turnstile.job")


# Each has the definition of one of the extension's own, which does not say that it excludes; and a claim of two jobs that it refuses.
EXCLUSIONS = {
    "of owners": ("(owner_pid WITH =) WHERE (owner_pid IS NOT NULL)", {"bind_to_connection": True}),
}


@pytest.mark.parametrize("exclusion", EXCLUSIONS.values(), ids=EXCLUSIONS.keys())
def test_a_constraint_that_excludes_by_what_an_own_index_has_is_in_force(warm, other, exclusion):
    definition, arguments = exclusion
    other.execute(f"ALTER TABLE turnstile.job ADD CONSTRAINT one EXCLUDE USING btree {definition}")
    enqueue_times(warm, 2)
    with pytest.raises(psycopg.errors.ExclusionViolation):
        claim(warm, ["default"], 2, **arguments)
    for _ in range(2):
        complete(warm, claim_next(warm, **arguments))
    _check_indexes(other)


@pytest.mark.parametrize("condition", ["state = 'available'", "attempt = 0", "priority > 0"])
def test_a_partial_index_with_parameters_is_not_taken_for_the_key(warm, other, condition):
    enqueue_times(warm, 2)
    run = claim_next(warm)
    # It has no entry of what runs; and the key comes behind it from now on.
    other.execute(f"CREATE INDEX one ON turnstile.job (id) WITH (fillfactor = 90) WHERE {condition}")
    other.execute("REINDEX INDEX CONCURRENTLY turnstile.job_pkey")
    assert complete(warm, run) is True
    assert complete(warm, claim_next(warm)) is True
    _work(warm)
    assert claim_next(warm) is None
    _check_indexes(other)


def test_own_indexes_have_what_they_should(warm, other):
    for change in (
        "SELECT",
        "ALTER INDEX turnstile.job_owner_idx SET (fillfactor = 70)",
        "ALTER INDEX turnstile.job_owner_idx RENAME TO renamed",
        "DROP INDEX turnstile.job_due_idx",
        "CREATE INDEX job_due_idx ON turnstile.job (queue COLLATE \"C\", run_at, position) WHERE state <> 'scheduled'",
        "REINDEX TABLE turnstile.job",
        "REINDEX TABLE CONCURRENTLY turnstile.job",
        "VACUUM FULL turnstile.job",
    ):
        other.execute(change)
        _work(warm)
        enqueue(warm, run_at="2100-01-01")
        enqueue(warm)
        enqueue(warm)
        claim_next(warm)
        claim_next(warm, bind_to_connection=True)
        _check_indexes(other)


@pytest.mark.parametrize(
    "build",
    ["CREATE INDEX CONCURRENTLY slow ON turnstile.job (kind, state)", "REINDEX TABLE CONCURRENTLY turnstile.job"],
    ids=["create", "reindex"],
)
def test_an_index_that_is_being_built(db, warm, other, build):
    old = db.connect()
    builder = db.connect()
    for _ in range(20):
        enqueue(warm)
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM turnstile.job")
    waits = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as pool:
        built = pool.submit(builder.execute, build)
        # It waits for the old transaction, with an index that is not ready, or not valid yet.
        while not built.done() and other.execute(waits, [builder.info.backend_pid]).fetchone() == (0,):
            _work(warm)
        for _ in range(5):
            _work(warm)
        claim_next(warm)
        old.execute("COMMIT")
        while not built.done():
            _work(warm)
        built.result()
    claim_next(warm)
    _check_indexes(other)


TODAY = (
    "SELECT partition::text, begins::text, ends::text FROM turnstile.history_partition WHERE now() >= begins AND now() < ends"
)


def _kept_in(conn, run):
    query = "SELECT tableoid::regclass::text FROM turnstile.job_history WHERE id = %s"
    return conn.execute(query, [run.id]).fetchall()


def test_a_day_without_a_partition(warm, other):
    today, _, _ = other.execute(TODAY).fetchone()
    other.execute(f"DROP TABLE {today}")
    assert _kept_in(other, _work(warm)) == [("turnstile.job_history_default",)]
    other.execute("DELETE FROM turnstile.job_history_default; SELECT turnstile.make_history_partitions()")
    # Found by the server the first time, remembered the second.
    for _ in range(2):
        assert _kept_in(other, _work(warm)) == [(today,)]


def test_a_day_with_other_partitions(warm, other):
    today, begins, ends = other.execute(TODAY).fetchone()
    soon = "date_trunc('minute', now()) + interval '1 hour'"
    (middle,) = other.execute(f"SELECT least({soon}, '{ends}'::timestamptz - interval '1 second')::text").fetchone()
    other.execute(f"TRUNCATE {today}; ALTER TABLE turnstile.job_history DETACH PARTITION {today}")
    other.execute(f"ALTER TABLE turnstile.job_history ATTACH PARTITION {today} FOR VALUES FROM ('{middle}') TO ('{ends}')")
    other.execute(f"CREATE TABLE early PARTITION OF turnstile.job_history FOR VALUES FROM ('{begins}') TO ('{middle}')")
    for _ in range(2):
        assert _kept_in(other, _work(warm)) == [("early",)]


@pytest.mark.parametrize("table", ["turnstile.job_history", "today"])
def test_a_trigger_of_the_history(warm, other, table):
    today, _, _ = other.execute(TODAY).fetchone()
    other.execute("CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.result := '1'; RETURN NEW; END $$")
    other.execute(f"CREATE TRIGGER mark BEFORE INSERT ON {table.replace('today', today)} FOR EACH ROW EXECUTE FUNCTION mark()")
    run = _work(warm)
    assert other.execute("SELECT result FROM turnstile.job_history WHERE id = %s", [run.id]).fetchone() == (1,)


def test_an_index_and_a_check_of_a_day(warm, other):
    today, _, _ = other.execute(TODAY).fetchone()
    other.execute(f"CREATE UNIQUE INDEX one ON {today} (id)")
    other.execute(f"ALTER TABLE {today} ADD CHECK (kind <> 'bad')")
    run = _work(warm)
    other.execute("INSERT INTO turnstile.job (id, kind) VALUES (%s, 'again')", [run.id])
    again = claim_next(warm)
    with pytest.raises(psycopg.errors.UniqueViolation):
        complete(warm, again)
    other.execute("DROP INDEX turnstile.one; UPDATE turnstile.job SET kind = 'bad'")
    with pytest.raises(psycopg.errors.CheckViolation):
        complete(warm, again)


def test_a_new_day_has_no_summary_to_keep(warm, other):
    _work(warm)
    query = (
        "SELECT brin_summarize_new_values(index.indexrelid) FROM pg_index AS index JOIN pg_class AS class ON class.oid = indexrelid"
        " JOIN pg_am ON pg_am.oid = relam WHERE amname = 'brin' AND indrelid = %s::regclass"
    )
    assert other.execute(query, [other.execute(TODAY).fetchone()[0]]).fetchone() == (1,)
    assert _work(warm)


def test_pages_full_of_old_versions(warm, other):
    """A page is cleared when the next version would not fit; rows that have moved meanwhile are found as before."""
    for number in range(60):
        enqueue(warm, payload={"text": "x" * (number * 7 % 900)})
    other.execute("UPDATE turnstile.job SET metadata = '{}' WHERE id % 3 = 0")
    claimed = []
    for _ in range(60):
        run = claim_next(warm)
        claimed.append(run.id)
        if run.id % 2:
            complete(warm, run)
    assert claimed == sorted(claimed) and len(set(claimed)) == 60
    assert other.execute("SELECT count(*) FROM turnstile.job WHERE state = 'running'").fetchone() == (30,)
    _check_indexes(other)


def test_savepoints(warm, other):
    kept = enqueue(warm)
    warm.execute("BEGIN; SAVEPOINT a")
    claim_next(warm)
    enqueue(warm)
    warm.execute("SAVEPOINT b")
    enqueue(warm, tenant="acme")
    warm.execute("RELEASE b; ROLLBACK TO a")
    last = enqueue(warm)
    warm.execute("COMMIT")
    assert [run.id for run in claim_all(other)] == [kept, last]


def test_the_table_by_another_name(warm, other):
    """As long as it is not there by its name, nothing can be enqueued; then all is as it was."""
    other.execute("ALTER TABLE turnstile.job RENAME TO elsewhere")
    with pytest.raises(psycopg.errors.UndefinedTable):
        enqueue(warm)
    other.execute("ALTER TABLE turnstile.elsewhere RENAME TO job")
    other.execute("ALTER SCHEMA turnstile RENAME TO away")
    other.execute("ALTER SCHEMA away RENAME TO turnstile")
    assert _work(warm)


def test_an_extension_made_anew(warm, other):
    other.execute("DROP EXTENSION turnstile CASCADE; CREATE EXTENSION turnstile")
    assert _work(warm)
    assert _trigger_calls(warm) == 0
