"""An administrator installs an app on many devices, then uninstalls another; an operator slows the installation down for a while, and another
administrator goes on meanwhile. Shows both batches, and checks them in the end; fails if a promise was broken."""

import argparse
import sys
import time

import psycopg

import batch_check as check
from batch_workers import QUEUE, crew, is_unreachable, now
from live import Screen
from report import print_verdicts
from terminal import clock

LOOK_EVERY = 0.1
BAR = 30

ADD_BATCH = """
SELECT turnstile.enqueue_batch(
    %(verb)s || ' everywhere',
    children => (
        SELECT jsonb_agg(jsonb_build_object('kind', %(verb)s::text, 'payload', jsonb_build_object('device', device)))
        FROM generate_series(1, %(devices)s::int) AS device
    ),
    slots => %(slots)s, queue => %(queue)s, tenant => 'acme', session => 'ada'
)
"""
ADD_OTHER = "SELECT turnstile.enqueue('inventory', queue => %s, tenant => 'acme', session => 'bob')"
SET_SLOTS = "UPDATE turnstile.batch SET slots = %s WHERE id = %s"
LOOK = """
SELECT id, total, running, completed + discarded + cancelled, slots, started_at IS NOT NULL,
       finished_per_minute, extract(epoch FROM estimated_end - clock_timestamp())
FROM turnstile.batches WHERE id = ANY(%s)
"""
ENDED = "SELECT id FROM turnstile.job_history WHERE id = ANY(%s)"
HISTORY = """
SELECT id, parent, (payload ->> 'device')::int, state, attempt, created_at, claimed_at, finished_at, result
FROM turnstile.job_history WHERE queue = %s AND (parent = %s OR id = ANY(%s))
"""


class Story:
    def __init__(self, connection, options):
        self.connection, self.options = connection, options
        self.settings, self.others, self.changes = [], [], []
        self.begun = time.monotonic()
        self.install = self.add_batch("install", options.workers * 2 // 3)
        self.uninstall = self.add_batch("uninstall", options.workers)
        self.looked()

    def value(self, statement, values):
        return self.connection.execute(statement, values).fetchone()[0]

    def add_batch(self, verb, slots):
        self.settings.append([check.Setting(slots, now(), now())])
        values = {"verb": verb, "devices": self.options.devices, "slots": slots, "queue": QUEUE}
        return self.value(ADD_BATCH, values)

    def add_other(self):
        self.others.append(self.value(ADD_OTHER, [QUEUE]))

    def set_slots(self, slots):
        begun = now()
        if self.connection.execute(SET_SLOTS, [slots, self.install]).rowcount != 1:
            sys.exit("the installation had ended before the operator changed its slots: take more devices")
        self.changes.append(f"{clock(time.monotonic() - self.begun)} the operator sets its slots to {slots}")
        self.settings[0].append(check.Setting(slots, begun, now()))

    def looked(self):
        self.seen = {row[0]: row[1:] for row in self.connection.execute(LOOK, [[self.install, self.uninstall]])}

    def ended(self, ids):
        return {job_id for (job_id,) in self.connection.execute(ENDED, [ids])}

    def devices_done(self):
        return self.seen[self.install][2] if self.install in self.seen else self.options.devices

    def until(self, is_so):
        while not is_so():
            yield

    def told(self):
        """Yields while nothing is to be done but to look."""
        yield from self.until(lambda: self.devices_done() > 0)
        self.add_other()
        yield from self.until(lambda: self.devices_done() >= self.options.devices // 2)
        self.set_slots(max(1, self.options.workers // 12))
        self.add_other()
        slow_until = time.monotonic() + self.options.slow
        yield from self.until(lambda: time.monotonic() > slow_until and self.others[-1] in self.ended(self.others))
        self.set_slots(self.options.workers * 5 // 6)
        self.add_other()
        parents = [self.install, self.uninstall, *self.others]
        yield from self.until(lambda: self.ended(parents) == set(parents))

    def lines(self):
        yield f"{clock(time.monotonic() - self.begun)}  {self.options.workers} workers"
        ended = self.ended([self.install, self.uninstall])
        for name, batch in (("install", self.install), ("uninstall", self.uninstall)):
            yield f"{name:<10} {line(self.seen.get(batch), batch in ended)}"
        yield f"bob: {len(self.ended(self.others))} of {len(self.others)} inventories are done"
        yield from self.changes

    def runs(self, asked_at, parent, ids=()):
        """The children of a parent, or these jobs."""
        rows = self.connection.execute(HISTORY, [QUEUE, parent, list(ids)]).fetchall()
        return [check.Run(*row, asked_at[row[0], row[4]]) for row in rows]


def line(seen, has_ended):
    if has_ended or seen is None:
        return "█" * BAR + "  done"
    total, running, done, slots, has_started, per_minute, seconds_left = seen
    filled = BAR * done // max(total, 1)
    shown = "█" * filled + "░" * (BAR - filled) + f"  {done:,} of {total:,}"
    if not has_started:
        return f"{shown}, waits for its turn"
    if done == total:
        return f"{shown}, its callback is next"
    left = "" if seconds_left is None else f", ends in {clock(max(0, float(seconds_left)))}"
    return f"{shown}, {running} run in {slots} slots, {per_minute or 0:,.0f} a minute{left}"


def show_and_wait(story, workers):
    screen, next_drawing = Screen(sys.stdout), 0.0
    for _ in story.told():
        workers.check()
        story.looked()
        if time.monotonic() >= next_drawing:
            screen.show(story.lines())
            next_drawing = time.monotonic() + screen.every()
        time.sleep(LOOK_EVERY)
    screen.show(story.lines())


def verdicts(story, asked_at):
    devices = story.options.devices
    unreachable = {device for device in range(1, devices + 1) if is_unreachable(device)}
    installed, uninstalled = (story.runs(asked_at, batch) for batch in (story.install, story.uninstall))
    installs, uninstalls = (story.runs(asked_at, None, [batch]) for batch in (story.install, story.uninstall))
    others = story.runs(asked_at, None, story.others)
    for setting, peak in zip(story.settings[0], check.peaks(installed, story.settings[0])):
        print(f"while the row said {setting.slots} slots: at most {peak} at once")
    yield "no batch ever ran more than its row said", [
        violation
        for runs, settings in zip((installed, uninstalled), story.settings)
        for violation in check.slots_kept(runs, settings)
    ]
    yield f"each of {devices:,} devices was seen to once by each batch", [
        violation for runs in (installed, uninstalled) for violation in check.each_device_once(runs, devices, unreachable)
    ]
    yield "each callback ran once, after the last device, and was told how many ended how", [
        *check.callback_once(installs, installed), *check.callback_once(uninstalls, uninstalled)
    ]  # fmt: skip
    yield "the uninstallation began when the installation's callback had run", [
        violation for callback in installs for violation in check.one_after_the_other(callback, uninstalled)
    ]
    yield "jobs of another administrator went on meanwhile", [
        violation for callback in installs for violation in check.others_went_on(others, installed, callback)
    ]


def options():
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("--devices", type=int, default=2_000, help="default: 2000")
    found.add_argument("--workers", type=int, default=60, help="default: 60")
    found.add_argument("--seconds", type=float, default=0.3, help="that a device takes (default: 0.3)")
    found.add_argument("--slow", type=float, default=5, help="seconds with few slots (default: 5)")
    return found.parse_args()


def main():
    chosen = options()
    sys.stdout.reconfigure(errors="replace")
    with psycopg.connect(autocommit=True) as connection:
        with crew(chosen.workers, chosen.seconds) as workers:
            story = Story(connection, chosen)
            show_and_wait(story, workers)
        found = list(verdicts(story, workers.asked_at))
    print_verdicts(found)
    sys.exit(any(violations for _, violations in found))


if __name__ == "__main__":
    main()
