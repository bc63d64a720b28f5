"""Jobs that an open transaction holds without claiming them: claims pass over them, and do not try them again and again."""

import pytest

from support.calls import call, claim, claim_next, enqueue, enqueue_many, ids

MANY = 600
# What a claim tries in a lane before it tells what it has found.
MOST = 10_000
READ = "SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'turnstile.job'::regclass"
# With a trigger of a user's, claims are made by statements.
TRIGGER = """
CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER pass BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass();
"""


@pytest.fixture(params=["directly", "by statements"])
def held(request, conn, other):
    """The job of another tenant, behind many that an open transaction is about to cancel."""
    if request.param == "by statements":
        conn.execute(TRIGGER)
    enqueue_many(conn, [{"kind": "work", "tenant": "acme"}] * MANY)
    free = enqueue(conn, tenant="globex")
    other.execute("BEGIN")
    assert call(other, "cancel_many", tenant="acme", max_jobs=MANY)[0][0] == MANY
    return free


def _read(conn) -> int:
    """Rows that the transaction has read, and some before it."""
    return conn.execute(READ).fetchone()[0]


def test_they_are_tried_once_by_a_claim(conn, held):
    conn.execute("BEGIN")
    before = _read(conn)
    assert claim_next(conn).id == held
    read = _read(conn) - before
    # Each is tried, and looked at again for where the lane goes on.
    assert MANY <= read < 4 * MANY
    conn.execute("COMMIT")


def test_they_are_claimed_once_they_are_free(conn, other, held):
    assert [run.id for run in claim(conn, ["default"], MANY + 1)] == [held]
    other.execute("ROLLBACK")
    assert len(claim(conn, ["default"], MANY + 1)) == MANY


def test_one_of_them_that_is_set_free_is_found(conn, other, held):
    assert claim_next(conn).id == held
    other.execute("COMMIT")
    late = enqueue(conn, tenant="acme")
    assert claim_next(conn).id == late
    assert claim_next(conn) is None


def test_the_claims_after_that_leave_them_alone(conn, other):
    """For some time. So it is enough that one claim of twenty comes soon."""
    enqueue_many(conn, [{"kind": "work", "tenant": "acme"}] * MOST)
    free = ids(enqueue_many(conn, [{"kind": "work", "tenant": "globex"}] * 20))
    other.execute("BEGIN")
    other.execute("SELECT FROM turnstile.job WHERE tenant = 'acme' FOR UPDATE")
    read = []
    for job in free:
        conn.execute("BEGIN")
        before = _read(conn)
        assert claim_next(conn).id == job
        read.append(_read(conn) - before)
        conn.execute("COMMIT")
    assert read[0] >= MOST
    assert min(read) < MOST // 10


@pytest.mark.parametrize("free", [MOST - 1, MOST, MOST + 1])
def test_however_many_are_held_the_one_that_is_free_is_found(conn, other, free):
    jobs = ids(enqueue_many(conn, [{"kind": "work"}] * (MOST + 5)))
    other.execute("BEGIN")
    other.execute("SELECT FROM turnstile.job WHERE id <> %s FOR UPDATE", [jobs[free - 1]])
    assert claim_next(conn).id == jobs[free - 1]
    assert claim_next(conn) is None
    other.execute("COMMIT")
    assert claim_next(conn).id == jobs[0]


def test_jobs_behind_very_many_batches_that_open_are_found(conn):
    conn.execute("SELECT turnstile.enqueue_batch('parent', children => '[{\"kind\": \"child\", \"queue\": \"other\"}]') FROM generate_series(1, 64)")
    free = ids(enqueue_many(conn, [{"kind": "work"}] * 35))
    found = [run.id for _ in range(3) for run in claim(conn, ["default"], 40)]
    assert found == free


def test_a_wait_is_over_in_time_whatever_is_held(conn, other):
    """More lanes than can be set aside: memory lists their jobs all the time."""
    enqueue_many(conn, [{"kind": "work", "tenant": f"t{n}"} for n in range(300)])
    other.execute("BEGIN; SELECT FROM turnstile.job FOR UPDATE")
    conn.execute("SET statement_timeout = '20s'")
    assert claim_next(conn, wait="200 milliseconds") is None
    conn.execute("CALL turnstile.wait_for_job('{default}', '200 milliseconds')")
