"""recent(): each ended job once, whatever the order of commits; where it begins and goes on; whom it tells."""

import pytest
from psycopg import sql

from support.calls import Run, call, cancel, claim_next, complete, complete_many, discard, enqueue, enqueue_times, fail, retry
from support.database import fresh_database
from support.errors import BAD_VALUE, NO_PRIVILEGE, NULL_VALUE, refused
from support.tail import Tail, history


def ended(conn) -> int:
    """The id of a job that was completed just now."""
    enqueue(conn)
    run = claim_next(conn)
    assert complete(conn, run) is True
    return run.id


def ended_times(conn, times: int) -> list[int]:
    return [ended(conn) for _ in range(times)]


# Each iteration is a transaction within the transaction, with an id of its own.
END_IN_SAVEPOINTS = """
    DO $$
    DECLARE run record;
    BEGIN
        FOR run IN SELECT id, attempt FROM turnstile.job WHERE state = 'running' ORDER BY id LOOP
            BEGIN
                PERFORM turnstile.complete(run.id, run.attempt);
            EXCEPTION WHEN division_by_zero THEN
            END;
        END LOOP;
    END $$
"""
WRITE_IN_SAVEPOINTS = """
    DO $$
    BEGIN
        FOR i IN 1..{} LOOP
            BEGIN
                PERFORM turnstile.enqueue('another', '{{}}', queue => 'another');
            EXCEPTION WHEN division_by_zero THEN
            END;
        END LOOP;
    END $$
"""


@pytest.fixture
def tail(other):
    return Tail(other)


def test_without_a_cursor_the_last_ten_come_and_then_what_ends(conn, other):
    jobs = ended_times(conn, 12)
    tail = Tail(other, since=None)
    assert tail.ids() == jobs[2:]
    assert tail.ids() == []
    assert tail.ids() == []
    more = ended_times(conn, 3)
    assert tail.ids() == more


def test_fewer_than_ten_are_all_that_come(conn, other):
    jobs = ended_times(conn, 3)
    assert Tail(other, since=None).ids() == jobs
    assert Tail(other, since=None, max_rows=2).ids() == jobs[1:]


def test_an_empty_history_gives_nothing_and_oldest_goes_on_from_there(conn, other):
    assert Tail(other, since=None).ids() == []
    jobs = ended_times(conn, 12)
    assert Tail(other).ids() == jobs


def test_a_row_says_how_the_job_ended(conn, tail):
    enqueue(conn, "send", queue="mail", tenant="acme")
    discarded = claim_next(conn, "mail", worker="w1")
    fail(conn, discarded, error="no such user", discard=True)
    [row] = tail.read()
    assert (row.id, row.queue, row.kind, row.tenant, row.state, row.attempt, row.worker, row.error) == (
        discarded.id, "mail", "send", "acme", "discarded", 1, "w1", "no such user",
    )  # fmt: skip
    times = "SELECT created_at, claimed_at, finished_at FROM turnstile.job_history"
    assert conn.execute(times).fetchone() == (row.created_at, row.claimed_at, row.finished_at)


def test_a_completed_job_shows_no_error_of_an_attempt_before(conn, tail):
    job = enqueue(conn)
    fail(conn, claim_next(conn), error="once", retry_in="0")
    complete(conn, claim_next(conn))
    cancelled = enqueue(conn)
    cancel(conn, cancelled)
    rows = [(row.id, row.state, row.attempt, row.error) for row in tail.read()]
    assert rows == [(job, "completed", 2, None), (cancelled, "cancelled", 0, None)]


@pytest.mark.parametrize("max_rows", [1, 2, 3, 7])
def test_pages_go_on_where_they_end_also_amid_jobs_that_end_together(conn, tail, max_rows):
    tail.max_rows = max_rows
    enqueue_times(conn, 7)
    complete_many(conn, call(conn, "claim", queues=["default"], max_jobs=7))
    found = tail.ids()
    ended_times(conn, 3)
    found += tail.to_the_end()
    assert found == sorted(found), "jobs of one reading come in order of id where they end together"
    assert tail.seen == history(conn)
    assert len(found) == 10


def test_each_row_has_a_cursor_that_goes_on_behind_it(conn, tail):
    jobs = ended_times(conn, 4)
    rows = tail.read()
    more = ended_times(conn, 2)
    for place, row in enumerate(rows, start=1):
        again = Tail(tail.conn, since=row.cursor)
        assert again.to_the_end() == (jobs + more)[place:]


def test_a_transaction_that_commits_late_is_given_late_and_once(conn, other, db, tail):
    ended(conn)
    tail.to_the_end()
    enqueue_times(conn, 2)
    late, soon = claim_next(conn), claim_next(conn)
    other_worker = db.connect()
    other_worker.execute("BEGIN")
    complete(other_worker, late)
    complete(conn, soon)
    assert tail.ids() == [soon.id]
    between = ended_times(conn, 2)
    assert tail.ids() == between
    other_worker.execute("COMMIT")
    assert tail.ids() == [late.id]
    assert tail.to_the_end() == []
    assert tail.seen == history(conn)


def test_a_transaction_may_take_longer_than_any_clock_is_wrong(conn, db, tail):
    """Where to look is not said by a time since the last call: the tail reads on while the ends of two transactions grow old."""
    first = ended(conn)
    assert tail.ids() == [first]
    enqueue_times(conn, 2)
    runs, workers = [claim_next(conn) for _ in range(2)], [db.connect() for _ in range(2)]
    for run, worker in zip(runs, workers, strict=True):
        worker.execute("BEGIN")
        complete(worker, run)
        soon = ended(conn)
        assert tail.ids() == [soon]
    conn.execute("SELECT pg_sleep(11)")
    for run, worker in zip(runs, workers, strict=True):
        for _ in range(3):
            soon = ended(conn)
            assert tail.ids() == [soon]
        worker.execute("COMMIT")
        assert tail.ids() == [run.id]
    assert tail.seen == history(conn)


def test_an_end_that_was_open_when_it_begins_is_given(conn, other, db):
    jobs = ended_times(conn, 2)
    enqueue(conn)
    run, worker = claim_next(conn), db.connect()
    worker.execute("BEGIN")
    complete(worker, run)
    tail = Tail(other, since=None)
    assert tail.ids() == jobs
    worker.execute("COMMIT")
    assert tail.ids() == [run.id]
    assert tail.to_the_end() == []


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
# Up to 64 the server lists; 2,000 are as many as a cursor names.
@pytest.mark.parametrize("savepoints", [1, 60, 200, 2500])
def test_jobs_that_end_in_savepoints(conn, db, tail, savepoints, end):
    first = ended(conn)
    assert tail.ids() == [first]
    worker = db.connect()
    enqueue_times(conn, savepoints)
    call(conn, "claim", queues=["default"], max_jobs=savepoints)
    worker.execute("BEGIN")
    worker.execute(END_IN_SAVEPOINTS)
    soon = ended_times(conn, 2)
    found = tail.to_the_end()
    assert found == (soon if savepoints < 2000 else [])
    soon += ended_times(conn, 2)
    found += tail.to_the_end()
    worker.execute(end)
    found += tail.to_the_end()
    assert set(soon) <= set(found)
    assert len(found) == len(soon) + (savepoints if end == "COMMIT" else 0)
    assert tail.seen == history(conn)


def test_transactions_with_few_and_with_many_savepoints_are_open(conn, db, tail):
    """A snapshot says how many savepoints there are, and does not list them where one transaction has more than 64."""
    for savepoints in (1, 70, 1):
        open_one = db.connect()
        open_one.execute("BEGIN")
        open_one.execute(WRITE_IN_SAVEPOINTS.format(savepoints))
    soon = ended(conn)
    assert tail.ids() == [soon]


def test_a_savepoint_that_was_open_goes_on_to_end_jobs(conn, db, tail):
    """Its id is older than what the tail has read meanwhile."""
    worker = db.connect()
    enqueue_times(conn, 3)
    runs = [claim_next(conn) for _ in range(3)]
    worker.execute("BEGIN; CREATE TEMP TABLE t (); SAVEPOINT s; CREATE TEMP TABLE u ()")
    complete(worker, runs[0])
    soon = ended(conn)
    assert tail.ids() == [soon]
    complete(worker, runs[1])
    later = ended(conn)
    assert tail.ids() == [later]
    worker.execute("ROLLBACK TO s")
    assert tail.ids() == []
    complete(worker, runs[2])
    worker.execute("COMMIT")
    assert tail.ids() == [runs[2].id]
    assert tail.seen == history(conn)


def ended_in(conn, producer) -> list[int]:
    """Two jobs that the transaction of `conn` ends."""
    enqueue_times(producer, 3)
    runs = [claim_next(conn) for _ in range(2)]
    assert complete(conn, runs[0]) is True
    conn.execute("SAVEPOINT kept")
    assert complete(conn, runs[1]) is True
    conn.execute("RELEASE kept")
    return [run.id for run in runs]


def test_what_the_own_transaction_ends_comes_after_its_commit(conn, db):
    conn.execute("BEGIN")
    own = ended_in(conn, db.connect())
    tail = Tail(conn)
    others = claim_next(db.connect()).id
    complete(db.connect(), Run(others, 1))
    assert tail.ids() == [others]
    enqueue(db.connect())
    conn.execute("SAVEPOINT s")
    undone = claim_next(conn)
    assert complete(conn, undone) is True
    assert tail.ids() == []
    conn.execute("ROLLBACK TO s")
    assert tail.ids() == []
    conn.execute("COMMIT")
    assert tail.ids() == own
    assert tail.seen == history(conn)


def test_a_cursor_of_a_transaction_that_ends_jobs_serves_others(conn, db):
    enqueue(conn)
    run = claim_next(conn)
    conn.execute("BEGIN")
    complete(conn, run)
    others = ended(db.connect())
    tail = Tail(conn)
    assert tail.ids() == [others]
    reader = Tail(db.connect(), since=tail.cursor)
    assert reader.ids() == []
    conn.execute("COMMIT")
    assert reader.ids() == [run.id]
    assert Tail(conn, since=tail.cursor).ids() == [run.id]


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE READ ONLY"])
def test_it_reads_what_is_committed_now_at_each_level(conn, other, level):
    jobs = ended_times(conn, 1)
    other.execute(f"BEGIN ISOLATION LEVEL {level}")
    tail = Tail(other)
    assert tail.ids() == jobs
    more = ended(conn)
    assert tail.ids() == [more]


def test_what_is_read_in_a_savepoint_that_rolls_back_is_read_again(conn, other):
    jobs = ended_times(conn, 2)
    tail = Tail(other)
    other.execute("BEGIN; SAVEPOINT s")
    assert tail.ids() == jobs
    other.execute("ROLLBACK TO s")
    assert Tail(other).ids() == jobs
    other.execute("COMMIT")


def test_old_transaction_ids_change_nothing(conn, other, tail):
    jobs = ended_times(conn, 3)
    assert tail.ids() == jobs
    more = ended_times(conn, 2)
    conn.execute("VACUUM (FREEZE, ANALYZE) turnstile.job_history")
    assert tail.ids() == more
    conn.execute("VACUUM FULL turnstile.job_history")
    assert tail.to_the_end() == []
    assert Tail(other).ids() == jobs + more


def test_a_job_that_ends_twice_comes_twice(conn, tail):
    enqueue(conn)
    run = claim_next(conn)
    discard(conn, run)
    assert tail.ids() == [run.id]
    retry(conn, run.id)
    complete(conn, claim_next(conn))
    [row] = tail.read()
    assert (row.id, row.state) == (run.id, "completed")


def test_the_usual_path_is_followed_like_the_direct_one(conn, db, tail):
    conn.execute("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
    conn.execute("CREATE TRIGGER own BEFORE INSERT ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION nothing()")
    test_a_transaction_that_commits_late_is_given_late_and_once(conn, None, db, tail)


def test_names_of_users_are_in_nobodys_way(conn, tail):
    conn.execute("ALTER TABLE turnstile.job_history ADD COLUMN written_by int, ADD COLUMN error int")
    job = ended(conn)
    assert tail.ids() == [job]


NO_CURSORS = ["", " ", "x", "1", "newest", "OLDEST", "1.2.3", ".", "..", "1.", "0.0.0.0.0.0", "f" * 40, "9" * 300, "日本"]


@pytest.mark.parametrize("since", NO_CURSORS)
def test_what_is_no_cursor_is_refused(module_conn, since):
    with refused(BAD_VALUE):
        call(module_conn, "recent", since=since)


def test_a_cursor_that_was_cut_or_changed_is_refused(conn, other):
    ended(conn)
    [row] = Tail(other).read()
    cut = [row.cursor[:length] for length in range(len(row.cursor))]
    changed = [row.cursor[:at] + ("0" if row.cursor[at] != "0" else "1") + row.cursor[at + 1 :] for at in range(len(row.cursor))]
    for since in [*cut, *changed, row.cursor + "0", row.cursor + ".0", row.cursor + " "]:
        with refused(BAD_VALUE):
            call(other, "recent", since=since)


def test_a_cursor_of_another_database_is_refused(conn):
    ended(conn)
    with fresh_database() as elsewhere:
        there = elsewhere.connect()
        ended(there)
        [row] = Tail(there).read()
        with refused(BAD_VALUE):
            call(conn, "recent", since=row.cursor)


@pytest.mark.parametrize("max_rows", [0, -1, 100_001, -(2**31)])
def test_a_bad_number_of_rows_is_refused(module_conn, max_rows):
    with refused(BAD_VALUE):
        call(module_conn, "recent", max_rows=max_rows)


def test_a_number_of_rows_is_needed(module_conn):
    with refused(NULL_VALUE):
        call(module_conn, "recent", max_rows=None)


def _as_role(conn, role: str) -> None:
    conn.execute(
        sql.SQL(
            "GRANT USAGE ON SCHEMA turnstile TO {0}; GRANT EXECUTE ON FUNCTION turnstile.recent TO {0}; SET ROLE {0}"
        ).format(sql.Identifier(role))
    )


@pytest.mark.parametrize(
    ("verb", "error"), [("manage", None), ("see", "s3cret"), ("*", "s3cret")], ids=["manage", "see", "everything"]
)
def test_who_may_manage_is_told_and_who_may_see_is_told_the_error_too(conn, role, verb, error):
    enqueue(conn)
    fail(conn, claim_next(conn), error="s3cret", discard=True)
    conn.execute("INSERT INTO turnstile.permission (role, verb) VALUES (%s::text::regrole, %s)", [role, verb])
    _as_role(conn, role)
    [row] = Tail(conn).read()
    assert (row.state, row.error) == ("discarded", error)


@pytest.mark.parametrize(
    "permission",
    [None, ("work", "*", "*"), ("enqueue", "*", "*"), ("see", "*", "acme"), ("manage", "default", "*"), ("see", "default", "*")],
    ids=str,
)
def test_others_are_told_nothing(conn, role, permission):
    ended(conn)
    if permission:
        conn.execute("INSERT INTO turnstile.permission VALUES (%s::text::regrole, %s, %s, %s)", [role, *permission])
    _as_role(conn, role)
    for since in (None, "oldest", "x"):
        with refused(NO_PRIVILEGE):
            call(conn, "recent", since=since)


def test_an_operator_may_follow_and_a_worker_may_not(conn, db, role):
    conn.execute("SELECT turnstile.allow_operator(%s::text::regrole)", [role])
    job = ended(conn)
    operator = db.connect()
    operator.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    assert Tail(operator).ids() == [job]
    conn.execute("SELECT turnstile.disallow(%s::text::regrole)", [role])
    conn.execute("SELECT turnstile.allow_worker(%s::text::regrole)", [role])
    with pytest.raises(Exception, match="permission denied for function recent"):
        call(operator, "recent")
