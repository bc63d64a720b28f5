"""A worker for systems that leave the worker to their user: a few threads that claim, handle and finish."""

import threading
from collections.abc import Callable

import psycopg

from peers.python import CONCURRENCY, STAMPS, ready, stamp, stop_at_once

BATCH = 1 if STAMPS else 100

# Takes a connection and how many jobs are wanted; handles and finishes them, and returns how many there were.
Step = Callable[[psycopg.Connection, int], int]


def handle(payload: dict) -> None:
    stamp(payload.get("number", 0))


def run(step: Step, wait: Callable[[psycopg.Connection], None], threads: int = CONCURRENCY) -> None:
    def work() -> None:
        with psycopg.connect(autocommit=True) as connection:
            while True:
                if not step(connection, BATCH):
                    wait(connection)

    stop_at_once()
    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    ready()
    for worker in workers:
        worker.join()
