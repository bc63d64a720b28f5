"""What a job costs the server from enqueue to completion, one job at a time."""

from lib import meter
from lib.pgbench import Load, LoadFailed, run_transactions
from peers.arena import Database, Unable
from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Work, load_of, reason, script_of

CLIENTS = 4
PHASES = {
    name: Work(script, CLIENTS, settings={"synchronous_commit": "off"})
    for name, script in (("enqueue", "enqueue"), ("claim and complete", "work"))
}
WAL, DEAD, CPU, TRANSACTIONS = "WAL bytes", "dead rows", "CPU µs", "transactions"


def measure(run: Run) -> Figures:
    jobs = 2_000 if run.quick else 20_000
    figures = Figures(
        "Cost of one job: enqueue, claim, complete",
        "a job",
        [
            Point(WAL, unit="bytes", more_is_better=False),
            Point(DEAD, unit="rows", more_is_better=False),
            Point(CPU, unit="µs", more_is_better=False),
            Point(TRANSACTIONS, unit="transactions", more_is_better=False),
        ],
        settings=[
            f"{jobs:,} jobs",
            f"{CLIENTS} clients",
            "one job at a time",
            "synchronous_commit off",
            "tables analyzed before the jobs are enqueued, when none waits",
        ],
    )
    run.note_lacks(figures, lambda contender, _: [script_of(contender, work) for work in PHASES.values()])
    databases = run.databases(figures)
    for _ in run.share.rounds(run.most_rounds):
        for contender in run.contenders:
            if not figures.has_failed(contender.name, WAL):
                run.attempt(
                    figures,
                    contender,
                    figures.points,
                    lambda contender=contender: _one(figures, databases[contender.name], jobs),
                )
    for database in databases.values():
        database.close()
        run.arena.drop(database.name)
    return figures


def _one(figures: Figures, database: Database, jobs: int) -> None:
    database.vacuum()
    before = meter.read(database.connection)
    for phase, work in PHASES.items():
        _run(phase, load_of(database, work), jobs)
    spent = meter.read(database.connection).since(before)
    name = database.contender.name
    figures.add(name, WAL, spent.wal_bytes / jobs)
    figures.add(name, DEAD, spent.dead_rows / jobs)
    figures.add(name, CPU, spent.cpu_seconds * 1e6 / jobs)
    figures.add(name, TRANSACTIONS, spent.transactions / jobs)


def _run(phase: str, load: Load, jobs: int) -> None:
    try:
        run_transactions(load, jobs // CLIENTS)
    except LoadFailed as error:
        raise Unable(f"{phase}: {reason(error)}") from error
