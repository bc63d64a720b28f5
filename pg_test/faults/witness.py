"""What must hold after every fault: memory agrees with the tables, each job is there once, and no limit was passed."""

import time

import psycopg

from support.calls import claim, complete_many
from support.crew import Progress
from support.sweep import running_by_gate

PATIENCE = 60


def differences(conn) -> list:
    """What turnstile.check() finds."""
    return conn.execute("SELECT problem, detail FROM turnstile.check()").fetchall()


def agrees(conn) -> None:
    """Memory agrees with the tables, and no run was completed twice."""
    found = differences(conn)
    assert found == [], f"turnstile.check() found: {found}"
    twice = conn.execute(
        "SELECT id, attempt FROM turnstile.job_history WHERE state = 'completed' GROUP BY 1, 2 HAVING count(*) > 1"
    ).fetchall()
    assert twice == [], f"completed more than once: {twice}"


def is_sound(conn) -> None:
    """As above; where nothing was brought back by retry, no job is there twice either."""
    agrees(conn)
    figures_agree(conn)
    twice = conn.execute("SELECT id FROM turnstile.jobs GROUP BY id HAVING count(*) > 1").fetchall()
    assert twice == [], f"in the tables more than once: {twice}"


# By each kind of name: what memory says, and what the tables say.
FIGURES = """
    WITH shown AS MATERIALIZED (
        SELECT tenant, name, waiting, scheduled, retryable, running FROM turnstile_internal.figures(%(gate)s)
         WHERE (waiting, scheduled, retryable, running) <> (0, 0, 0, 0)
    ), counted AS (
        SELECT CASE WHEN %(gate)s = 'account' THEN tenant END, names.name,
               count(*) FILTER (WHERE state = 'available'), count(*) FILTER (WHERE state = 'scheduled'),
               count(*) FILTER (WHERE state = 'retryable'), count(*) FILTER (WHERE state = 'running')
          FROM turnstile.job,
               LATERAL (SELECT CASE %(gate)s WHEN 'queue' THEN queue WHEN 'tenant' THEN tenant WHEN 'account' THEN account
                                             ELSE concurrency_key END) AS names (name)
         WHERE names.name IS NOT NULL GROUP BY 1, 2
    )
    (TABLE shown EXCEPT TABLE counted) UNION ALL (TABLE counted EXCEPT TABLE shown)
"""


def figures_agree(conn) -> None:
    """The figures by name are those of the tables. Nobody else may change jobs meanwhile."""
    for gate in ("queue", "tenant", "account", "concurrency"):
        found = conn.execute(FIGURES, {"gate": gate}).fetchall()
        assert found == [], f"figures of {gate}s: {found}"


def has_each_once(conn, made) -> None:
    """These jobs, and no others, are live or finished, each once."""
    there = [row[0] for row in conn.execute("SELECT id FROM turnstile.jobs ORDER BY id")]
    lost, strange = set(made) - set(there), set(there) - set(made)
    assert there == sorted(made), f"lost {sorted(lost)}, strange {sorted(strange)}, {len(there)} rows"


def passed(running: dict[str, int], slots: dict[str, int | None]) -> dict[str, int]:
    """The gates with more runs than their limit; a session has one slot, an unnamed gate none to pass."""
    beyond = {}
    for gate, count in running.items():
        limit = 1 if gate.startswith("session ") else slots.get(gate)
        if limit is not None and count > limit:
            beyond[gate] = count
    return beyond


def within(conn, slots: dict[str, int | None]) -> None:
    """No limit is passed just now, by the committed rows of one snapshot."""
    beyond = passed(running_by_gate(conn), slots)
    assert beyond == {}, f"limits passed: {beyond}"


class Sampler:
    """Counts the committed runs behind every gate, again and again; remembers the most, and what was too many."""

    def __init__(self, connect, progress: Progress, slots: dict[str, int | None]):
        self.connect, self.progress, self.slots = connect, progress, slots
        self.most: dict[str, int] = {}
        self.beyond: dict[str, int] = {}

    def __call__(self):
        conn = None
        while self.progress.going:
            try:
                conn = conn or self.connect()
                self.look(conn)
            except psycopg.OperationalError:
                conn = None
                time.sleep(0.02)
            time.sleep(0.01)

    def look(self, conn) -> None:
        running = running_by_gate(conn)
        for gate, count in running.items():
            self.most[gate] = max(self.most.get(gate, 0), count)
        self.beyond.update(passed(running, self.slots))

    def saw_no_limit_passed(self) -> None:
        assert self.most, "the sampler saw nothing"
        assert self.beyond == {}, f"limits passed: {self.beyond}"


def finish_what_runs(conn) -> None:
    """Completes the runs that nobody knows of any more."""
    conn.execute("SELECT turnstile.complete(id, attempt) FROM turnstile.job WHERE state = 'running'")


def run_to_the_end(conn, queues, slots: dict[str, int | None] | None = None) -> int:
    """Claims and completes until no job is left, also those that become due meanwhile; returns how many."""
    finish_what_runs(conn)
    done, last = 0, time.monotonic()
    while conn.execute("SELECT EXISTS (SELECT FROM turnstile.job)").fetchone()[0]:
        runs = claim(conn, list(queues), 20)
        within(conn, slots or {})
        if runs:
            assert complete_many(conn, runs) == len(runs)
            done, last = done + len(runs), time.monotonic()
        else:
            left = "SELECT state, queue, tenant, account, session, concurrency_key FROM turnstile.job LIMIT 20"
            assert time.monotonic() - last < PATIENCE, f"stuck: {conn.execute(left).fetchall()}"
            time.sleep(0.01)
    return done
