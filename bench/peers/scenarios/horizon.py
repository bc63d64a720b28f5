"""Rates while an old transaction keeps vacuum from removing dead rows."""

from functools import partial
from statistics import mean

import psycopg

from peers.arena import Database
from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Work, Worked, script_of

CLIENTS = 8
SLICE_SECONDS = 5
LOAD_SECONDS = 180
WINDOW_SECONDS = 30
LEAST_TURNS = 4
BACKLOG = 50_000
FIRST, LAST, RATIO = "at first", "at last", "last / first"


def _pin(database: Database) -> psycopg.Connection:
    """Holds a snapshot and a transaction id in the contender's database, as a dump or a report would."""
    connection = psycopg.connect(dbname=database.name)
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.execute("SELECT pg_current_xact_id()")
    return connection


def measure(run: Run) -> Figures:
    slice_seconds = 1 if run.quick else SLICE_SECONDS
    figures = Figures(
        "Rate over time while an old transaction pins the horizon",
        "jobs/s",
        [Point(FIRST), Point(LAST), Point(RATIO, unit="ratio")],
        axis="seconds of load",
        settings=[f"{CLIENTS} clients", "synchronous_commit on", f"turns of {slice_seconds} s"],
    )
    work = Work("work", CLIENTS, seconds=slice_seconds)
    run.note_lacks(figures, lambda contender, _: script_of(contender, work))
    databases = run.databases(figures)
    learned = {name: Worked(BACKLOG) for name in databases}
    for name, database in databases.items():
        # The first slice warms up, before anything is pinned.
        warm_up = partial(learned[name].rate, database, work)
        run.attempt(figures, database.contender, figures.points, warm_up)
    running = [name for name in databases if not figures.has_failed(name, FIRST)]
    pins = [_pin(databases[name]) for name in running]
    for turn in run.share.rounds(LOAD_SECONDS // slice_seconds, least=LEAST_TURNS):
        for name in list(running):
            database = databases[name]

            def step(name=name, database=database, at=turn * slice_seconds) -> None:
                rate = learned[name].rate(database, work, vacuum=False)
                figures.series.setdefault(name, []).append([at, rate])

            run.attempt(figures, database.contender, figures.points, step)
            if figures.has_failed(name, FIRST):
                running.remove(name)
    for pin in pins:
        pin.close()
    window = max(1, WINDOW_SECONDS // slice_seconds)
    for name, series in figures.series.items():
        _sum_up(figures, name, [rate for _, rate in series], window)
    for database in databases.values():
        database.close()
        run.arena.drop(database.name)
    return figures


def _sum_up(figures: Figures, name: str, rates: list[float], window: int) -> None:
    window = min(window, max(1, len(rates) // 2))
    first, last = mean(rates[:window]), mean(rates[-window:])
    figures.add(name, FIRST, first)
    figures.add(name, LAST, last)
    figures.add(name, RATIO, last / first if first else 0.0)
