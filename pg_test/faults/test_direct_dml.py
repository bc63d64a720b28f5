"""A privileged user changes the tables directly while workers run: memory follows, and every job can be run."""

import random
import time

import psycopg
import pytest

from faults.witness import is_sound, passed, run_to_the_end, within
from support import naive
from support.calls import claim, claim_all, claim_next, complete, complete_many, enqueue_many, enqueue_times, fail, ids
from support.crew import Progress, together
from support.load import QUEUES, TENANTS, random_jobs, random_limits, set_limit
from support.settings import configure
from support.sweep import running_by_gate

WORKERS = 5
CHANGES = 250

_SOME = "SELECT id FROM turnstile.job WHERE state = {state!r} ORDER BY random() LIMIT {rows}"


class Meddler:
    """Changes rows of every table in random ways, one by one or in bulk, some of it rolled back."""

    def __init__(self, conn, seed: int, progress: Progress):
        self.conn, self.progress = conn, progress
        self.chance = random.Random(seed)

    def __call__(self) -> None:
        while self.progress.going:
            self.conn.execute("BEGIN")
            for _ in range(self.chance.randint(1, 3)):
                with self.conn.transaction(force_rollback=self.chance.random() < 0.1):
                    self.change()
            self.conn.execute(self.chance.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
            self.progress.add()
            time.sleep(0.005)

    def change(self) -> None:
        ways = [
            self.rerank, self.move, self.rename, self.delete_waiting, self.delete_running, self.put_back,
            self.put_off, self.start, self.insert, self.rename_tenant, self.delete_tenant, self.set_limit,
        ]  # fmt: skip
        self.chance.choice(ways)()

    def some(self, state: str) -> str:
        rows = self.chance.choice([1, 1, 3, 50])
        return f"{_SOME.format(state=state, rows=rows)} FOR UPDATE SKIP LOCKED"

    def update(self, assignments: str, state: str, *values) -> None:
        self.conn.execute(f"UPDATE turnstile.job SET {assignments} WHERE id IN ({self.some(state)})", values)

    def rerank(self) -> None:
        self.update("priority = %s", "available", self.chance.choice([100, 120, 200, 360]))

    def move(self) -> None:
        self.update("queue = %s", self.chance.choice(["available", "running"]), self.chance.choice(QUEUES))

    def rename(self) -> None:
        state = self.chance.choice(["available", "running"])
        self.update("tenant = %s, session = NULL", state, self.chance.choice(TENANTS))
        self.update("session = %s", "available", self.chance.choice(["s1", "s3", None]))

    def delete_waiting(self) -> None:
        few = _SOME.format(state="available", rows=2)
        self.conn.execute(f"DELETE FROM turnstile.job WHERE id IN ({few} FOR UPDATE SKIP LOCKED)")

    def delete_running(self) -> None:
        self.conn.execute(f"DELETE FROM turnstile.job WHERE id IN ({self.some('running')})")

    def put_back(self) -> None:
        self.update("state = 'available'", "running")

    def put_off(self) -> None:
        state = self.chance.choice(["available", "running"])
        self.update("state = 'scheduled', run_at = clock_timestamp() + interval '20 milliseconds'", state)

    def start(self) -> None:
        """Whoever sets a job running by hand passes limits on purpose; it must still be counted."""
        self.update("state = 'running', attempt = attempt + 1, session = NULL", "available")

    def insert(self) -> None:
        self.conn.execute(
            "INSERT INTO turnstile.job (queue, kind, tenant, account, priority, payload)"
            " SELECT %s, 'work', 't' || n %% 5, 'a' || n %% 3, 100 * (n %% 4), '{\"concurrency_key\": null}'"
            " FROM generate_series(1, %s) n",
            [self.chance.choice(QUEUES), self.chance.choice([1, 5, 60])],
        )

    def rename_tenant(self) -> None:
        """The jobs keep their tenant's old name, which has no row and no limit any more."""
        old, new = self.chance.sample([*TENANTS, "t9"], 2)
        self.conn.execute(
            "UPDATE turnstile.tenant SET name = %s WHERE name = %s"
            " AND NOT EXISTS (SELECT FROM turnstile.tenant WHERE name = %s)",
            [new, old, new],
        )

    def delete_tenant(self) -> None:
        self.conn.execute("DELETE FROM turnstile.tenant WHERE name = %s", [self.chance.choice([*TENANTS, "*"])])

    def set_limit(self) -> None:
        """Moves limits also while they are full, one or all of them."""
        if self.chance.random() < 0.3:
            self.conn.execute("UPDATE turnstile.account SET slots = %s", [self.chance.choice([1, 2, None])])
        else:
            name = self.chance.choice([*TENANTS, "*"])
            configure(self.conn, "tenant", name, slots=self.chance.choice([0, 1, 5, None]))


def _work(conn, progress: Progress, seed: int) -> None:
    chance = random.Random(seed)
    while progress.going:
        runs = claim(conn, chance.sample(QUEUES, 3), chance.randint(1, 4))
        time.sleep(0.002)
        for run in runs:
            try:
                way = chance.choice(["complete", "fail", "complete many"])
                if way == "complete":
                    complete(conn, run)
                elif way == "fail":
                    fail(conn, run, retry_in="5 milliseconds")
                else:
                    complete_many(conn, [run])
            except psycopg.Error as error:
                # The job was deleted, or is not running any more.
                assert error.sqlstate in ("P0002", "55000"), error


@pytest.mark.parametrize("case", range(3))
def test_random_changes_under_load(db, conn, case, seed):
    chance = random.Random(seed)
    slots = random_limits(chance)
    for gate, number in slots.items():
        set_limit(conn, gate, number)
    enqueue_many(conn, random_jobs(chance, 600))
    progress = Progress(CHANGES)
    tasks = [lambda n=n, c=db.connect(): _work(c, progress, seed + n) for n in range(WORKERS)]
    tasks.append(Meddler(db.connect(), seed, progress))
    together(tasks, progress)

    is_sound(conn)
    conn.execute("DELETE FROM turnstile.tenant")
    for gate, number in slots.items():
        set_limit(conn, gate, number)
    conn.execute("UPDATE turnstile.job SET state = 'available' WHERE state <> 'available'")
    is_sound(conn)
    naive.claim_all_as_predicted(conn, QUEUES)
    within(conn, slots)
    run_to_the_end(conn, QUEUES, slots)
    is_sound(conn)


def test_limits_moved_while_full_interrupt_no_run_and_admit_up_to_the_new_one(db, conn, other):
    configure(conn, "tenant", "acme", slots=4)
    enqueue_times(conn, 20, tenant="acme")
    runs = claim_all(conn)
    assert len(runs) == 4
    for slots in (2, 0, 1, 3):
        configure(other, "tenant", "acme", slots=slots)
        assert claim_next(conn) is None
        is_sound(conn)
    assert complete_many(conn, runs[:2]) == 2
    assert len(claim_all(conn)) == 1
    configure(other, "tenant", "acme", slots=None)
    assert len(claim_all(conn)) == 15
    is_sound(conn)
    configure(other, "tenant", "acme", slots=1)
    assert passed(running_by_gate(conn), {"tenant acme": 1})
    conn.execute("DELETE FROM turnstile.job WHERE state = 'running'")
    is_sound(conn)


def test_a_renamed_tenant_takes_its_limit_along(db, conn, other):
    configure(conn, "tenant", "acme", slots=1)
    old = enqueue_times(conn, 3, tenant="acme")
    new = enqueue_times(conn, 3, tenant="globex")
    assert ids(claim_all(conn)) == [old[0], *new]
    other.execute("UPDATE turnstile.tenant SET name = 'globex' WHERE name = 'acme'")
    assert ids(claim_all(conn)) == old[1:]
    is_sound(conn)
    other.execute("UPDATE turnstile.job SET tenant = 'globex' WHERE tenant = 'acme'")
    is_sound(conn)
    enqueue_times(conn, 2, tenant="globex")
    assert claim_next(conn) is None
    run_to_the_end(conn, ["default"], {"tenant globex": 1})
    is_sound(conn)


def test_jobs_changed_by_an_open_transaction_that_claims_too_are_no_difference(db, conn, other):
    """As open claims: an abort puts the head back."""
    made = enqueue_times(conn, 4)
    enqueue_times(conn, 1, tenant="acme")
    conn.execute("BEGIN; UPDATE turnstile.job SET priority = 1 WHERE id = (SELECT min(id) FROM turnstile.job)")
    assert claim_next(conn).id == made[1]
    is_sound(other)
    conn.execute("ROLLBACK")
    is_sound(other)
    assert ids(claim_all(other))[:4] == made
    is_sound(other)
