"""Prints what is wrong, and fails if anything is: for cron, which sends what is printed, or any monitor that looks at the exit status."""

import os
import sys

import psycopg

# A metric, when it is wrong, and what that means.
RULES = [
    ("turnstile_queue_oldest_waiting_seconds", lambda value: value > 900, "the first job of queue {queue} has waited for {value:.0f} s"),
    ("turnstile_queue_retryable", lambda value: value > 100, "{value:.0f} jobs of queue {queue} wait for another attempt"),
    ("turnstile_queue_paused", lambda value: value == 1, "queue {queue} is paused"),
    ("turnstile_history_ahead_seconds", lambda value: value < 6 * 86400, "nobody calls maintain()"),
    ("turnstile_memory_lanes_outside", lambda value: value > 0, "{value:.0f} lanes find no room: raise turnstile.max_memory"),
]
IDLE = """
SELECT name, waiting FROM turnstile.queues
WHERE waiting > 0 AND claimed_per_minute = 0 AND NOT paused AND free IS DISTINCT FROM 0
"""


def alerts(db):
    metrics = db.execute("SELECT name, labels, value FROM turnstile.metrics").fetchall()
    for metric, is_wrong, meaning in RULES:
        for name, labels, value in metrics:
            if name == metric and is_wrong(value):
                yield meaning.format(value=value, **labels)
    for name, waiting in db.execute(IDLE):
        yield f"{waiting} jobs of queue {name} wait, there is room, and none has started for a minute"


if __name__ == "__main__":
    with psycopg.connect(os.environ["DATABASE_URL"]) as db:
        found = list(alerts(db))
    sys.exit("\n".join(found) if found else 0)
