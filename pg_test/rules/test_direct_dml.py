"""Plain DML on the tables is as good as the functions: the scheduler follows the rows."""

import psycopg
import pytest

from support import naive, rows
from support.calls import claim, claim_all, claim_next, complete, enqueue, enqueue_times, ids, release
from support.errors import refused
from support.settings import configure, unconfigure


def _insert(conn):
    conn.execute("INSERT INTO turnstile.job (queue, kind, tenant, priority) VALUES ('mail','a','acme',2), ('mail','b','acme',1)")


def _insert_select(conn):
    conn.execute("INSERT INTO turnstile.job (queue, kind, tenant, priority) SELECT 'mail', k, 'acme', 3 - n"
                 " FROM (VALUES ('a', 1), ('b', 2)) v(k, n)")  # fmt: skip


def _copy(conn):
    with conn.cursor().copy("COPY turnstile.job (queue, kind, tenant, priority) FROM STDIN") as copy:
        copy.write_row(("mail", "a", "acme", 2))
        copy.write_row(("mail", "b", "acme", 1))


def _merge(conn):
    conn.execute(
        "MERGE INTO turnstile.job j USING (VALUES ('a', 2), ('b', 1)) v(kind, priority) ON j.kind = v.kind"
        " WHEN NOT MATCHED THEN INSERT (queue, kind, tenant, priority) VALUES ('mail', v.kind, 'acme', v.priority)"
    )


def _from_a_query(conn):
    conn.execute("WITH n AS (INSERT INTO turnstile.job (queue, kind, tenant, priority) VALUES ('mail','a','acme',2),"
                 " ('mail','b','acme',1) RETURNING id) SELECT count(*) FROM n")  # fmt: skip


def _as_a_replica(conn):
    conn.execute("SET session_replication_role = replica")
    _insert(conn)
    conn.execute("RESET session_replication_role")


WAYS = {"INSERT": _insert, "INSERT SELECT": _insert_select, "COPY": _copy, "MERGE": _merge, "WITH": _from_a_query,
        "session_replication_role = replica": _as_a_replica}  # fmt: skip
each_way = pytest.mark.parametrize("insert", WAYS.values(), ids=WAYS.keys())


@each_way
def test_an_inserted_job_is_enqueued(conn, insert):
    insert(conn)
    assert [job.kind for job in claim_all(conn, "mail")] == ["b", "a"]


@each_way
def test_an_inserted_job_is_held_by_its_gates(conn, insert):
    configure(conn, "tenant", "acme", slots=1)
    insert(conn)
    [run] = claim_all(conn, "mail")
    complete(conn, run)
    assert [job.kind for job in claim_all(conn, "mail")] == ["a"]


@each_way
def test_an_insert_rolled_back_was_never_enqueued(conn, insert):
    conn.execute("BEGIN")
    insert(conn)
    conn.execute("ROLLBACK")
    assert claim_all(conn, "mail") == []
    insert(conn)
    assert len(claim_all(conn, "mail")) == 2


def test_a_job_inserted_by_kind_alone_has_the_defaults(conn):
    conn.execute("INSERT INTO turnstile.job (kind) VALUES ('work')")
    job = claim_next(conn)
    assert (job.kind, job.queue, job.payload, job.priority, job.attempt) == ("work", "default", {}, 0, 1)


def test_updates_and_deletes_as_a_replica_are_seen(conn):
    enqueued = enqueue_times(conn, 3)
    conn.execute("SET session_replication_role = replica")
    conn.execute("UPDATE turnstile.job SET priority = -1 WHERE id = %s", [enqueued[2]])
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [enqueued[0]])
    conn.execute("UPDATE turnstile.job SET queue = 'mail' WHERE id = %s", [enqueued[1]])
    conn.execute("RESET session_replication_role")
    assert ids(claim_all(conn)) == [enqueued[2]]
    assert ids(claim_all(conn, "mail")) == [enqueued[1]]


def test_limits_written_as_a_replica_are_seen(conn):
    enqueue_times(conn, 4, tenant="acme")
    configure(conn, "tenant", "acme", slots=1)
    assert len(claim_all(conn)) == 1
    conn.execute("SET session_replication_role = replica")
    configure(conn, "tenant", "acme", slots=3)
    conn.execute("RESET session_replication_role")
    assert len(claim_all(conn)) == 2


def test_an_updated_priority_reranks_a_waiting_job(conn):
    enqueued = enqueue_times(conn, 4)
    conn.execute("UPDATE turnstile.job SET priority = -1 WHERE id = %s", [enqueued[3]])
    conn.execute("UPDATE turnstile.job SET priority = 1 WHERE id = %s", [enqueued[0]])
    assert ids(claim_all(conn)) == [enqueued[3], enqueued[1], enqueued[2], enqueued[0]]


def test_an_updated_priority_reranks_within_a_session(conn):
    enqueued = enqueue_times(conn, 3, session="chat-1")
    conn.execute("UPDATE turnstile.job SET priority = -1 WHERE id = %s", [enqueued[2]])
    assert ids(claim_all(conn)) == [enqueued[2]]


def test_a_priority_put_there_and_back_changes_nothing(conn):
    enqueued = enqueue_times(conn, 3)
    for priority in (5, 0):
        conn.execute("UPDATE turnstile.job SET priority = %s WHERE id = %s", [priority, enqueued[0]])
    assert ids(claim_all(conn)) == enqueued


def test_an_updated_position_reranks_a_waiting_job(conn):
    enqueued = enqueue_times(conn, 3)
    conn.execute("UPDATE turnstile.job SET position = (SELECT min(position) - 1 FROM turnstile.job) WHERE id = %s",
                 [enqueued[2]])  # fmt: skip
    assert ids(claim_all(conn)) == [enqueued[2], enqueued[0], enqueued[1]]


def test_a_job_moved_to_another_queue_is_claimed_there(conn):
    first, second = enqueue_times(conn, 2)
    conn.execute("UPDATE turnstile.job SET queue = 'mail' WHERE id = %s", [first])
    assert ids(claim_all(conn)) == [second]
    assert ids(claim_all(conn, "mail")) == [first]


@pytest.mark.parametrize(("column", "there"), [("tenant", "acme"), ("concurrency_key", "smtp")])
def test_a_waiting_job_moved_behind_another_gate_waits_there(conn, column, there):
    configure(conn, "tenant", "acme", slots=0)
    configure(conn, "concurrency", "smtp", slots=0)
    first, second = enqueue_times(conn, 2)
    conn.execute(f"UPDATE turnstile.job SET {column} = %s WHERE id = %s", [there, first])
    assert ids(claim_all(conn)) == [second]
    conn.execute(f"UPDATE turnstile.job SET {column} = NULL WHERE id = %s", [first])
    assert ids(claim_all(conn)) == [first]


def test_a_deleted_waiting_job_is_never_claimed(conn):
    enqueued = enqueue_times(conn, 4)
    conn.execute("DELETE FROM turnstile.job WHERE id = ANY(%s)", [[enqueued[0], enqueued[2]]])
    assert ids(claim_all(conn)) == [enqueued[1], enqueued[3]]


@pytest.mark.parametrize("behind", [{"session": "chat-1"}, {"tenant": "acme"}, {"queue": "mail"}])
def test_a_deleted_running_job_frees_its_slot(conn, behind):
    configure(conn, "tenant", "acme", slots=1)
    configure(conn, "queue", "mail", max_running=1)
    queue = behind.get("queue", "default")
    enqueue_times(conn, 3, **behind)
    run = claim_next(conn, queue)
    assert claim_next(conn, queue) is None
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [run.id])
    assert len(claim_all(conn, queue)) == 1


def test_all_jobs_deleted_leave_an_empty_queue_that_goes_on(conn):
    configure(conn, "queue", "default", max_running=3)
    enqueue_times(conn, 10)
    claim(conn, ["default"], 3)
    conn.execute("DELETE FROM turnstile.job")
    assert claim_next(conn) is None
    enqueued = enqueue_times(conn, 5)
    assert ids(claim_all(conn)) == enqueued[:3]


def test_one_statement_that_changes_many_rows_is_followed_row_by_row(conn):
    enqueue_times(conn, 30)
    conn.execute(
        "UPDATE turnstile.job SET priority = id % 3, tenant = 't' || id % 4, session = CASE id % 5 WHEN 0 THEN 's' END"
    )
    configure(conn, "tenant", "t1", slots=2)
    assert len(naive.claim_all_as_predicted(conn, ["default"])) > 10


def test_a_row_changed_many_times_in_a_transaction_counts_as_it_ends(conn, other):
    first, second = enqueue_times(conn, 2)
    conn.execute("BEGIN")
    for queue, priority in (("a", 1), ("b", 2), ("default", 3)):
        conn.execute("UPDATE turnstile.job SET queue = %s, priority = %s WHERE id = %s", [queue, priority, first])
    created = enqueue(conn)
    conn.execute("UPDATE turnstile.job SET priority = -1 WHERE id = %s", [created])
    doomed = enqueue(conn)
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [doomed])
    conn.execute("COMMIT")
    assert claim(other, ["a", "b"], 5) == []
    assert ids(claim_all(other)) == [created, second, first]


def test_an_update_rolled_back_changes_nothing(conn, other):
    enqueued = enqueue_times(conn, 3)
    conn.execute("BEGIN")
    conn.execute("UPDATE turnstile.job SET priority = -1, queue = 'mail' WHERE id = %s", [enqueued[2]])
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [enqueued[0]])
    conn.execute("ROLLBACK")
    assert claim_next(other, "mail") is None
    assert ids(claim_all(other)) == enqueued


def test_a_payload_update_neither_loses_nor_doubles_a_job(conn):
    enqueued = enqueue_times(conn, 3)
    conn.execute("""UPDATE turnstile.job SET payload = '{"new": true}'""")
    claimed = claim_all(conn)
    assert ids(claimed) == enqueued
    assert [job.payload for job in claimed] == [{"new": True}] * 3


def test_a_progress_like_update_of_a_running_job_keeps_its_slot(conn):
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 2, tenant="acme")
    run = claim_next(conn)
    conn.execute("UPDATE turnstile.job SET metadata = '{}' WHERE id = %s", [run.id])
    assert claim_next(conn) is None
    complete(conn, run)
    assert len(claim_all(conn)) == 1


def test_a_renamed_tenant_row_gives_its_limit_to_its_new_name(conn):
    configure(conn, "tenant", "acme", slots=0)
    enqueue(conn, tenant="acme")
    enqueue(conn, tenant="globex")
    conn.execute("UPDATE turnstile.tenant SET name = 'globex' WHERE name = 'acme'")
    assert [job.tenant for job in claim_all(conn)] == ["acme"]


@pytest.mark.parametrize(
    ("table", "column", "key", "behind"),
    [
        ("queue", "max_running", ("mail",), {"queue": "mail"}),
        ("tenant", "slots", ("acme",), {"tenant": "acme"}),
        ("account", "slots", ("acme", "sales"), {"tenant": "acme", "account": "sales"}),
        ("concurrency", "slots", ("smtp",), {"concurrency_key": "smtp"}),
    ],
)
def test_a_deleted_limit_no_longer_limits(conn, table, column, key, behind):
    configure(conn, table, *key, **{column: 1})
    enqueue_times(conn, 3, **behind)
    queue = behind.get("queue", "default")
    assert len(claim_all(conn, queue)) == 1
    unconfigure(conn, table, *key)
    assert len(claim_all(conn, queue)) == 2


def test_live_rows_written_as_restored_are_followed(conn):
    """A restore copies rows with their ids and states; the running ones hold their slots."""
    configure(conn, "tenant", "acme", slots=2)
    enqueue_times(conn, 4, tenant="acme")
    run = claim_next(conn)
    conn.execute("CREATE TABLE dump AS SELECT * FROM turnstile.job")
    conn.execute("DELETE FROM turnstile.job")
    assert claim_next(conn) is None
    names = conn.execute(
        "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute"
        " WHERE attrelid = 'turnstile.job'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
    ).fetchone()[0]
    conn.execute(f"INSERT INTO turnstile.job ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM dump")
    assert rows.state(conn, run.id) == "running"
    assert len(claim_all(conn)) == 1
    assert complete(conn, run)
    assert len(claim_all(conn)) == 1


@pytest.mark.parametrize("column", ["lane", "lane_group"])
def test_the_lane_cannot_be_set_by_hand(conn, column):
    first, second = enqueue_times(conn, 2)
    conn.execute(f"UPDATE turnstile.job SET {column} = 1 WHERE id = %s", [first])
    assert [run.id for run in claim_all(conn)] == [first, second]
    assert conn.execute("SELECT count(DISTINCT (lane, lane_group)) FROM turnstile.job").fetchone() == (1,)


def test_a_job_set_ahead_by_update_becomes_scheduled(conn):
    job_id = enqueue(conn)
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() + '1 hour' WHERE id = %s", [job_id])
    assert rows.state(conn, job_id) == "scheduled"
    assert claim_next(conn) is None


LATE_TRIGGER = """
    CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.priority := 7; RETURN NEW; END $$;
    CREATE TRIGGER zz_late BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION late();
"""


def test_a_trigger_that_moves_a_placed_job_is_refused(conn):
    """The scheduler would look for the job where it is not."""
    job_id = enqueue(conn)
    conn.execute(LATE_TRIGGER)
    try:
        with refused("23514") as caught:
            conn.execute("UPDATE turnstile.job SET metadata = '1' WHERE id = %s", [job_id])
        assert "parent, unique_mode, holds_session, priority or state" in caught.value.diag.message_detail
    finally:
        conn.execute("DROP FUNCTION late CASCADE")
    assert claim_next(conn).id == job_id


def test_a_state_that_no_live_job_has_is_refused(conn):
    enqueue(conn)
    with refused("23514") as caught:
        conn.execute("UPDATE turnstile.job SET state = 'completed'")
    assert "state is available, scheduled, retryable, blocked or running;" in caught.value.diag.message_detail


@pytest.mark.parametrize("column", ["attempt", "uncounted"])
@pytest.mark.parametrize("number", [-1, 1_000_000_001, 2**31 - 1])
def test_a_count_that_could_not_be_raised_is_refused(conn, column, number):
    """A job that cannot be claimed would stop its queue for all others."""
    enqueue(conn)
    with refused("23514"):
        conn.execute(f"UPDATE turnstile.job SET {column} = %s", [number])
    assert claim_next(conn) is not None


def test_a_position_behind_all_others_is_refused(conn):
    enqueue(conn)
    with refused("23514"):
        conn.execute("UPDATE turnstile.job SET position = 9223372036854775807")
    conn.execute("UPDATE turnstile.job SET position = 9223372036854775806")
    assert claim_next(conn) is not None


def test_a_job_with_the_greatest_max_attempts_can_be_released_and_claimed(conn):
    enqueue(conn, max_attempts=2**31 - 1)
    release(conn, claim_next(conn))
    assert claim_next(conn).max_attempts == 2**31 - 1
