"""Draws what the busiest tenants did over time, and checks the history; fails if a promise was broken."""

import json
import random
import sys
from collections import Counter

import psycopg

import check
from terminal import label

BUSIEST = 8
COLUMNS = 60
SAMPLE = 50
SHOWN = 5

HISTORY = """
SELECT id, tenant, session, priority, position, state, attempt, worker, claimed_at, finished_at,
       payload->>'path', result
FROM turnstile.job_history
WHERE queue = %s
"""

UNFINISHED = "SELECT id FROM turnstile.job WHERE queue = %s"

SLOTS = "SELECT name, slots FROM turnstile.tenant"

ERRORS = """
SELECT payload->>'path', errors->-1->>'error' FROM turnstile.job_history
WHERE queue = %s AND state <> 'completed' ORDER BY id LIMIT %s
"""


def expected_jobs(manifest):
    with open(manifest) as record:
        return {job["id"]: job["path"] for job in map(json.loads, record)}


def most_at_once(runs, begin, bucket):
    """For every bucket of time, how many of the runs were under way at its busiest moment."""
    columns = [0] * COLUMNS
    before, level = 0, 0

    def column(moment):
        return min(COLUMNS - 1, int((moment - begin) / bucket))

    for moment, _, under_way in check.sweep(runs):
        here = column(moment)
        for passed in range(before, here + 1):
            columns[passed] = max(columns[passed], level)
        level = under_way
        columns[here] = max(columns[here], level)
        before = here
    return columns


def cell(running):
    return "·" if running == 0 else str(running) if running < 10 else "+"


def draw_timeline(runs, slots):
    begin = min(run.claimed_at for run in runs)
    duration = max(run.finished_at for run in runs) - begin
    bucket = duration / COLUMNS or duration.resolution
    groups = check.by(lambda run: run.tenant, runs)
    busiest = sorted(groups, key=lambda tenant: (-len(groups[tenant]), tenant))[:BUSIEST]
    print(f"\nMost jobs at once, one column = {bucket.total_seconds():.2f} s")
    print(f"{'tenant':<20} {'jobs':>6} {'slots':>5} {'peak':>5}")
    for tenant in busiest:
        own = groups[tenant]
        drawn = "".join(map(cell, most_at_once(own, begin, bucket)))
        limit = "none" if slots.get(tenant) is None else slots[tenant]
        print(f"{label(tenant, 20)} {len(own):>6,} {limit:>5} {check.peak(own):>5}  {drawn}")
    return duration.total_seconds()


def print_throughput(runs, seconds, slots):
    states = Counter(run.state for run in runs)
    languages = Counter((run.worker or "?").partition("-")[0] for run in runs)
    groups = check.by(lambda run: run.tenant, runs)
    full = sum(check.peak(own) == slots.get(tenant) for tenant, own in groups.items())
    print(f"\n{len(runs):,} jobs in {seconds:.1f} s: {len(runs) / max(seconds, 1e-6):,.0f} jobs/s")
    print("by state: " + ", ".join(f"{state} {count:,}" for state, count in states.most_common()))
    print("by language: " + ", ".join(f"{name} {count:,}" for name, count in languages.most_common()))
    print(f"at most {check.peak(runs)} at once; {full:,} of {len(groups):,} tenants reached their limit")


def print_errors(errors):
    for path, error in errors:
        print(f"discarded: {path!r}: {label(error or '', 200).rstrip()}")


def print_verdicts(verdicts):
    print()
    for promise, found in verdicts:
        print(f"{'FAILED' if found else 'ok':<7} {promise}")
        for violation in found[:SHOWN]:
            print(f"        {violation}")
        if len(found) > SHOWN:
            print(f"        and {len(found) - SHOWN:,} more")


def main():
    queue, manifest = sys.argv[1:]
    sys.stdout.reconfigure(errors="backslashreplace")
    with psycopg.connect(autocommit=True) as connection:
        runs = [check.Run(*row) for row in connection.execute(HISTORY, [queue])]
        unfinished = [job_id for (job_id,) in connection.execute(UNFINISHED, [queue])]
        slots = dict(connection.execute(SLOTS).fetchall())
        errors = connection.execute(ERRORS, [queue, SHOWN]).fetchall()
    expected = expected_jobs(manifest)

    if measurable := check.timed(runs):
        seconds = draw_timeline(measurable, slots)
        print_throughput(measurable, seconds, slots)
    print_errors(errors)

    wrong, judged = check.results_right(random.sample(runs, len(runs)), SAMPLE)
    sessions = len({(run.tenant, run.session) for run in runs})
    verdicts = [
        (f"no tenant of {len(slots):,} ever ran more jobs than its slots", check.limits_kept(runs, slots)),
        (f"no session of {sessions:,} ever ran two jobs at once", check.sessions_kept_apart(runs)),
        (f"no session of {sessions:,} was overtaken", check.sessions_in_order(runs)),
        (f"all {len(expected):,} jobs finished, each exactly once",
         check.finished_once(runs, expected, unfinished)),
        (f"the results of {judged} files, drawn by chance, are right", wrong),
    ]
    print_verdicts(verdicts)
    sys.exit(any(found for _, found in verdicts))


if __name__ == "__main__":
    main()
