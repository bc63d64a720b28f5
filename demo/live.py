"""Shows who runs and who waits, until it is told to stop: redrawn in a terminal, else as plain snapshots."""

import shutil
import signal
import sys
import time
from collections import deque

import psycopg

from terminal import clock, label

REDRAW_EVERY = 0.25
SNAPSHOT_EVERY = 2.0
SNAPSHOT_ROWS = 8
RATE_WINDOW = 2.0
# On a huge backlog the counting must not compete with the workers.
SHARE_OF_TIME = 0.1
STOP = {signal.SIGTERM}

TENANTS = """
SELECT job.tenant, tenant.slots,
       count(*) FILTER (WHERE job.state = 'running') AS running,
       count(*) FILTER (WHERE job.state <> 'running') AS waiting
FROM turnstile.job
JOIN turnstile.tenant ON tenant.name = job.tenant
WHERE job.queue = %s
GROUP BY job.tenant, tenant.slots
ORDER BY running DESC, waiting DESC, job.tenant
"""

FINISHED = """
SELECT count(*), count(*) FILTER (WHERE state <> 'completed') FROM turnstile.job_history WHERE queue = %s
"""


class Rate:
    def __init__(self):
        self.samples = deque()

    def add(self, now, finished):
        self.samples.append((now, finished))
        while now - self.samples[0][0] > RATE_WINDOW and len(self.samples) > 2:
            self.samples.popleft()

    def per_second(self):
        (first, before), (last, after) = self.samples[0], self.samples[-1]
        return (after - before) / (last - first) if last > first else 0.0


def bar(running, slots):
    return "█" * running + "░" * (slots - running)


def table(tenants, finished, failed, rate, elapsed, rows):
    running = sum(tenant[2] for tenant in tenants)
    waiting = sum(tenant[3] for tenant in tenants)
    yield (
        f"{clock(elapsed)}  {rate:,.0f} jobs/s  finished {finished:,} of {finished + running + waiting:,}"
        f"  running {running}  waiting {waiting:,}  discarded {failed:,}"
    )
    if tenants:
        yield f"{'tenant':<28}  running / slots     waiting"
    for name, slots, busy, idle in tenants[:rows]:
        yield f"{label(name, 28)}  {busy:>3} / {slots:<3} {bar(busy, slots):<9} {idle:>8,}"
    if len(tenants) > rows:
        rest = sum(tenant[3] for tenant in tenants[rows:])
        yield f"{f'{len(tenants) - rows:,} more tenants':<28}  {'':<19} {rest:>8,}"


class Screen:
    def __init__(self, out):
        self.out = out
        self.live = out.isatty()
        self.drawn = 0

    def every(self):
        return REDRAW_EVERY if self.live else SNAPSHOT_EVERY

    def rows(self):
        return max(3, shutil.get_terminal_size().lines - 5) if self.live else SNAPSHOT_ROWS

    def erase(self):
        if self.drawn:
            self.out.write(f"\x1b[{self.drawn}A\x1b[J")
            self.out.flush()
            self.drawn = 0

    def show(self, lines):
        lines = list(lines)
        if self.live:
            self.erase()
            width = shutil.get_terminal_size().columns - 1
            lines = [line[:width] for line in lines]
            self.drawn = len(lines)
        else:
            lines.append("")
        self.out.write("\n".join(lines) + "\n")
        self.out.flush()


def main():
    (queue,) = sys.argv[1:]
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
    sys.stdout.reconfigure(errors="replace")
    screen, rate, started = Screen(sys.stdout), Rate(), time.monotonic()
    with psycopg.connect(autocommit=True) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        stopped = None
        while not stopped:
            asked = time.monotonic()
            with connection.transaction():  # one snapshot for both, given back at once
                tenants = connection.execute(TENANTS, [queue]).fetchall()
                finished, failed = connection.execute(FINISHED, [queue]).fetchone()
            now = time.monotonic()
            rate.add(now, finished)
            screen.show(table(tenants, finished, failed, rate.per_second(), now - started, screen.rows()))
            pause = max(screen.every(), (now - asked) / SHARE_OF_TIME)
            stopped = signal.sigtimedwait(STOP, pause)
    screen.erase()


if __name__ == "__main__":
    main()
