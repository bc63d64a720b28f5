"""A call that stops before one of its looks at the tables, while another call is made: what it saw before may be true no more.

Which calls meet is chosen at random, of all pairs; the first of them stops at each of its looks in turn. TURNSTILE_PAIRS tells how many
pairs; "all" is each of them, and takes long. Needs a build with the feature fault_injection: see `make test-injected`.
"""

import itertools
import os
import random

import psycopg
import pytest

from support import families, gated, keyed
from support.attempt import Attempt
from support.errors import FULL

PAIRS = os.environ.get("TURNSTILE_PAIRS", "60")
# A backlog may be full.
REFUSED = [*(refusal.sqlstate for refusal in families.OVERTAKEN), FULL]
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
    # Nobody's claim waits, whatever it sees to in passing.
    families.look(conn)
    conn.execute("SELECT pg_advisory_unlock(%s)", [one.info.backend_pid])
    stopped.decided(*REFUSED)
    other.decided(*REFUSED)
    one.close()
    two.close()
    return has_so_many


def pairs_of(verbs: dict, seed: int) -> list[tuple[str, str]]:
    every = list(itertools.product(verbs, verbs))
    return every if PAIRS == "all" else random.Random(seed).sample(every, int(PAIRS))


def at_each_look(first: str, second: str, meet) -> None:
    """Lets them meet at each look of the first, which `meet` says whether there is."""
    for look in range(1, LOOKS):
        where = f"{first} stops at look {look}, for {second}"
        try:
            if not meet(look, where):
                return
        except (AssertionError, psycopg.Error) as error:
            raise AssertionError(f"{where}: {error}") from error
    pytest.fail(f"{first} has more looks than were tried")


@pytest.mark.parametrize("about", [gated, keyed], ids=["limits", "keys"])
def test_no_limit_is_passed(db, conn, seed, about):
    def meet(look: int, where: str) -> bool:
        has_so_many = stop_halfway(db, conn, about.VERBS[first], look, about.VERBS[second], about.scene(conn))
        assert about.what_is_wrong(conn) == {}, where
        about.run_all(conn)
        assert about.what_is_wrong(conn) == {}, where
        return has_so_many

    for first, second in pairs_of(about.VERBS, seed):
        at_each_look(first, second, meet)


def test_families_come_to_their_end(db, conn, seed):
    def meet(look: int, where: str) -> bool:
        jobs = families.scene(conn)
        has_so_many = stop_halfway(db, conn, families.VERBS[first], look, families.VERBS[second], jobs)
        families.look(conn)
        families.run_all(conn)
        assert families.what_is_wrong(conn, jobs, (first, second)) == {}, where
        return has_so_many

    for first, second in pairs_of(families.VERBS, seed):
        at_each_look(first, second, meet)
