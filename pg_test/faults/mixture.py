"""A database with jobs in every state, and the proof that its scheduler admits exactly what may run."""

import random

from faults.witness import has_each_once, is_sound, run_to_the_end, within
from support import naive
from support.calls import claim, complete, enqueue_many, enqueue_times, fail, ids
from support.load import QUEUES, random_jobs, random_limits, set_limit


def fill(conn, seed: int) -> tuple[dict[str, int], list[int]]:
    """Limits, jobs in every state, and some that run: what a rebuild has to count."""
    chance = random.Random(seed)
    slots = random_limits(chance)
    for gate, number in slots.items():
        set_limit(conn, gate, number)
    made = ids(enqueue_many(conn, random_jobs(chance, 300)))
    made += enqueue_times(conn, 3, queue="q1", session="s1", run_at="infinity")
    runs = claim(conn, QUEUES, 6)
    fail(conn, runs.pop(), retry_in="1 hour")
    assert complete(conn, runs.pop()) is True
    return slots, made


def admits_what_may_run(conn, slots, made) -> None:
    """Each claim is the one that the rules predict, until nothing more may run; then all jobs run."""
    naive.claim_all_as_predicted(conn, QUEUES)
    within(conn, slots)
    is_sound(conn)
    conn.execute("UPDATE turnstile.job SET run_at = now() WHERE state IN ('scheduled', 'retryable')")
    run_to_the_end(conn, QUEUES, slots)
    is_sound(conn)
    has_each_once(conn, made)
