"""Transactions cut short, nested, or made of odd pieces: memory follows what was committed, and nothing else."""

import contextlib
import random
import threading
import time

import psycopg
import pytest

from faults.witness import has_each_once, is_sound, run_to_the_end, within
from support import naive
from support.calls import (
    claim, claim_all, claim_next, complete, complete_and_claim_next, complete_many, enqueue, enqueue_times, fail, ids,
    release,
)  # fmt: skip
from support.errors import NOT_SUPPORTED, refused
from support.losses import terminate
from support.settings import configure

SLOTS = {"tenant acme": 4, "queue default": 9}


def _limits(conn) -> None:
    configure(conn, "tenant", "acme", slots=SLOTS["tenant acme"])
    configure(conn, "queue", "default", max_running=SLOTS["queue default"])


def _fill(conn) -> list[int]:
    _limits(conn)
    made = enqueue_times(conn, 15, tenant="acme")
    made += [enqueue(conn, session=f"chat-{n % 4}") for n in range(15)]
    return made + enqueue_times(conn, 30, tenant="globex", priority=1)


def _all_is_well(conn, made: list[int]) -> None:
    is_sound(conn)
    naive.claim_all_as_predicted(conn, ["default"])
    within(conn, SLOTS)
    run_to_the_end(conn, ["default"], SLOTS)
    is_sound(conn)
    has_each_once(conn, made)


def _slow_rows(conn) -> None:
    """Every row that starts to run waits a little, so that a claim can be met in its middle."""
    conn.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(0.01); RETURN NEW; END';"
        "CREATE TRIGGER slow BEFORE UPDATE ON turnstile.job FOR EACH ROW WHEN (NEW.state = 'running')"
        " EXECUTE FUNCTION slow()"
    )


def _fast_rows(conn) -> None:
    conn.execute("DROP TRIGGER slow ON turnstile.job")


def test_a_statement_timeout_in_the_middle_of_a_claim_gives_everything_back(db, conn, other, seed):
    chance = random.Random(seed)
    made = _fill(conn)
    _slow_rows(conn)
    cut_short = 0
    for _ in range(40):
        other.execute(f"SET statement_timeout = {chance.randint(1, 60)}")
        try:
            for run in claim(other, ["default"], 5):
                other.execute("SET statement_timeout = 0")
                complete(other, run)
        except psycopg.errors.QueryCanceled:
            cut_short += 1
        is_sound(conn)
        within(conn, SLOTS)
    assert cut_short > 5
    _fast_rows(conn)
    _all_is_well(conn, made)


def _interrupted(db, conn, seed: int, interrupt) -> int:
    """Workers claim and complete while one after the other is interrupted; returns how many noticed."""
    noticed, stop = [], threading.Event()
    pids: dict[int, int] = {}

    def work(number: int) -> None:
        while not stop.is_set():
            with contextlib.closing(db.connect()) as worker, contextlib.suppress(psycopg.OperationalError):
                pids[number] = worker.info.backend_pid
                while not stop.is_set():
                    try:
                        complete_many(worker, claim(worker, ["default"], 3))
                    except psycopg.errors.QueryCanceled:
                        noticed.append(number)
                    except psycopg.OperationalError:
                        noticed.append(number)
                        raise

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    chance = random.Random(seed)
    give_up = time.monotonic() + 60
    while len(noticed) < 12 and time.monotonic() < give_up:
        time.sleep(chance.random() * 0.03)
        if pids:
            interrupt(conn, chance.choice(list(pids.values())))
        within(conn, SLOTS)
    stop.set()
    for thread in threads:
        thread.join()
    return len(noticed)


INTERRUPTS = {
    "pg_cancel_backend": lambda conn, pid: conn.execute("SELECT pg_cancel_backend(%s)", [pid]),
    "pg_terminate_backend": terminate,
}


@pytest.mark.parametrize("interrupt", INTERRUPTS.values(), ids=INTERRUPTS.keys())
def test_claims_interrupted_in_their_middle_give_everything_back(db, conn, interrupt, seed):
    made = _fill(conn)
    more = conn.execute("SELECT turnstile.enqueue('work', tenant => 'acme') FROM generate_series(1, 2000)").fetchall()
    made += [row[0] for row in more]
    _slow_rows(conn)
    assert _interrupted(db, conn, seed, interrupt) >= 12
    _fast_rows(conn)
    conn.execute("DELETE FROM turnstile.job WHERE state = 'available' AND id > %s", [made[0] + 400])
    kept = [row[0] for row in conn.execute("SELECT id FROM turnstile.jobs")]
    is_sound(conn)
    within(conn, SLOTS)
    run_to_the_end(conn, ["default"], SLOTS)
    is_sound(conn)
    has_each_once(conn, kept)


class _Nest:
    """Random verbs behind random savepoints. Runs that a rollback brings back can be ended again."""

    def __init__(self, conn, chance: random.Random, ways: list[str]):
        self.conn, self.chance, self.ways = conn, chance, ways
        self.made: list[int] = []
        self.runs: list = []
        self.saved: list[tuple[list, list]] = []

    def act(self) -> None:
        way = self.chance.choice(self.ways)
        if way == "enqueue":
            self.made.append(enqueue(self.conn, tenant=self.chance.choice(["acme", "globex", None])))
        elif way == "claim":
            self.runs += claim(self.conn, ["default"], self.chance.randint(1, 3))
        elif way == "rerank":
            where = "state = 'available' AND id % 7 = 0"
            self.conn.execute(f"UPDATE turnstile.job SET priority = 1 - priority WHERE {where}")
        elif way == "limit":
            configure(self.conn, "tenant", "globex", slots=self.chance.choice([None, 5, 20]))
        elif self.runs:
            self.end(self.runs.pop(self.chance.randrange(len(self.runs))), way)

    def end(self, run, way: str) -> None:
        if way == "hand on":
            job = complete_and_claim_next(self.conn, run)
            self.runs += [job] if job else []
        else:
            self.chance.choice([complete, release, lambda c, r: fail(c, r, retry_in="0 seconds")])(self.conn, run)

    def save(self) -> None:
        self.conn.execute(f"SAVEPOINT s{len(self.saved)}")
        self.saved.append((list(self.made), list(self.runs)))

    def back(self) -> None:
        """Undoes down to a random savepoint, which stays."""
        depth = self.chance.randrange(len(self.saved))
        self.conn.execute(f"ROLLBACK TO SAVEPOINT s{depth}")
        self.made, self.runs = (list(part) for part in self.saved[depth])
        del self.saved[depth + 1 :]

    def release(self) -> None:
        depth = self.chance.randrange(len(self.saved))
        self.conn.execute(f"RELEASE SAVEPOINT s{depth}")
        del self.saved[depth:]


_VERBS = ["enqueue", "claim", "claim", "end", "end", "hand on", "limit"]
_WAYS = {"verbs": _VERBS, "verbs and UPDATE": [*_VERBS, "rerank"]}


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("ways", _WAYS.values(), ids=_WAYS.keys())
@pytest.mark.parametrize("case", range(2))
def test_random_savepoints_up_to_fifty_deep(conn, other, case, ways, end, seed):
    chance = random.Random(seed)
    made = _fill(conn)
    for _ in range(3):
        nest = _Nest(conn, chance, ways)
        conn.execute("BEGIN")
        deepest = 0
        while deepest < 50:
            nest.act()
            nest.save()
            if chance.random() < 0.08:
                chance.choice([nest.back, nest.back, nest.release])()
            deepest = max(deepest, len(nest.saved))
            if deepest % 10 == 0 and ways is _VERBS:
                is_sound(other)
        for _ in range(4):
            nest.back()
            nest.act()
        conn.execute(end)
        made += nest.made if end == "COMMIT" else []
        is_sound(other)
        within(other, SLOTS)
        has_each_once(other, made)
    conn.execute("DELETE FROM turnstile.tenant WHERE name = 'globex'")
    run_to_the_end(conn, ["default"], SLOTS)
    _all_is_well(conn, made)


def test_a_thousand_savepoints_that_stay(conn, other):
    made = _fill(conn)
    made += enqueue_times(conn, 1000, priority=-1)
    conn.execute("UPDATE turnstile.queue SET max_running = NULL WHERE name = 'default'")
    conn.execute("BEGIN")
    for number in range(1000):
        conn.execute(f"SAVEPOINT s{number}")
        assert claim_next(conn) is not None
    is_sound(other)
    conn.execute("ROLLBACK TO SAVEPOINT s500")
    is_sound(other)
    conn.execute("COMMIT")
    is_sound(other)
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE state = 'running'").fetchone() == (500,)
    run_to_the_end(conn, ["default"])
    is_sound(conn)
    has_each_once(conn, made)


@pytest.mark.parametrize("verb", [lambda c: enqueue(c), claim_next], ids=["enqueue", "claim"])
@pytest.mark.parametrize("in_savepoint", [False, True], ids=["plain", "in a released savepoint"])
def test_a_refused_prepare_leaves_nothing_behind(conn, other, prepared_name, verb, in_savepoint):
    made = _fill(conn)
    conn.execute("BEGIN; SAVEPOINT s" if in_savepoint else "BEGIN")
    assert verb(conn) is not None
    if in_savepoint:
        conn.execute("RELEASE SAVEPOINT s")
    with refused(NOT_SUPPORTED):
        conn.execute(f"PREPARE TRANSACTION '{prepared_name}'")
    conn.execute("ROLLBACK")
    is_sound(other)
    assert claim_all(other)
    _all_is_well(conn, made)


def test_a_job_claimed_and_released_again_and_again_in_one_transaction(conn, other):
    configure(conn, "queue", "default", max_running=1)
    first, second = enqueue_times(conn, 2, session="chat-1")
    conn.execute("BEGIN")
    run = claim_next(conn)
    assert complete(conn, run) is True
    assert complete(conn, run) is False
    assert claim_next(conn).id == second
    conn.execute("ROLLBACK")
    is_sound(other)
    conn.execute("BEGIN")
    for _ in range(5):
        conn.execute("SAVEPOINT s")
        run = claim_next(conn)
        assert run.id == first
        assert release(conn, run) is True
        conn.execute("ROLLBACK TO SAVEPOINT s")
    run = claim_next(conn)
    conn.execute("COMMIT")
    is_sound(other)
    assert complete(conn, run) is True
    assert ids(claim_all(other)) == [second]
    is_sound(other)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
@pytest.mark.parametrize("slots", [3, 0, None])
def test_an_uncommitted_limit_admits_and_refuses_no_other_session(conn, other, slots, end):
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 5, tenant="acme")
    conn.execute("BEGIN; SAVEPOINT s")
    configure(conn, "tenant", "acme", slots=slots)
    mine = claim_next(conn)
    others = claim(other, ["default"], 9)
    assert len(others) == (0 if mine else 1), "the committed limit is 1"
    conn.execute(end)
    is_sound(other)
    holds = slots if end == "COMMIT" else 1
    claim_all(other)
    running = other.execute("SELECT count(*) FROM turnstile.job WHERE state = 'running'").fetchone()[0]
    kept = len(others) + (1 if mine and end == "COMMIT" else 0)
    assert running == max(kept, 5 if holds is None else holds)
    is_sound(other)


def test_an_uncommitted_lease_is_forgotten_with_its_transaction(conn):
    enqueue_times(conn, 2)
    conn.execute("BEGIN; UPDATE turnstile.queue SET lease = '1 day'")
    assert claim_next(conn) is not None
    conn.execute("ROLLBACK")
    run = claim_next(conn)
    soon = "SELECT %s < clock_timestamp() + interval '1 hour'"
    assert conn.execute(soon, [run.lease_expires_at]).fetchone() == (True,)
