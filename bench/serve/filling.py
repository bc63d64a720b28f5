"""Fills a database as a busy installation has it: finished jobs, live jobs, batches, errors, limits, workers; the same each time."""

import time

from lib.database import Database

AT_ONCE = 200_000
WORKERS = 64
# Of ten finished jobs nine came before all live ones; the numbers of the others are among those.
BEFORE = 0.9


def _chunks(first: int, last: int):
    for begin in range(first, last + 1, AT_ONCE):
        yield begin, min(begin + AT_ONCE - 1, last)


def _say(text: str, began: float) -> None:
    print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)


def fill(database: Database, finished: int, live: int) -> int:
    """Gives the last id."""
    began = time.monotonic()
    split = int(finished * BEFORE)
    total = split + live * 11 // 10
    database.run("serve/names.sql")
    database.run("serve/days.sql")
    database.run("serve/settings.sql")
    database.run("serve/batches.sql")
    for first, last in _chunks(1, total):
        database.run("serve/finished.sql", first=first, last=last, total=total, split=split)
    _say("finished jobs", began)
    for first, last in _chunks(split + 1, total):
        database.run("serve/live.sql", first=first, last=last, total=total, split=split)
    _say("live jobs", began)
    database.run("serve/sequences.sql", last=total)
    database.run("serve/others.sql")
    database.run("turnstile/vacuum.sql")
    for worker in range(1, WORKERS + 1):
        database.run("serve/work.sql", worker=worker)
    _say("vacuumed, and worked on", began)
    return total


def add_waiting(database: Database, first: int, jobs: int) -> int:
    """More of the live jobs, behind all others. Gives the last id."""
    began = time.monotonic()
    last = first + jobs - 1
    for begin, end in _chunks(first, last):
        database.run("serve/live.sql", first=begin, last=end, total=first - 1, split=0)
    database.run("serve/sequences.sql", last=last)
    _say("waiting jobs", began)
    database.run("turnstile/vacuum.sql")
    _say("vacuumed", began)
    return last
