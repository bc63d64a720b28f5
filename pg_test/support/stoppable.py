"""A crew of worker processes that can be stopped: run as a script with a database, a lease and how many workers.

Each claims one job and says which, waits for its standard input to close (a stopped one notices only once it is
continued), completes the job, and says how that went.
"""

import os
import sys

import psycopg


def work(database: str, lease: str, late: int) -> None:
    with psycopg.connect(dbname=database, autocommit=True) as conn:
        query = "SELECT id, attempt FROM turnstile.claim_next(lease => %s)"
        job_id, attempt = conn.execute(query, [lease]).fetchone()
        os.write(1, f"{os.getpid()} {job_id} {attempt}\n".encode())
        os.read(late, 1)
        try:
            conn.execute("SELECT turnstile.complete(%s, %s)", [job_id, attempt])
            state = "completed"
        except psycopg.Error as error:
            state = error.sqlstate
        os.write(1, f"{job_id} {state}\n".encode())


def main(database: str, lease: str, number: str) -> None:
    children = []
    for _ in range(int(number)):
        child = os.fork()
        if not child:
            work(database, lease, 0)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
