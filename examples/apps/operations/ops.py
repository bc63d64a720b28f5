"""What an operator does by hand, in short transactions, while all goes on.

usage: ops.py pause QUEUE [UNTIL] | resume QUEUE
       ops.py move KIND QUEUE           from now on, and the jobs that wait; KIND may be a pattern such as report.*
       ops.py retry KIND [ERROR]        the dead jobs of the kind, or those whose last error begins so
"""

import os
import sys

import psycopg


def pause(db, queue, until=None):
    db.execute("SELECT turnstile.pause_queue(%s, until => %s::timestamptz)", [queue, until])


def resume(db, queue):
    db.execute("SELECT turnstile.resume_queue(%s)", [queue])


def move(db, kind, queue):
    db.execute("SELECT turnstile.set_route(%s, queue => %s, override => true)", [kind, queue])
    return until_none(db, "SELECT turnstile.reroute(%s)", [kind])


def retry(db, kind, error=None):
    # Those that fail again meanwhile are not taken a second time.
    [now] = db.execute("SELECT now()").fetchone()
    query = "SELECT turnstile.retry_many(kind => %s, state => 'discarded', error => %s, ended_before => %s)"
    return until_none(db, query, [kind, error, now])


def until_none(db, query, arguments):
    """Calls it until it has changed nothing, and returns how many it has changed."""
    return sum(iter(lambda: db.execute(query, arguments).fetchone()[0], 0))


VERBS = {"pause": pause, "resume": resume, "move": move, "retry": retry}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in VERBS:
        sys.exit(__doc__)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as db:
        changed = VERBS[sys.argv[1]](db, *sys.argv[2:])
        print("done" if changed is None else f"{changed} jobs")
