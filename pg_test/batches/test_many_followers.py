"""Ten thousand followers: the worker that ends what they come after moves none of them, and they are released in chunks."""

import pytest

from support import rows
from support.batches import awaited, claim_awaited, ends_as
from support.calls import cancel, claim, claim_next, complete, complete_many, discard, enqueue, enqueue_many, ids, release

FOLLOWERS = 10_000
UNTOLD = "SELECT count(*)::int FROM turnstile.dependency WHERE NOT is_told AND job > %s"
BLOCKED = "SELECT count(*)::int FROM turnstile.job WHERE state = 'blocked'"
# How many rows the greatest transaction has written, of those that are now available.
LARGEST = "SELECT max(n)::int FROM (SELECT count(*) AS n FROM turnstile.job WHERE state = 'available' GROUP BY xmin::text) AS by_one"


@pytest.fixture
def first(conn):
    """A run that ten thousand jobs come after."""
    enqueue(conn)
    run = claim_next(conn)
    made = ids(enqueue_many(conn, [{"kind": "work", "after": [run.id]}] * FOLLOWERS))
    assert len(made) == FOLLOWERS
    assert conn.execute(BLOCKED).fetchone() == (FOLLOWERS,)
    return run


def test_all_are_released_in_chunks(conn, first):
    conn.execute("BEGIN")
    complete(conn, first)
    assert conn.execute(BLOCKED).fetchone() == (FOLLOWERS,), "the end itself moves none"
    conn.execute("COMMIT")
    awaited(conn, BLOCKED, 0)
    assert conn.execute(LARGEST).fetchone()[0] < FOLLOWERS / 2
    taken = []
    while runs := claim(conn, ["default"], 1_000):
        taken += ids(runs)
        assert complete_many(conn, runs) == len(runs)
    assert len(taken) == len(set(taken)) == FOLLOWERS
    assert rows.counts(conn) == {"completed": FOLLOWERS + 1}
    assert conn.execute("SELECT count(*) FROM turnstile.dependency").fetchone() == (0,)


def test_those_that_are_released_run_before_the_others_are(conn, first):
    """Nobody has to wait for the last of them."""
    complete(conn, first)
    run = claim_awaited(conn)
    assert run.kind == "work"
    complete(conn, run)
    awaited(conn, BLOCKED, 0)


def _cancel(conn, run) -> None:
    release(conn, run)
    cancel(conn, run.id)


@pytest.mark.parametrize("end", [discard, _cancel])
def test_all_are_discarded_in_chunks(conn, first, end):
    end(conn, first)
    awaited(conn, BLOCKED, 0)
    assert rows.counts(conn)["discarded"] >= FOLLOWERS
    [most] = conn.execute(
        "SELECT max(n)::int FROM (SELECT count(*) AS n FROM turnstile.job_history GROUP BY xmin::text) AS by_one"
    ).fetchone()
    assert most < FOLLOWERS / 2
    unnamed = "SELECT count(*) FROM turnstile.job_history WHERE id <> %s AND position(%s IN errors::text) = 0"
    assert conn.execute(unnamed, [first.id, str(first.id)]).fetchone() == (0,)


def test_an_end_rolled_back_releases_none(conn, first):
    conn.execute("BEGIN")
    complete(conn, first)
    conn.execute("ROLLBACK")
    assert claim_next(conn) is None
    assert conn.execute(BLOCKED).fetchone() == (FOLLOWERS,)


def test_a_rebuild_in_between_loses_none(conn, first):
    complete(conn, first)
    conn.execute("SELECT turnstile.rebuild()")
    awaited(conn, BLOCKED, 0)
    assert rows.counts(conn) == {"completed": 1, "available": FOLLOWERS}


def test_a_job_comes_after_two_thousand(conn):
    before = ids(enqueue_many(conn, [{"kind": "work"}] * 2_000))
    last = enqueue(conn, "last", after=before)
    while runs := claim(conn, ["default"], 500):
        assert last not in ids(runs)
        complete_many(conn, runs)
        if rows.counts(conn).get("completed") == 2_000:
            break
    assert claim_awaited(conn).id == last


def test_two_thousand_links_of_a_chain_are_discarded(conn):
    links = ids(enqueue_many(conn, [{"kind": "work", "ref": "r0"}] + [
        {"kind": "work", "ref": f"r{n}", "after_refs": [f"r{n - 1}"]} for n in range(1, 2_000)
    ]))  # fmt: skip
    discard(conn, claim_next(conn))
    ends_as(conn, links[-1], "discarded")
    assert rows.counts(conn) == {"discarded": 2_000}


def test_a_transaction_discards_many_links_of_a_chain(conn):
    chain = [{"kind": "work", "ref": f"r{n}", "after_refs": [f"r{n - 1}"] if n else []} for n in range(300)]
    links = ids(enqueue_many(conn, chain))
    discard(conn, claim_next(conn))
    ends_as(conn, links[-1], "discarded")
    [transactions, most] = conn.execute(
        "SELECT count(*)::int, max(n)::int FROM (SELECT count(*) AS n FROM turnstile.job_history GROUP BY xmin::text) AS by_one"
    ).fetchone()
    assert transactions <= 30
    assert most <= 50
    named = "SELECT count(*) FROM turnstile.job_history WHERE errors::text LIKE '%' || (id - 1) || ', which it comes after, is discarded%'"
    assert conn.execute(named).fetchone() == (299,)


def test_many_come_each_after_some_of_its_own(conn):
    """Memory lists fewer jobs, and each of them has several dependencies."""
    before = [[f"{group} {number}" for number in range(4)] for group in range(300)]
    jobs = [{"kind": "before", "ref": ref} for refs in before for ref in refs]
    enqueue_many(conn, jobs + [{"kind": "after", "after_refs": refs} for refs in before])
    awaited(conn, UNTOLD, 0, 0)
    while runs := claim(conn, ["default"], 1_000):
        complete_many(conn, runs)
    awaited(conn, BLOCKED, 0)


def test_those_whose_predecessors_are_locked_keep_no_others_waiting(conn, other):
    """Also where more are locked than are looked at together, and memory could not list the others."""
    before = ids(enqueue_many(conn, [{"kind": "before"}] * 500))
    other.execute("BEGIN")
    other.execute("SELECT FROM turnstile.job WHERE id = ANY (%s) FOR NO KEY UPDATE", [before[:200]])
    after = ids(enqueue_many(conn, [{"kind": "after", "after": [job]} for job in before]))
    awaited(conn, UNTOLD, 0, after[199])
    assert conn.execute(UNTOLD, [0]).fetchone() == (200,)
    other.execute("COMMIT")
    awaited(conn, UNTOLD, 0, 0)
