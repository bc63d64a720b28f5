"""Workers stopped by SIGSTOP past their leases: others run their jobs, and what they say late changes nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from faults.witness import Sampler
from support import rows
from support.calls import claim, complete_many, enqueue_times, ids
from support.crew import Progress, together
from support.settings import configure

STOPPED = 200
SLOTS = {"tenant acme": STOPPED}
SCRIPT = Path(__file__).resolve().parents[1] / "support" / "stoppable.py"


def test_workers_stopped_past_their_leases_and_then_continued(db, conn):
    configure(conn, "tenant", "acme", slots=STOPPED)
    configure(conn, "queue", "default", retry_base="10 milliseconds")
    made = enqueue_times(conn, STOPPED, tenant="acme")
    arguments = [sys.executable, str(SCRIPT), db.name, "1 hour", str(STOPPED)]
    crew = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stopped, progress, finished = [], Progress(STOPPED), []
    sampler = Sampler(db.connect, progress, SLOTS)
    try:
        held = [list(map(int, crew.stdout.readline().split())) for _ in range(STOPPED)]
        stopped = [pid for pid, _, _ in held]
        assert sorted(job_id for _, job_id, _ in held) == made
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        more = enqueue_times(conn, STOPPED, tenant="acme")
        assert claim(conn, ["default"], 1) == [], "the stopped ones hold all slots"
        progress.total = len(made) + len(more)
        conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp() WHERE state = 'running'")

        def work_in_their_place():
            with db.connect() as own:
                while progress.going:
                    runs = claim(own, ["default"], 20)
                    time.sleep(0.002)
                    assert complete_many(own, runs) == len(runs)
                    finished.extend(ids(runs))
                    progress.add(len(runs)) if runs else progress.idle()

        together([work_in_their_place, work_in_their_place, sampler], progress)
        assert sorted(finished) == sorted(made + more), "each ran once more, elsewhere"
        sampler.saw_no_limit_passed()

        before = rows.everything(conn)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        crew.stdin.close()
        said = dict(line.split() for line in crew.stdout)
        assert said == {str(job_id): "55000" for job_id in made}
        assert rows.everything(conn) == before
    finally:
        for pid in stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        if not crew.stdin.closed:
            crew.stdin.close()
        crew.wait(60)
        crew.stdout.close()
    errors = "SELECT count(*) FROM turnstile.job_history WHERE errors -> 0 ->> 'error' = 'lease expired' AND attempt = 2"
    assert conn.execute(errors).fetchone()[0] == STOPPED
