"""The end of a history: what runs is finished, claims are as the naive model predicts, and then every job runs."""

import time

import psycopg

from histories.administrator import CHECK
from histories.client import XID, Client, Refused
from histories.worker import CLAIM, CLAIM_NEXT, PLAIN
from histories import mix
from support import naive

PREDICTED = 60
PATIENCE = 60
TRIES = 10
# Everything may run: no limit, no pause, all due.
OPEN = [
    f"WITH changed AS (UPDATE turnstile.{table} SET {columns} RETURNING 1) SELECT jsonb_agg(1), {XID} FROM changed"
    for table, columns in {
        "queue": "max_running = NULL, paused = false",
        "tenant": "slots = NULL, paused = false",
        "account": "slots = NULL, paused = false",
        "concurrency": "slots = NULL",
        "batch": "slots = NULL, paused = false",
    }.items()
]
# What the naive model does not know: rates, pauses that end by themselves, and shares.
UNTIMED = [
    f"WITH changed AS (UPDATE turnstile.{table} SET {columns} RETURNING 1) SELECT jsonb_agg(1), {XID} FROM changed"
    for table, columns in {
        "queue": "rate = NULL, paused_until = NULL, policy = 'fifo'",
        "tenant": "rate = NULL, paused_until = NULL",
        "account": "rate = NULL, paused_until = NULL",
        "concurrency": "rate = NULL",
        "batch": "rate = NULL, paused_until = NULL",
    }.items()
]
UNTIMED.append(f"WITH changed AS (DELETE FROM turnstile.paused_session RETURNING 1) SELECT jsonb_agg(1), {XID} FROM changed")
FINISH_ALL = (
    "SELECT jsonb_agg(jsonb_build_array(id, attempt, turnstile.complete(id, attempt))), " + XID + " FROM turnstile.job"
    " WHERE state = 'running'"
)
PUT_OFF, HURRY = (
    f"WITH changed AS (UPDATE turnstile.job SET run_at = clock_timestamp() + interval '{ahead}', state = {state} WHERE {which}"
    f" RETURNING id) SELECT jsonb_agg(id), {XID} FROM changed"
    for ahead, state, which in (
        # Also parents whose turn has come: a claim would open them, and take another job or none.
        ("1 hour", "CASE state WHEN 'available' THEN 'scheduled' ELSE state END", "state IN ('scheduled', 'retryable') OR opens_batch AND state = 'available'"),
        ("0", "state", "state IN ('scheduled', 'retryable')"),
    )
)
# Who holds for a job that has failed for good would wait for ever.
CANCEL_HELD = (
    "SELECT jsonb_agg(jsonb_build_array(held.job, turnstile.cancel(held.job))), " + XID + " FROM (SELECT DISTINCT job FROM"
    " turnstile.dependency WHERE holds AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = dependency.predecessor)"
    " AND EXISTS (SELECT FROM turnstile.job WHERE job.id = dependency.job AND job.state = 'blocked')) AS held"
)
RUNNING = "SELECT coalesce(jsonb_agg(jsonb_build_array(id, attempt)), '[]'), NULL FROM turnstile.job WHERE state = 'running'"
LEFT = "SELECT count(*), NULL FROM turnstile.job"
STATISTICS = """
    SELECT jsonb_build_array(extract(epoch FROM max(stats_reset)), jsonb_agg(jsonb_build_array(name, event, number))), NULL
    FROM turnstile.stat_queue, LATERAL (
        VALUES ('enqueued', enqueued), ('started', started), ('completed', completed), ('cancelled', cancelled), ('discarded', discarded)
    ) AS events (event, number)
"""


class Closer(Client):
    def __init__(self, station):
        super().__init__(station, "closer", station.seed)

    def close(self) -> None:
        self.connect()
        self.call("check", CHECK)
        with psycopg.connect(dbname=self.station.dbname, autocommit=True) as looker:
            self.predict(looker)
        self.call("check", CHECK)
        for statement in OPEN:
            self.call("set limit", statement)
        self.run_all()
        self.call("check", CHECK)
        self.call("statistics", STATISTICS)
        self.conn.close()

    def predict(self, looker) -> None:
        """Claims one by one what the rules predict, from the tables as they were left; nothing falls due meanwhile."""
        for statement in UNTIMED:
            self.call("set limit", statement)
        self._leave_nothing_running()
        self.call("put off", PUT_OFF)
        for number in range(PREDICTED):
            queue = mix.QUEUES[number % len(mix.QUEUES)]
            expected = naive.next_id(looker, queue)
            taken = self.call("claim_next", CLAIM_NEXT, {"queue": queue, **PLAIN}, queues=[queue], most=1)
            self.note("prediction", [expected, taken[0][0] if taken else None])

    def finish_all(self) -> int:
        """Completes whatever runs; returns how many."""
        runs = self.call("running", RUNNING)
        if runs:
            self.call("finish all", FINISH_ALL, runs=runs)
        return len(runs)

    def _leave_nothing_running(self) -> None:
        """A run whose connection is gone may be ended by others at the same moment."""
        for _ in range(TRIES):
            try:
                if not self.finish_all():
                    return
            except Refused:
                pass

    def note(self, what: str, answer) -> None:
        """Something seen, in the log among the calls."""
        self.log.invoked(what, {})
        self.log.ended("ok", answer=answer, xid=None)

    def run_all(self) -> None:
        """Claims and completes until no job is left; gives up where nothing moves any more."""
        last = time.monotonic()
        while self.call("left", LEFT):
            try:
                if self.finish_all():
                    last = time.monotonic()
                self.call("hurry", HURRY)
                self.call("cancel", CANCEL_HELD)
                values = {"queues": mix.QUEUES, "most": 50, **PLAIN}
                self.call("claim", CLAIM, values, queues=mix.QUEUES, most=50)
            except Refused:
                pass
            if time.monotonic() - last > PATIENCE:
                self.note("stuck", self.call("left", LEFT))
                return
