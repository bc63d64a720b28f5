"""Two calls about jobs that wait for each other, where the second comes before the first is committed or undone.

Which calls meet is chosen at random, of all pairs. Whatever they are, nobody's claim waits for them, and then all comes to its end: each
parent after its children, each job after those that it comes after. TURNSTILE_PAIRS tells how many; "all" is each of them, and takes long.
"""

import contextlib
import itertools
import os
import random

import psycopg
import pytest

from support.attempt import Attempt
from support.families import OVERTAKEN, VERBS, look, run_all, scene, what_is_wrong

PAIRS = os.environ.get("TURNSTILE_PAIRS", "120")
ENDS = ["COMMIT", "ROLLBACK", "ROLLBACK TO SAVEPOINT before; COMMIT"]


def meet(db, first: str, second: str, end: str, has_looked: bool) -> dict:
    """One call in a block that stays open until another has been made, or waits for it; then all that is left runs. The jobs."""
    conn, holder, other = (db.connect() for _ in range(3))
    jobs = scene(conn)
    if has_looked:
        look(conn)
    holder.execute("BEGIN; SAVEPOINT before")
    with contextlib.suppress(*OVERTAKEN), holder.transaction():
        holder.execute(VERBS[first], jobs)
    attempt = Attempt(lambda: other.execute(VERBS[second], jobs))
    attempt.given_time(conn, other.info.backend_pid)
    assert second != "claim" or not attempt.is_alive(), "a claim waits"
    look(conn)
    holder.execute(end)
    attempt.decided(*(refusal.sqlstate for refusal in OVERTAKEN))
    run_all(conn)
    for connection in (conn, holder, other):
        connection.close()
    return jobs


def pairs_for(chance: random.Random) -> list[tuple[str, str, str, bool]]:
    every = list(itertools.product(VERBS, VERBS, ENDS, [False, True]))
    return every if PAIRS == "all" else chance.sample(every, int(PAIRS))


@pytest.mark.timeout(0)
def test_pairs_of_calls_leave_nothing_behind(db, conn, seed):
    for pair in pairs_for(random.Random(seed)):
        try:
            jobs = meet(db, *pair)
        except (AssertionError, psycopg.Error) as error:
            raise AssertionError(f"{pair}: {error}") from error
        assert what_is_wrong(conn, jobs, pair) == {}, pair
