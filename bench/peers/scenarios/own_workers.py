"""Very many trivial jobs, handled by each system's own worker."""

from time import monotonic, sleep

from lib import meter
from peers.budget import Share
from peers.contender import Contender
from peers.figures import Figures, Point
from peers.run import OUT_OF_TIME, Run
from peers.worker import program, running

RATE, DONE, WAL, CPU = "jobs/s", "jobs done", "WAL bytes a job", "server CPU µs a job"
# As many as the time allowed makes sensible.
SIZES = ((450, 1_000_000), (250, 200_000), (0, 50_000))
# What counting may cost, as a share of the time between two looks.
LOOKS = 0.02
LEAST_SECONDS = 3.0


def _jobs(run: Run) -> int:
    if run.quick:
        return 10_000
    return next(jobs for seconds, jobs in SIZES if run.share.seconds >= seconds)


def measure(run: Run) -> Figures:
    jobs = _jobs(run)
    figures = Figures(
        f"{jobs:,} trivial jobs by each system's own worker",
        "jobs/s",
        [
            Point(RATE),
            Point(DONE, unit="jobs"),
            Point(WAL, unit="bytes", more_is_better=False),
            Point(CPU, unit="µs", more_is_better=False),
        ],
        settings=["one worker process each, as its documentation advises for throughput", "synchronous_commit on"],
    )
    run.note_lacks(figures, lambda contender, _: program(contender))
    for number, contender in enumerate(run.contenders):
        if run.share.is_used_up():
            for point in figures.points:
                figures.skip(contender.name, point.name, OUT_OF_TIME)
            continue
        share = Share(run.share.left() / (len(run.contenders) - number))
        run.attempt(
            figures,
            contender,
            figures.points,
            lambda contender=contender, share=share: _one(run, figures, contender, jobs, share),
        )
    return figures


def _one(run: Run, figures: Figures, contender: Contender, jobs: int, share: Share) -> None:
    database = run.arena.database(contender)
    jobs = database.fill_within(max(share.left() / 2, LEAST_SECONDS), jobs)
    database.vacuum()
    before = meter.read(database.connection)
    with running(database, stamps=False) as worker:
        begun = monotonic()
        left = _wait(database, worker, begun + max(share.left(), LEAST_SECONDS))
        seconds = monotonic() - begun
        complaint = worker.complaint() if worker.has_ended() else None
    spent = meter.read(database.connection).since(before)
    done = jobs - left
    if not done:
        raise TimeoutError(f"nothing was done in {seconds:.0f} s" + (f": {complaint}" if complaint else ""))
    figures.add(contender.name, RATE, done / seconds)
    figures.add(contender.name, DONE, done)
    figures.add(contender.name, WAL, spent.wal_bytes / done)
    figures.add(contender.name, CPU, spent.cpu_seconds * 1e6 / done)
    database.close()
    run.arena.drop(database.name)


def _wait(database, worker, until: float) -> int:
    """Until all are done or time is up; looks rarely where a look is dear. Returns how many are left."""
    while True:
        begun = monotonic()
        left = database.waiting()
        if not left or begun >= until or worker.has_ended():
            return left
        pause = max(0.1, (monotonic() - begun) / LOOKS)
        sleep(min(pause, max(0.0, until - monotonic())))
