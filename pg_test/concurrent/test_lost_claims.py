"""Lost transactions: whatever ends them, the jobs and slots that they held are back at once."""

import contextlib
import random
import time

import psycopg
import pytest

from support import naive, rows
from support.calls import claim, claim_next, complete, complete_and_claim_next, enqueue, enqueue_many, ids
from support.crew import Progress, together
from support.load import QUEUES, random_jobs, random_limits, set_limit
from support.losses import WAYS, terminate
from support.settings import configure


def _claim(conn, run):
    assert claim_next(conn) is not None


def _claim_several(conn, run):
    assert len(claim(conn, ["default"], 10)) > 1


def _complete(conn, run):
    complete(conn, run)


def _hand_on(conn, run):
    assert complete_and_claim_next(conn, run) is not None


def _enqueue_and_claim(conn, run):
    enqueue(conn, tenant="acme", priority=-5)
    assert claim_next(conn) is not None


def _raise_the_limit_and_claim(conn, run):
    configure(conn, "tenant", "acme", slots=9)
    assert claim_next(conn) is not None


CHANGES = [_claim, _claim_several, _complete, _hand_on, _enqueue_and_claim, _raise_the_limit_and_claim]


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__.strip("_") for change in CHANGES])
@pytest.mark.parametrize("lose", WAYS.values(), ids=WAYS.keys())
def test_what_a_lost_transaction_held_is_back_at_once(db, conn, lose, change):
    configure(conn, "tenant", "acme", slots=3)
    acme = [enqueue(conn, tenant="acme") for _ in range(6)]
    session = [enqueue(conn, session="chat-1") for _ in range(3)]
    run = claim_next(conn)
    before = rows.everything(conn)

    loser = db.connect()
    loser.execute("BEGIN; SAVEPOINT s")
    change(loser, run)
    lose(loser, conn)

    assert rows.everything(conn) == before
    assert ids(naive.claim_all_as_predicted(conn, ["default"])) == [*acme[1:3], session[0]]
    assert complete_and_claim_next(conn, run).id == acme[3]


@pytest.mark.parametrize("lose", WAYS.values(), ids=WAYS.keys())
def test_a_lost_transaction_does_not_take_back_what_was_committed(db, conn, lose):
    configure(conn, "queue", "default", max_running=2)
    made = [enqueue(conn) for _ in range(5)]
    loser = db.connect()
    kept = claim_next(loser)
    loser.execute("BEGIN; SAVEPOINT s")
    assert claim_next(loser).id == made[1]
    assert claim_next(conn) is None
    lose(loser, conn)
    assert rows.state(conn, kept.id) == "running"
    assert claim_next(conn).id == made[1]
    assert claim_next(conn) is None


def test_hundreds_of_lost_transactions_leak_nothing(db, conn):
    configure(conn, "queue", "default", max_running=3)
    made = [enqueue(conn) for _ in range(4)]
    for n in range(150):
        loser = db.connect()
        loser.execute("BEGIN; SAVEPOINT s")
        assert ids(claim(loser, ["default"], 5)) == made[:3]
        list(WAYS.values())[n % 5](loser, conn)
        loser.close()
    assert ids(naive.claim_all_as_predicted(conn, ["default"])) == made[:3]


def test_backends_terminated_under_load_lose_and_leak_nothing(db, conn, seed):
    """Each worker claims, works and completes in one transaction, together with a row of its own: a killed one leaves
    neither. In the end every job has been worked exactly once, and every gate is empty."""
    chance = random.Random(seed)
    conn.execute("CREATE TABLE worked (job_id bigint PRIMARY KEY)")
    for gate, slots in random_limits(chance).items():
        set_limit(conn, gate, slots)
    made = ids(enqueue_many(conn, random_jobs(chance, 400)))
    progress = Progress(len(made))
    victims: dict[int, int] = {}
    killed = []

    def work(number: int):
        chance = random.Random(seed + number)
        while progress.going:
            with contextlib.suppress(psycopg.OperationalError), contextlib.closing(db.connect()) as connection:
                victims[number] = connection.info.backend_pid
                while progress.going:
                    _work_once(connection, chance)

    def _work_once(connection, chance):
        with connection.transaction():
            jobs = claim(connection, chance.sample(QUEUES, 3), chance.randint(1, 3))
            for job in jobs:
                time.sleep(chance.random() * 0.003)
                connection.execute("INSERT INTO worked VALUES (%s)", [job.id])
                complete(connection, job)
        if not jobs:
            progress.idle()

    def watch():
        """Kills a worker every now and then, and counts what is done, which the killed cannot say for certain."""
        connection, chance = db.connect(), random.Random(seed)
        while progress.going:
            done = connection.execute("SELECT count(*) FROM worked").fetchone()[0]
            if done > progress.ended:
                progress.add(done - progress.ended)
            if victims and done > 8 * len(killed):
                pid = chance.choice(list(victims.values()))
                terminate(connection, pid)
                killed.append(pid)
            time.sleep(0.005)

    together([watch, *[lambda n=n: work(n) for n in range(8)]], progress)

    assert killed
    assert [row[0] for row in conn.execute("SELECT job_id FROM worked ORDER BY 1")] == sorted(made)
    assert rows.counts(conn) == {"completed": len(made)}
    enqueue_many(conn, random_jobs(chance, 300))
    assert len(naive.claim_all_as_predicted(conn, QUEUES)) > 0
