"""How many ran at once: sweeps over intervals of time, and over those that history has kept."""

from collections import defaultdict

# The gates that a job passes through, as text; `support.load.gates_of` gives the same names for a claimed job.
GATES = """
    CROSS JOIN LATERAL (VALUES
        ('queue ' || queue),
        ('tenant ' || tenant),
        ('account ' || tenant || ' ' || account),
        ('concurrency ' || concurrency_key),
        ('session ' || queue || ' ' || coalesce(tenant, '') || ' ' || session)
    ) gates(gate)
"""

RUNNING = f"SELECT gate, count(*) FROM turnstile.job {GATES} WHERE state = 'running' AND gate IS NOT NULL GROUP BY gate"

FINISHED = f"SELECT gate, claimed_at, finished_at FROM turnstile.job_history {GATES} WHERE gate IS NOT NULL AND claimed_at IS NOT NULL"


def most_at_once(intervals) -> int:
    """The most intervals that have an instant in common; one that ends where another begins does not meet it."""
    steps = sorted([(end, -1) for _, end in intervals] + [(begin, 1) for begin, _ in intervals])
    running = most = 0
    for _, step in steps:
        running += step
        most = max(most, running)
    return most


def most_finished_at_once(conn) -> dict[str, int]:
    """For each gate the most runs that history shows behind it at any instant."""
    by_gate = defaultdict(list)
    for gate, claimed_at, finished_at in conn.execute(FINISHED):
        assert claimed_at <= finished_at, f"{gate}: a run that ended before it began: {claimed_at} {finished_at}"
        by_gate[gate].append((claimed_at, finished_at))
    return {gate: most_at_once(intervals) for gate, intervals in by_gate.items()}


def running_by_gate(conn) -> dict[str, int]:
    """For each gate the runs behind it that are committed, counted in one snapshot."""
    return dict(conn.execute(RUNNING).fetchall())
