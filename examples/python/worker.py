"""usage: DATABASE_URL=postgresql://localhost/mydb python worker.py [queue]"""

import contextlib
import os
import signal
import sys
import time

import psycopg

CLAIM_NEXT = "SELECT id, attempt, payload FROM turnstile.claim_next(%s)"
COMPLETE_AND_CLAIM_NEXT = "SELECT id, attempt, payload FROM turnstile.complete_and_claim_next(%s, %s)"
COMPLETE = "SELECT turnstile.complete(%s, %s)"
FAIL = "SELECT turnstile.fail(%s, %s, %s)"
RELEASE = "SELECT turnstile.release(%s, %s)"
# Leaves alone what was completed before, or superseded.
COMPLETE_AGAIN = "SELECT turnstile.complete_many(ARRAY[%s::bigint], ARRAY[%s::int])"
WAIT = "CALL turnstile.wait_for_job(ARRAY[%s], '1 minute')"

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5


def work(db, queue, stop, done):
    if done:
        db.execute(COMPLETE_AGAIN, done)
        done.clear()
    job = None
    while not stop.asked:
        job = job or db.execute(CLAIM_NEXT, [queue]).fetchone()
        if not job:
            with stop.at_once(db):
                db.execute(WAIT, [queue])
            continue
        id, attempt, payload = job
        try:
            handle(payload, attempt)
        except Exception as error:
            db.execute(FAIL, [id, attempt, repr(error)])
            job = None
        else:
            done[:] = id, attempt
            if stop.asked:
                db.execute(COMPLETE, done)
                return
            job = db.execute(COMPLETE_AND_CLAIM_NEXT, done).fetchone()
            done.clear()
    if job:
        db.execute(RELEASE, job[:2])  # claimed, not started


def handle(payload, attempt):
    """Stands for your own work: takes so many seconds, and fails on its first so many attempts."""
    print(f"attempt {attempt}: {payload}", flush=True)
    time.sleep(payload.get("seconds", 0))
    if attempt <= payload.get("failures", 0):
        raise RuntimeError("was told to fail")


class Stop:
    """At work SIGTERM lets the job in hand end. Who sleeps holds no job and hangs up at once, which the server sees."""

    def __init__(self):
        self.asked, self.sleeper = False, None
        signal.signal(signal.SIGTERM, self)

    def __call__(self, *_):
        self.asked = True
        if self.sleeper:
            self.hang_up()

    @contextlib.contextmanager
    def at_once(self, db):
        self.sleeper = db
        if self.asked:
            self.hang_up()
        try:
            yield
        finally:
            self.sleeper = None

    def hang_up(self):
        self.sleeper.close()
        raise KeyboardInterrupt


def is_lost(error):
    """Whether it is the connection that failed, and not the call."""
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def main():
    """A lost connection is made anew, to whichever of the hosts is the primary then."""
    stop, queue = Stop(), sys.argv[1] if len(sys.argv) > 1 else "default"
    done = []  # the run of which it is not known yet whether the server knows that it is completed
    pause = FIRST_PAUSE
    while not stop.asked or done:
        try:
            # PgBouncer in transaction mode may not know prepared statements.
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=None) as db:
                pause = FIRST_PAUSE
                work(db, queue, stop, done)
                return
        except psycopg.OperationalError as error:
            if not is_lost(error):
                raise
            print(error, file=sys.stderr, flush=True)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
