"""A standby is promoted again and again while producers and workers go on: nothing that holds is lost, no limit is passed."""

import contextlib
import os
import re
import threading
import time

import psycopg
import pytest

from failover.crew import ON_A_STANDBY, WITH_EXAMPLES, Producer, Worker
from failover.ledger import Ledger
from failover.pair import DATABASE
from faults.witness import Sampler, agrees, passed
from support.crew import Progress
from support.examples import COMMANDS
from support.examples import Worker as Example
from support.load import set_limit
from support.node import await_true
from support.sweep import most_finished_at_once

# How many promotions in a row; the target `failover` sets it.
PROMOTIONS = int(os.environ.get("TURNSTILE_PROMOTIONS") or 4)
LIMITS = {"queue mail": 3, "queue default": 2, "tenant t1": 2, "tenant t2": 1} | {f"queue {name}": 2 for name in COMMANDS}
TOKEN = re.compile(r"\b[0-9a-f]{16}\b")


@pytest.fixture
def ledger(pair):
    return Ledger(pair.is_synchronous)


def connect(pair) -> psycopg.Connection:
    return psycopg.connect(pair.url, autocommit=True)


def set_limits(pair) -> None:
    with connect(pair) as conn:
        for gate, slots in LIMITS.items():
            set_limit(conn, gate, slots)
        # A run whose answer was lost holds its slots until then.
        conn.execute("UPDATE turnstile.queue SET lease = '5 seconds'")


class Examples(threading.Thread):
    """The workers of examples/, with what they say they have begun. One that ends is started again, as a supervisor does."""

    def __init__(self, url: str):
        super().__init__(daemon=True)
        self.url, self.going = url, True
        self.begun: dict[str, set[str]] = {name: set() for name in COMMANDS}
        self.failures: list[str] = []
        self.workers = {name: self.begin(name) for name in COMMANDS}
        self.start()

    def begin(self, name: str) -> Example:
        return Example(name, self.url, name)

    def run(self) -> None:
        while self.going:
            for name, worker in self.workers.items():
                if not worker.is_running():
                    self.failures.append(self.collect(name)[1])
                    self.workers[name] = self.begin(name)
            time.sleep(0.2)

    def collect(self, name: str) -> tuple[int, str]:
        status, output = self.workers[name].ended()
        self.begun[name] |= set(TOKEN.findall(output))
        return status, output

    def end(self) -> None:
        self.going = False
        self.join()
        for name, worker in self.workers.items():
            worker.terminate()
            status, output = self.collect(name)
            assert status == 0, output

    def kill(self) -> None:
        """What they have started ends with its server."""
        self.going = False
        self.join()
        for worker in self.workers.values():
            worker.process.kill()


@contextlib.contextmanager
def at_work(pair, ledger):
    """Producers, workers and a sampler; yields the members, the examples and the sampler, all of which go on."""
    going = Progress(1)
    sampler = Sampler(lambda: connect(pair), going, LIMITS)
    examples = Examples(pair.url)
    members = [Producer(pair.url, ledger, WITH_EXAMPLES) for _ in range(2)] + [Worker(pair.url, ledger) for _ in range(4)]
    watch = threading.Thread(target=sampler, daemon=True)
    watch.start()
    try:
        yield members, examples, sampler
    finally:
        going.broken = True
        for member in members:
            member.stopping.set()
        watch.join(60)
        examples.kill()


def await_answers(pair, ledger, members) -> None:
    """Every member has had one since now, and there are some more."""
    before, turns = len(ledger.completed), [member.turns for member in members]
    try:
        await_members(ledger, members, before, turns)
    except AssertionError:
        with connect(pair) as conn:
            states = "SELECT queue, state, count(*), min(lease_expires_at)::text FROM turnstile.job GROUP BY 1, 2"
            print([(member, member.turns, member.error) for member in members], conn.execute(states).fetchall())
            print(conn.execute("SELECT pid, state, wait_event, query FROM pg_stat_activity WHERE datname = 'jobs'").fetchall())
        raise


def await_members(ledger, members, before: int, turns: list[int]) -> None:
    await_true(
        lambda: len(ledger.completed) >= before + 40
        and all(member.error or member.turns > had for member, had in zip(members, turns, strict=True)),
        "producers and workers go on",
    )
    assert [member.error for member in members if member.error] == []


def fail_over(pair, ledger, members, nth: int) -> None:
    ways = [pair.kill_primary, pair.switch_over]
    if not pair.is_synchronous:
        ways[0] = lambda: pair.kill_primary_ahead(lambda: await_answers(pair, ledger, members))
    ways[nth % 2]()
    ledger.promoted(pair.last_common_lsn())


def refuses_on_the_standby(pair) -> None:
    with pair.standby.connect(DATABASE) as standby:
        for call in ("SELECT turnstile.enqueue('work')", "SELECT turnstile.claim_next()", "CALL turnstile.wait_for_job('{*}', '1 s')"):
            with pytest.raises(psycopg.Error) as caught:
                standby.execute(call)
            assert caught.value.sqlstate == ON_A_STANDBY
        assert standby.execute("SELECT count(*) FROM turnstile.memory").fetchone() == (0,)


def drain(conn) -> None:
    left = "SELECT count(*) FROM turnstile.job"
    await_true(lambda: conn.execute(left).fetchone()[0] == 0, "all jobs are done")


def column(conn, query: str) -> set:
    return {row[0] for row in conn.execute(query)}


def holds(conn, ledger, begun: set[str]) -> None:
    """What was acknowledged is there, done once, by whom it was given to, in order and within the limits."""
    done = column(conn, "SELECT payload->>'token' FROM turnstile.job_history WHERE state = 'completed'")
    assert ledger.lost(done, ledger.enqueued) == []
    assert ledger.lost(done, ledger.completed) == []
    assert ledger.given_twice() == {}
    twice = "SELECT payload->>'token' FROM turnstile.job_history GROUP BY 1 HAVING count(*) > 1"
    assert column(conn, twice) == set()
    strange = "SELECT id FROM turnstile.job_history WHERE result IS NOT NULL AND result <> payload->'token'"
    assert column(conn, strange) == set(), "completed by a worker that had another job"
    # A worker of examples/ gives no result.
    claimed = {told.token for given in ledger.claimed.values() for told in given}
    by_examples = column(conn, "SELECT payload->>'token' FROM turnstile.job_history WHERE result IS NULL")
    assert by_examples <= begun, "completed although none of them had it"
    assert done - by_examples <= claimed
    assert passed(most_finished_at_once(conn), LIMITS) == {}
    order = """
        SELECT queue, tenant, session, id FROM (
            SELECT *, lag(position) OVER (PARTITION BY queue, tenant, session ORDER BY claimed_at) AS before
              FROM turnstile.job_history WHERE session IS NOT NULL) AS runs
         WHERE position < before
    """
    assert conn.execute(order).fetchall() == []


def missing(conn, ledger) -> list:
    there = column(conn, "SELECT payload->>'token' FROM turnstile.jobs")
    return ledger.missing(there, ledger.enqueued)


def report(conn, ledger, begun) -> None:
    print(
        f"{'synchronous' if ledger.is_synchronous else 'asynchronous'}: {ledger.promotions} promotions;"
        f" {len(ledger.enqueued)} enqueues acknowledged, {len(missing(conn, ledger))} of them missing;"
        f" {len(ledger.completed)} completions acknowledged; runs given twice:"
        f" {sum(len(given) > 1 for given in ledger.claimed.values())}; begun by examples:"
        f" { {name: len(tokens) for name, tokens in begun.items()} }; errors: {dict(ledger.refused)}"
    )


def test_promotions_under_load(pair, ledger):
    set_limits(pair)
    with at_work(pair, ledger) as (members, examples, sampler):
        await_answers(pair, ledger, members)
        for nth in range(PROMOTIONS):
            fail_over(pair, ledger, members, nth)
            await_answers(pair, ledger, members)
            with connect(pair) as conn:
                agrees(conn)
            pair.bring_back()
            refuses_on_the_standby(pair)
        for producer in members[:2]:
            producer.stop()
        with connect(pair) as conn:
            drain(conn)
            examples.end()
            assert all(examples.begun.values()), examples.begun
            # Where nothing is lost, no run is either, which is what ends a worker.
            assert not (pair.is_synchronous and examples.failures), examples.failures
            for worker in members[2:]:
                worker.stop()
            agrees(conn)
            holds(conn, ledger, set().union(*examples.begun.values()))
            report(conn, ledger, examples.begun)
            # Else it would have shown nothing.
            assert pair.is_synchronous or missing(conn, ledger)
        sampler.saw_no_limit_passed()
