"""Slots under load: 16 connections work off 1,000 jobs of two tenants, never more at once than each may have."""

import threading
import time

import pytest

from support.calls import claim, claim_next, complete, complete_and_claim_next, complete_many, enqueue_many
from support.crew import STALL, Progress, together
from support.settings import configure
from support.sweep import most_finished_at_once

SLOTS = {"acme": 5, "globex": 3}
JOBS_EACH = 500
CONNECTIONS = 16
HOLD = 0.003


def _one_by_one(conn, first, progress: Progress) -> int:
    job = first
    completed = 0
    while progress.going:
        if job is None:
            progress.idle()
        else:
            time.sleep(HOLD)
            assert complete(conn, job) is True
            completed += 1
            progress.add()
        job = claim_next(conn)
    return completed


def _handed_on(conn, first, progress: Progress) -> int:
    job = first
    completed = 0
    while progress.going:
        if job is None:
            progress.idle()
            job = claim_next(conn)
        else:
            time.sleep(HOLD)
            job = complete_and_claim_next(conn, job)
            completed += 1
            progress.add()
    return completed


def _in_batches(conn, first, progress: Progress) -> int:
    jobs = [first] if first else []
    completed = 0
    while progress.going:
        if jobs:
            time.sleep(HOLD)
            completed += complete_many(conn, jobs)
            progress.add(len(jobs))
        else:
            progress.idle()
        jobs = claim(conn, ["default"], 4)
    return completed


def _in_one_transaction(conn, first, progress: Progress) -> int:
    job = first
    completed = 0
    while progress.going:
        ended = 0
        with conn.transaction():
            if job:
                time.sleep(HOLD)
                ended += complete(conn, job)
            job = claim_next(conn)
        completed += ended
        progress.add(ended)
        if job is None:
            progress.idle()
    return completed


@pytest.mark.parametrize("work", [_one_by_one, _handed_on, _in_batches, _in_one_transaction])
def test_tenants_reach_their_slots_and_never_pass_them(db, conn, work):
    for tenant, slots in SLOTS.items():
        configure(conn, "tenant", tenant, slots=slots)
    jobs = [{"kind": "work", "tenant": tenant} for _ in range(JOBS_EACH) for tenant in SLOTS]
    made = sorted(answer.id for answer in enqueue_many(conn, jobs))
    progress = Progress(len(made))
    all_have_claimed = threading.Barrier(CONNECTIONS)
    firsts = []

    def worker():
        connection = db.connect()
        first = claim_next(connection)
        firsts.append(first)
        all_have_claimed.wait(STALL)
        return work(connection, first, progress)

    completed = together([worker] * CONNECTIONS, progress)

    # Nobody had ended anything when all had asked once: just these eight may have been admitted.
    tenants = [job.tenant for job in firsts if job]
    assert {tenant: tenants.count(tenant) for tenant in SLOTS} == SLOTS
    assert sum(completed) == len(made)
    ended = conn.execute("SELECT id, state::text, attempt FROM turnstile.job_history ORDER BY id").fetchall()
    assert ended == [(job_id, "completed", 1) for job_id in made]
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)
    most = most_finished_at_once(conn)
    assert {tenant: most[f"tenant {tenant}"] for tenant in SLOTS} == SLOTS
