"""Complete a job and claim the next in one call."""

from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Learned, Work, script_of

CLIENTS = 8
TWO = "two calls, as a measure"
JOBS_A_SECOND = 8_000


def measure(run: Run) -> Figures:
    figures = Figures(
        "The worker loop with one call a job",
        "jobs/s",
        [Point(TWO), Point("one call, durable"), Point("one call, synchronous_commit off")],
        settings=[f"{CLIENTS} clients", "synchronous_commit on unless said otherwise"],
    )

    def work_at(point: Point) -> Work:
        script = "work" if point.name == TWO else "work_in_one_call"
        settings = {"synchronous_commit": "off" if point.name.endswith("off") else "on"}
        return Work(script, CLIENTS, 1, settings, run.seconds)

    # Who has no such call need not be measured without it.
    run.note_lacks(figures, lambda contender, _: script_of(contender, Work("work_in_one_call")))
    run.take_turns(figures, work_at, Learned(JOBS_A_SECOND * run.seconds).rate)
    return figures
