"""The view of workers: who claims, where, and since when."""

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import namedtuple_row

from support.calls import call, claim, claim_next, complete, complete_and_claim_next, enqueue, enqueue_times

MOST = 1_000
WORKER_BYTES = 127


def _workers(conn) -> dict:
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        rows = cursor.execute("SELECT * FROM turnstile.workers").fetchall()
    found = {row.worker: row for row in rows}
    assert len(found) == len(rows)
    return found


def _seen(conn) -> dict:
    return {row.worker: (row.queue, row.claims, row.jobs) for row in _workers(conn).values()}


def _names(conn) -> list:
    return [name for (name,) in conn.execute("SELECT worker FROM turnstile_internal.workers_seen()")]


def _now(conn):
    return conn.execute("SELECT clock_timestamp()").fetchone()[0]


def test_nobody_was_seen(conn):
    enqueue(conn)
    assert _workers(conn) == {}


def test_who_claims_is_seen_with_what_it_found(conn, other):
    begin = _now(conn)
    enqueue_times(conn, 3, queue="mail")
    claim_next(conn, "mail", worker="a")
    middle = _now(conn)
    claim(other, ["mail"], 10, worker="b")
    claim_next(conn, "mail", worker="a")
    assert _seen(conn) == {"a": ("mail", 2, 1), "b": ("mail", 1, 2)}
    assert _seen(other) == _seen(conn)
    a, b = (_workers(conn)[name] for name in "ab")
    assert begin <= a.first_seen <= middle <= b.first_seen <= b.last_seen <= a.last_seen <= _now(conn)
    assert _names(conn) == ["a", "b"]


def test_a_claim_that_finds_nothing_counts_and_uses_no_transaction_id(conn, db):
    other = db.connect(autocommit=False)
    claim_next(other, "empty", worker="idle")
    assert other.execute("SELECT pg_current_xact_id_if_assigned()").fetchone() == (None,)
    assert _seen(conn) == {"idle": ("empty", 1, 0)}
    other.commit()
    before = _workers(conn)["idle"]
    claim_next(conn, "empty", worker="idle")
    after = _workers(conn)["idle"]
    assert (after.claims, after.first_seen) == (2, before.first_seen)
    assert after.last_seen > before.last_seen


def test_claims_without_a_name_are_one_row(conn, other):
    enqueue(conn)
    claim_next(conn)
    claim_next(other, worker=None)
    claim_next(conn, worker="")
    assert _seen(conn) == {None: ("default", 2, 1), "": ("default", 1, 0)}


def test_the_queue_is_where_the_last_claim_looked(conn):
    enqueue(conn, queue="b")
    claim(conn, ["a", "b", "c"], 1, worker="w")
    assert _seen(conn)["w"] == ("b", 1, 1)
    claim(conn, ["a", "b", "c"], 1, worker="w")
    assert _seen(conn)["w"] == ("c", 2, 1)
    enqueue(conn, queue="b")
    claim_next(conn, "*", worker="w")
    assert _seen(conn)["w"] == ("*", 3, 2)
    claim_next(conn, "*", worker="w")
    assert _seen(conn)["w"] == ("*", 4, 2)


def test_all_queues_of_a_role_are_a_star(conn, role):
    enqueue(conn, queue="b")
    conn.execute("SELECT turnstile.allow_worker(%s::text::regrole, '{a,b,c}')", [role])
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    claim_next(conn, "*", worker="w")
    claim_next(conn, "*", worker="w")
    claim_next(conn, "c", worker="v")
    conn.execute("RESET ROLE")
    assert _seen(conn) == {"w": ("*", 2, 1), "v": ("c", 1, 0)}


def test_who_completes_and_claims_next_is_seen(conn, db):
    enqueue_times(conn, 2, queue="mail")
    job = claim_next(conn, "mail", worker="a")
    # A session that has never named the queue.
    stranger = db.connect()
    job = complete_and_claim_next(stranger, job, worker="b")
    assert _seen(conn) == {"a": ("mail", 1, 1), "b": ("mail", 1, 1)}
    assert complete_and_claim_next(stranger, job, queue="other", worker="b") is None
    assert _seen(conn)["b"] == ("other", 2, 1)


def test_a_claim_that_waits_is_one_claim(conn, db):
    claim_next(conn, "mail", worker="a", wait="10 milliseconds")
    assert _seen(conn) == {"a": ("mail", 1, 0)}


def test_what_is_rolled_back_was_seen(conn, db):
    enqueue_times(conn, 2)
    other = db.connect(autocommit=False)
    claim_next(other, worker="aborted")
    other.rollback()
    other.execute("SAVEPOINT s")
    claim_next(other, worker="in a savepoint")
    other.execute("ROLLBACK TO s")
    claim_next(other, worker="behind it")
    other.commit()
    assert _seen(conn) == {name: ("default", 1, 1) for name in ("aborted", "in a savepoint", "behind it")}
    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        claim(conn, None, worker="refused")
    assert "refused" not in _seen(conn)


def test_the_worker_is_that_of_the_job(conn):
    enqueue(conn)
    job = claim_next(conn, worker="a")
    assert conn.execute("SELECT worker FROM turnstile.job").fetchone() == ("a",)
    complete(conn, job)
    assert _seen(conn) == {"a": ("default", 1, 1)}


def test_long_names_are_cut_between_characters_and_stay_apart(conn):
    long = "ü" * WORKER_BYTES
    for name in (long + "a", long + "b", "x" + long):
        claim_next(conn, worker=name)
    shown = [worker for (worker,) in conn.execute("SELECT worker FROM turnstile.workers")]
    kept = "ü" * (WORKER_BYTES // 2)
    assert sorted(shown) == sorted([kept, kept, "x" + kept])
    claim_next(conn, "q" * 255, worker="w")
    assert _seen_queue(conn, "w") == "q" * 255


def _seen_queue(conn, worker: str) -> str:
    return conn.execute("SELECT queue FROM turnstile.workers WHERE worker = %s", [worker]).fetchone()[0]


def test_the_one_seen_longest_ago_gives_way(conn):
    def see(first: int, last: int) -> None:
        conn.execute(
            "SELECT FROM generate_series(%s::int, %s::int) AS n, LATERAL turnstile.claim_next(worker => 'w' || n)", [first, last]
        )

    bytes_of = "SELECT bytes FROM turnstile.memory WHERE database = current_database()"
    see(1, MOST)
    assert len(_names(conn)) == MOST
    see(1, 1)
    full = conn.execute(bytes_of).fetchone()
    see(MOST + 1, MOST + 10)
    assert _names(conn) == [f"w{n}" for n in [*range(MOST + 10, MOST, -1), 1, *range(MOST, 11, -1)]]
    see(2 * MOST, 4 * MOST)
    assert _names(conn) == [f"w{n}" for n in range(4 * MOST, 3 * MOST, -1)]
    assert conn.execute(bytes_of).fetchone() == full


def test_each_database_has_its_own(conn, db):
    claim_next(conn, worker="a")
    conn.execute("DROP EXTENSION turnstile; CREATE EXTENSION turnstile")
    assert _workers(conn) == {}
    claim_next(conn, worker="b")
    assert _seen(conn) == {"b": ("default", 1, 0)}


def test_a_rebuild_forgets_nobody(conn):
    claim_next(conn, worker="a")
    call(conn, "rebuild")
    assert _seen(conn) == {"a": ("default", 1, 0)}


@pytest.mark.parametrize("kind", ["monitor", "operator"])
def test_monitors_and_operators_see_it(conn, role, kind):
    claim_next(conn, worker="a")
    conn.execute(f"SELECT turnstile.allow_{kind}(%s::text::regrole)", [role])
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    assert _seen(conn) == {"a": ("default", 1, 0)}
    conn.execute("RESET ROLE")


@pytest.mark.parametrize("kind", ["producer", "worker"])
def test_others_do_not(conn, role, kind):
    conn.execute(f"SELECT turnstile.allow_{kind}(%s::text::regrole)", [role])
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    for query in ("TABLE turnstile.workers", "SELECT * FROM turnstile_internal.workers_seen()"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(query)
    conn.execute("RESET ROLE")
