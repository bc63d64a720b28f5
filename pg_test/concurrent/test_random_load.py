"""A random load on every gate at once: no limit is passed at any commit, and every job ends once.

Three witnesses: what the clients saw, a sampler that counts running rows in one snapshot, and history.
"""

import random
import time

import pytest

from support import naive, rows
from support.calls import enqueue_many
from support.client import RestlessClient, SteadyClient
from support.crew import Progress, together
from support.load import QUEUES, random_jobs, random_limits, random_slots, set_limit
from support.runlog import Limits, repeated, violations
from support.sweep import most_finished_at_once, running_by_gate

CONNECTIONS = 8
JOBS = 1500


class Sampler:
    """Counts the committed runs behind every gate, again and again, until the work is done."""

    def __init__(self, conn, progress: Progress):
        self.conn, self.progress = conn, progress
        self.most: dict[str, int] = {}

    def __call__(self):
        while self.progress.going:
            for gate, running in running_by_gate(self.conn).items():
                self.most[gate] = max(self.most.get(gate, 0), running)


class Governor:
    """Moves limits up and down and re-ranks jobs under load, writing down when."""

    def __init__(self, conn, seed: int, progress: Progress, limits: Limits, gates):
        self.conn, self.progress, self.limits, self.gates = conn, progress, limits, list(gates)
        self.chance = random.Random(seed)

    def __call__(self):
        while self.progress.going:
            gate = self.chance.choice(self.gates)
            slots = random_slots(self.chance, gate)
            if gate.startswith("queue ") and self.chance.random() < 0.3:
                slots = None
            sent = time.monotonic()
            set_limit(self.conn, gate, slots)
            self.limits.change(gate, slots, sent, time.monotonic())
            self.conn.execute(
                "UPDATE turnstile.job SET priority = %s WHERE id IN (SELECT id FROM turnstile.job"
                " WHERE state = 'available' ORDER BY id DESC OFFSET %s LIMIT 5)",
                [self.chance.choice([120, 240, 360]), self.chance.randrange(50)],
            )
            time.sleep(0.003)


def _produce(conn, chance: random.Random, batches: list[list[dict]]) -> list[int]:
    """Enqueues the batches one by one, some behind savepoints, some only after a first try was rolled back."""
    made = []
    for batch in batches:
        if chance.random() < 0.3:
            conn.execute("BEGIN")
            enqueue_many(conn, batch)
            conn.execute("ROLLBACK")
        conn.execute("BEGIN")
        kept = enqueue_many(conn, batch[:5])
        conn.execute("SAVEPOINT s")
        enqueue_many(conn, batch)
        conn.execute("ROLLBACK TO SAVEPOINT s")
        kept += enqueue_many(conn, batch[5:])
        conn.execute("COMMIT")
        made += [answer.id for answer in kept]
    return made


def _everything_ended_once(conn, made: list[int]) -> None:
    ended = [row[0] for row in conn.execute("SELECT id FROM turnstile.job_history ORDER BY id")]
    assert ended == sorted(made)
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)


def _nothing_is_held_any_more(conn, chance: random.Random) -> None:
    """Fresh jobs are admitted exactly as the rules say of gates that hold nobody."""
    enqueue_many(conn, random_jobs(chance, 300))
    assert len(naive.claim_all_as_predicted(conn, QUEUES)) > 0


def _beyond(most: dict[str, int], limits: Limits) -> dict:
    return {gate: n for gate, n in most.items() if n > limits.greatest(gate)}


@pytest.mark.parametrize("case", range(3))
@pytest.mark.parametrize("client", [SteadyClient, RestlessClient])
def test_no_limit_is_passed_and_every_job_ends_once(db, conn, client, case, seed):
    chance = random.Random(seed)
    slots = random_limits(chance)
    for gate, number in slots.items():
        set_limit(conn, gate, number)
    limits = Limits(slots)
    progress = Progress(JOBS)
    waiting = [answer.id for answer in enqueue_many(conn, random_jobs(chance, JOBS // 2))]
    batches = [random_jobs(chance, 10) for _ in range((JOBS - len(waiting)) // 10)]

    clients = [client(db.connect(), seed + n, progress) for n in range(CONNECTIONS)]
    sampler = Sampler(db.connect(), progress)
    tasks = [worker.work for worker in clients]
    tasks += [sampler, lambda: waiting.extend(_produce(conn, chance, batches))]
    if client is RestlessClient:
        tasks.append(Governor(db.connect(), seed, progress, limits, slots))
    together(tasks, progress)

    runs = [run for worker in clients for run in worker.log.runs]
    assert violations(runs, limits) == []
    assert repeated(runs) == []
    assert _beyond(sampler.most, limits) == {}
    assert _beyond(most_finished_at_once(conn), limits) == {}
    _everything_ended_once(conn, waiting)
    assert sampler.most, "the sampler saw nothing"
    assert any(n == slots.get(gate) for gate, n in sampler.most.items()), "no limit was even reached"
    assert set(rows.counts(conn)) <= {"completed", "discarded"}
    _nothing_is_held_any_more(conn, chance)
