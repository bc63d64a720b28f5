"""Unique keys across a crash of the server: who had a key keeps it, who was about to take one has never been."""

import pytest

from faults.cluster import own_cluster
from faults.witness import is_sound
from support.calls import claim_next, complete, enqueue
from support.database import fresh_database

MODES = ["until_executing", "until_executed", "until_and_while_executing", "replace"]


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_unique", max_connections=20) as cluster:
        yield cluster


@pytest.mark.parametrize("mode", MODES)
def test_a_key_outlives_a_crash_and_an_open_transaction_does_not(cluster, mode):
    with fresh_database() as db:
        conn, other = db.connect(), db.connect()
        held = enqueue(conn, unique_key="held", unique_mode=mode)
        window = enqueue(conn, queue="other", unique_key="window", unique_mode="until_expired", unique_for="1 hour")
        assert complete(conn, claim_next(conn, "other")) is True
        other.execute("BEGIN")
        lost = enqueue(other, unique_key="open", unique_mode=mode)
        cluster.restart(immediate=True)
        after = db.connect()
        is_sound(after)
        assert enqueue(after, unique_key="held", unique_mode=mode) == held
        assert enqueue(after, unique_key="window", unique_mode="until_expired", unique_for="1 hour") == window
        made = enqueue(after, unique_key="open", unique_mode=mode)
        assert after.execute("SELECT id FROM turnstile.job ORDER BY id").fetchall() == [(held,), (made,)]
        assert enqueue(after, unique_key="open", unique_mode=mode) == made
        assert lost not in (held, window)
        for expected in (held, made):
            run = claim_next(after)
            assert run.id == expected
            assert complete(after, run) is True
        assert enqueue(after, unique_key="held", unique_mode=mode) not in (held, made)
        is_sound(after)
