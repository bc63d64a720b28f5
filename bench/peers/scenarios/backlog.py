"""The same claim with more and more jobs waiting."""

from peers.figures import OWN_FIRST, Figures, Point
from peers.run import Run
from peers.scenarios.own_first import measure_pairs

FILL_PROBE = 20_000
# What one fill may take, of the time that is left and of all.
SHARE_OF_LEFT, SHARE_OF_ALL = 0.6, 0.25
# The time goes into filling.
MOST_ROUNDS = 3
CLIENTS = 8
A_SLICE = 10**4


def measure(run: Run) -> Figures:
    exponents = (5,) if run.quick else (5, 6, 7)
    figures = Figures(
        "Claim and complete with a backlog",
        "jobs/s",
        [Point("a slice's worth", A_SLICE), *(Point(f"10^{exponent}", 10**exponent) for exponent in exponents)],
        axis="jobs waiting",
        against=OWN_FIRST,
        settings=[
            f"{CLIENTS} clients",
            "synchronous_commit off",
            "in the first column the backlog falls from about 10^4 to 10^3 and less",
        ],
    )
    run.most_rounds = min(run.most_rounds, MOST_ROUNDS)

    def prepare(database, point) -> None:
        database.backlog = int(point.at)
        if point.at == A_SLICE:
            return
        allowance = min(run.share.left() * SHARE_OF_LEFT, run.share.seconds * SHARE_OF_ALL)
        database.expect_fill_within(max(allowance, 0.0), database.backlog, FILL_PROBE)
        database.fill_to(database.backlog)

    measure_pairs(run, figures, prepare, clients=CLIENTS, together=False)
    return figures
