"""A claim that does not wait for the disk does not wait for the standby: a promotion may take it back, and then hands out another attempt."""

import pytest
from psycopg import errors

from failover.pair import DATABASE
from support import rows
from support.calls import claim_next, complete, enqueue
from support.disk import no_log_writer
from support.settings import configure


def test_a_claim_that_the_standby_has_not_received(synchronous_pair):
    pair = synchronous_pair
    with pair.primary.connect(DATABASE) as conn:
        configure(conn, "queue", "quick", durable_claims=False)
        job = enqueue(conn, queue="quick", max_attempts=3)
        with no_log_writer(conn):
            lost = claim_next(conn, "quick")
            pair.kill_primary()
    with pair.primary.connect(DATABASE) as conn:
        assert (lost.attempt, rows.live(conn, job).state) == (1, "available")
        with pytest.raises(errors.ObjectNotInPrerequisiteState):
            complete(conn, lost)
        run = claim_next(conn, "quick")
        assert (run.id, run.attempt, run.attempts_left) == (job, 2, 2)
        with pytest.raises(errors.ObjectNotInPrerequisiteState):
            complete(conn, lost)
        assert complete(conn, run) is True
