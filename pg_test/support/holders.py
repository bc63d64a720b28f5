"""A job with a unique key, brought into each state that a holder can be in."""

from support.calls import cancel, claim_next, complete, discard, enqueue, fail, release, snooze

# A day's window is neither over nor close to it.
WINDOW = {"until_expired": {"unique_for": "1 day"}}
MODES = [
    "until_executing", "until_executed", "until_expired", "while_executing", "until_and_while_executing", "replace",
]  # fmt: skip


def held(mode: str | tuple[str, ...]) -> dict:
    """How a key is held: by a mode, or in some states, which a job that has ended stays in."""
    if isinstance(mode, str):
        return {"unique_mode": mode} | WINDOW.get(mode, {})
    return {"unique_states": list(mode), "unique_for": "1 day"}


def ask(conn, mode: str | tuple[str, ...], name: str = "k", **arguments) -> int:
    """Enqueues with the key `name` into a queue of that name."""
    return enqueue(conn, queue=name, unique_key=name, **held(mode) | arguments)


def run(conn, name: str, holder: int):
    job = claim_next(conn, name)
    assert job.id == holder
    return job


def scheduled(conn, mode, name="k"):
    return ask(conn, mode, name, run_at="2100-01-01")


def available(conn, mode, name="k"):
    return ask(conn, mode, name)


def running(conn, mode, name="k"):
    holder = ask(conn, mode, name)
    run(conn, name, holder)
    return holder


def retryable(conn, mode, name="k"):
    holder = ask(conn, mode, name)
    assert fail(conn, run(conn, name, holder), retry_in="1 day") == "retryable"
    return holder


def available_again(conn, mode, name="k"):
    """Failed, and due for another attempt."""
    holder = retryable(conn, mode, name)
    conn.execute("UPDATE turnstile.job SET state = 'available', run_at = now() WHERE id = %s", [holder])
    return holder


def running_again(conn, mode, name="k"):
    holder = available_again(conn, mode, name)
    run(conn, name, holder)
    return holder


def released(conn, mode, name="k"):
    holder = ask(conn, mode, name)
    assert release(conn, run(conn, name, holder))
    return holder


def completed(conn, mode, name="k"):
    holder = ask(conn, mode, name)
    assert complete(conn, run(conn, name, holder))
    return holder


def discarded(conn, mode, name="k"):
    holder = ask(conn, mode, name)
    assert discard(conn, run(conn, name, holder)) == "discarded"
    return holder


def cancelled(conn, mode, name="k"):
    holder = ask(conn, mode, name)
    assert cancel(conn, holder) == "cancelled"
    return holder


def snoozed(conn, mode, name="k"):
    holder = ask(conn, mode, name)
    assert snooze(conn, run(conn, name, holder), delay="1 day")
    return holder


def deleted(conn, mode, name="k"):
    holder = ask(conn, mode, name)
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [holder])
    return holder


STATES = [
    available, scheduled, running, retryable, available_again, running_again, released, snoozed,
    completed, cancelled, discarded, deleted,
]  # fmt: skip
