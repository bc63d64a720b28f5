"""A call that stops before one of its looks at the tables, while another call is made: what it saw before may be true no more.

Which calls meet is chosen at random, of all pairs; the first of them stops at each of its looks in turn. TURNSTILE_PAIRS tells how many
pairs; "all" is each of them, and takes long. Needs a build with the feature fault_injection: see `make test-injected`.
"""

import itertools
import os
import random

import psycopg
import pytest

from support import families, gated
from support.attempt import Attempt

PAIRS = os.environ.get("TURNSTILE_PAIRS", "60")
# Serializable claims and the like are refused; what else is, is overtaken.
REFUSED = [refusal.sqlstate for refusal in families.OVERTAKEN]
# More than any call has.
LOOKS = 100

pytestmark = [pytest.mark.injected, pytest.mark.timeout(0)]


def stop_halfway(db, conn, first: str, look: int, second: str, jobs: dict) -> bool:
    """Whether the first call has so many looks. It has ended then, and so has the second, which was made meanwhile."""
    one, two = db.connect(), db.connect()
    conn.execute("SELECT pg_advisory_lock(%s)", [one.info.backend_pid])
    one.execute(f"SET turnstile.pause_at = {look}")
    stopped = Attempt(lambda: one.execute(first, jobs))
    stopped.given_time(conn, one.info.backend_pid)
    has_so_many = stopped.is_alive()
    other = Attempt(lambda: two.execute(second, jobs))
    other.given_time(conn, two.info.backend_pid)
    conn.execute("SELECT pg_advisory_unlock(%s)", [one.info.backend_pid])
    stopped.decided(*REFUSED)
    other.decided(*REFUSED)
    one.close()
    two.close()
    return has_so_many


def pairs_of(verbs: dict, seed: int) -> list[tuple[str, str]]:
    every = list(itertools.product(verbs, verbs))
    return every if PAIRS == "all" else random.Random(seed).sample(every, int(PAIRS))


def test_no_limit_is_passed(db, conn, seed):
    for first, second in pairs_of(gated.VERBS, seed):
        for look in range(1, LOOKS):
            where = f"{first} stops at look {look}, for {second}"
            try:
                has_so_many = stop_halfway(db, conn, gated.VERBS[first], look, gated.VERBS[second], gated.scene(conn))
                assert gated.what_is_wrong(conn) == {}, where
                gated.run_all(conn)
                assert gated.what_is_wrong(conn) == {}, where
            except (AssertionError, psycopg.Error) as error:
                raise AssertionError(f"{where}: {error}") from error
            if not has_so_many:
                break


def test_families_come_to_their_end(db, conn, seed):
    for first, second in pairs_of(families.VERBS, seed):
        for look in range(1, LOOKS):
            where = f"{first} stops at look {look}, for {second}"
            try:
                jobs = families.scene(conn)
                has_so_many = stop_halfway(db, conn, families.VERBS[first], look, families.VERBS[second], jobs)
                families.look(conn)
                families.run_all(conn)
                assert families.what_is_wrong(conn, jobs, (first, second)) == {}, where
            except (AssertionError, psycopg.Error) as error:
                raise AssertionError(f"{where}: {error}") from error
            if not has_so_many:
                break
