"""`transaction_timeout`, from PostgreSQL 17 on, ends no process that sleeps between two transactions, but one inside of its own."""

import time

import psycopg
import pytest

from support.calls import claim_next, enqueue
from support.lapse import until
from support.sleepers import Sleeper, await_asleep

TIMEOUT = 1
WAIT = "CALL turnstile.wait_for_job(ARRAY['default'], '60 s')"
ENDED = "25P04"


@pytest.fixture
def sleepy(db):
    """A connection whose transactions may last a second."""
    conn = db.connect()
    if conn.info.server_version < 170_000:
        pytest.skip("this server has no transaction_timeout")
    conn.execute(f"SET transaction_timeout = '{TIMEOUT} s'")
    return conn


def test_a_process_that_sleeps_between_transactions_sleeps_on(conn, sleepy):
    sleeper = Sleeper(sleepy, WAIT)
    await_asleep(conn, 1)
    time.sleep(2 * TIMEOUT)
    enqueue(conn)
    assert sleeper.returned().error is None
    assert sleepy.execute("SELECT count(*) FROM turnstile.claim_next()").fetchone() == (1,)


def test_the_time_counts_from_the_end_of_the_sleep(conn, sleepy):
    conn.execute(f"CREATE PROCEDURE wait_and_idle() LANGUAGE plpgsql AS $$ BEGIN {WAIT}; PERFORM pg_sleep(60); END $$")
    sleeper = Sleeper(sleepy, "CALL wait_and_idle()")
    await_asleep(conn, 1)
    enqueue(conn)
    assert sleeper.returned().error.sqlstate == ENDED


def test_a_claim_that_waits_inside_a_transaction_ends_with_it(sleepy):
    with pytest.raises(psycopg.Error) as raised:
        sleepy.execute("SELECT * FROM turnstile.claim_next(wait => '60 s')")
    assert raised.value.sqlstate == ENDED


SLOWLY = """
CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN NEW; END';
CREATE TRIGGER slowly BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION slowly()
"""
DUE = "INSERT INTO turnstile.job (kind, state, run_at) VALUES ('due', 'scheduled', '2000-01-01') RETURNING id"


def test_the_upkeep_worker_may_take_longer(db, conn, sleepy):
    conn.execute(SLOWLY)
    conn.execute(f"ALTER DATABASE {db.name} SET transaction_timeout = '{TIMEOUT} s'")
    claim_next(conn, "another queue")
    (job,) = conn.execute(DUE).fetchone()
    until(conn, job, "available")
