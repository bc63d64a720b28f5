"""From the commit of an enqueue to the beginning of the handler, in each system's own worker."""

import json
from random import Random
from statistics import quantiles
from time import monotonic, sleep, time

from lib.pgbench import start
from peers.arena import Unable
from peers.budget import Share
from peers.contender import Contender
from peers.figures import Figures, Point
from peers.run import OUT_OF_TIME, Run
from peers.slices import Work, load_of
from peers.statements import Statements
from peers.worker import Worker, program, running

VARIANT = "wake_up"
LOAD_A_SECOND = 200
LONGEST_WAIT = 20.0
SETTLE_SECONDS = 1.5
LEAST_SAMPLES = 3
MOST_SAMPLES = 500
KINDS = ("idle", "loaded")


def measure(run: Run) -> Figures:
    figures = Figures(
        "Wake-up: from commit to the beginning of the handler",
        "ms",
        [Point(f"{kind}, {part}", more_is_better=False) for kind in KINDS for part in ("p50", "p99")],
        settings=[
            f"loaded: {LOAD_A_SECOND} other jobs/s",
            "each system's own worker, one process",
            "synchronous_commit on",
        ],
    )
    run.note_lacks(figures, lambda contender, _: program(contender))
    for number, contender in enumerate(run.contenders):
        if run.share.is_used_up():
            for point in figures.points:
                figures.skip(contender.name, point.name, OUT_OF_TIME)
            continue
        share = Share(max(4.0, run.share.left() / (len(run.contenders) - number)))
        run.attempt(
            figures,
            contender,
            figures.points,
            lambda contender=contender, share=share: _one(run, figures, contender, share),
        )
    return figures


def _one(run: Run, figures: Figures, contender: Contender, share: Share) -> None:
    database = run.arena.database(contender, VARIANT)
    with running(database, stamps=True) as worker:
        sleep(SETTLE_SECONDS)
        for at, kind in enumerate(KINDS):
            seconds = share.left() / (len(KINDS) - at)
            load = None
            if kind == "loaded":
                load = start(load_of(database, Work("enqueue", 2)), max(2, int(seconds)), LOAD_A_SECOND)
            waits = _waits(database, worker, seconds, first=1 + at * MOST_SAMPLES)
            if load:
                load.finish(within=seconds + LONGEST_WAIT)
            cuts = quantiles(waits, n=100, method="inclusive")
            figures.add(contender.name, f"{kind}, p50", cuts[49])
            figures.add(contender.name, f"{kind}, p99", cuts[98])
    database.close()


def _waits(database, worker: Worker, seconds: float, first: int) -> list[float]:
    """In milliseconds. Enqueues at odd moments, so that a worker that polls is met at any point of its interval."""
    enqueue = Statements(database.contender.script("enqueue", VARIANT))
    random = Random(first)
    found: list[float] = []
    ends = monotonic() + seconds
    for number in range(first, first + MOST_SAMPLES):
        if monotonic() > ends and len(found) >= LEAST_SAMPLES:
            break
        payload = json.dumps({"number": number, "data": "x"})
        enqueue.run(database.connection, payload=payload)
        committed = time()
        began = worker.began(number, LONGEST_WAIT)
        if began is None:
            ended = f": {worker.complaint()}" if worker.has_ended() else ""
            raise Unable(f"a job was not begun within {LONGEST_WAIT:.0f} s{ended}")
        # The worker may be there before the commit has come back to the producer.
        found.append(max(0.0, began - committed) * 1000)
        sleep(random.uniform(0.02, 0.12))
    return found
