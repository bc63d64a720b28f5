"""Producers and workers that look for the primary by themselves, and keep a ledger of what they were told."""

import random
import secrets
import threading
import time

import psycopg

from failover.ledger import Ledger, Told, lsn
from support.examples import COMMANDS

ENQUEUE = """
    SELECT turnstile.enqueue('work', jsonb_build_object('token', %(token)s::text), queue => %(queue)s, tenant => %(tenant)s,
                             session => %(session)s)
"""
# The log is read after the commit: it has come at least as far as that.
LOG = "SELECT pg_current_wal_insert_lsn()::text"
LIVE, ENOUGH = "SELECT count(*) FROM turnstile.job WHERE payload ? 'token'", 100
CLAIM = "SELECT id, attempt, payload->>'token' FROM turnstile.claim('{mail,default}', wait => '1 second')"
# With the token as the result: whose work a job was completed by.
COMPLETE = "SELECT turnstile.complete(%s, %s, to_jsonb(%s::text))"
# What the end of a connection or of a server is called, where it is called anything.
LOST = ("08", "57P")
ON_A_STANDBY = "25006"
SUPERSEDED, UNKNOWN = "55000", "P0002"
GUARDS = "-c statement_timeout=100s"

OWN, TENANTS = ["mail", "default"], ["t1", "t2", None]
# One in three jobs is for the workers of examples/, which have a queue each: the fast ones would leave the others nothing.
WITH_EXAMPLES = OWN * len(COMMANDS) + list(COMMANDS)


class Member(threading.Thread):
    """Calls the server until it is told to stop; makes a lost connection anew."""

    def __init__(self, url: str, ledger: Ledger):
        super().__init__(daemon=True)
        self.url, self.ledger, self.conn = url, ledger, None
        self.stopping, self.error, self.turns = threading.Event(), None, 0
        self.start()

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.turn()
                self.turns += 1
        except Exception as error:
            self.error = error
        finally:
            if self.conn:
                self.conn.close()

    def call(self, statement: str, arguments=None):
        """The first row; ConnectionError where it is not known what became of the call."""
        try:
            if not self.conn or self.conn.closed:
                self.conn = psycopg.connect(self.url, autocommit=True, options=GUARDS)
            return self.conn.execute(statement, arguments).fetchone()
        except psycopg.Error as error:
            self.ledger.note_refused(error.sqlstate)
            if self.is_of_the_server(error):
                if self.conn:
                    self.conn.close()
                time.sleep(0.05)
                raise ConnectionError from error
            raise

    def is_of_the_server(self, error: psycopg.Error) -> bool:
        if error.sqlstate is None:
            return isinstance(error, psycopg.OperationalError)
        return error.sqlstate.startswith(LOST) or error.sqlstate == ON_A_STANDBY

    def told(self, token: str, promotions: int) -> Told:
        """An answer, with how far the log had come, where the server that gave it still says so."""
        try:
            return Told(token, lsn(self.call(LOG)[0]), promotions)
        except ConnectionError:
            return Told(token, lsn(None), promotions)

    def stop(self) -> None:
        self.stopping.set()
        self.join(100)
        assert not self.is_alive(), f"{self} goes on"
        if self.error:
            raise self.error


class Producer(Member):
    """Its sessions are its own: where two producers add to one, the later place may be committed first.

    It lets no more than a hundred of such jobs wait: the slowest workers have to do all of theirs before the test ends.
    """

    def __init__(self, url: str, ledger: Ledger, queues: list[str]):
        self.queues = queues
        super().__init__(url, ledger)

    def turn(self) -> None:
        try:
            is_enough = self.call(LIVE)[0] > ENOUGH
        except ConnectionError:
            return
        if is_enough:
            time.sleep(0.05)
        else:
            self.add()

    def add(self) -> None:
        token, promotions = secrets.token_hex(8), self.ledger.promotions
        names = {"queue": self.queues, "tenant": TENANTS, "session": [self.name, None]}
        job = {"token": token} | {name: random.choice(values) for name, values in names.items()}  # noqa: S311
        try:
            self.call(ENQUEUE, job)
        except ConnectionError:
            return
        self.ledger.note_enqueued(self.told(token, promotions))
        time.sleep(0.02)


class Worker(Member):
    def turn(self) -> None:
        promotions = self.ledger.promotions
        try:
            row = self.call(CLAIM)
        except ConnectionError:
            return
        if row:
            job_id, attempt, token = row
            self.ledger.note_claimed((job_id, attempt), self.told(token, promotions))
            time.sleep(random.uniform(0, 0.02))  # noqa: S311
            self._complete(job_id, attempt, token)

    def _complete(self, job_id: int, attempt: int, token: str) -> None:
        while True:
            promotions = self.ledger.promotions
            try:
                self.call(COMPLETE, [job_id, attempt, token])
            except ConnectionError:
                continue
            except psycopg.Error as error:
                if error.sqlstate not in (SUPERSEDED, UNKNOWN):
                    raise
                return
            self.ledger.note_completed(self.told(token, promotions))
            return
