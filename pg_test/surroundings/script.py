"""What is done in every surrounding: each verb at least once, in some queues, and some DML of users between.

A job's payload has its label, by which it is known whatever its id. Jobs differ by kind, so that what a surrounding refuses,
cancels or changes meets one or two of them and the others go on.
"""

from actor import Actor, Run

# What a surrounding picks its victims from. Each is found by several verbs.
KINDS = "mail sync bill scan pack ship poll sort join wipe".split()
FAR = "2100-01-01 00:00:00+00"
# Too large for a page, and of a sort that does not compress well.
LARGE = {"text": "".join(chr(97 + n * n * 7 % 26) + str(n * 7919 % 1000) for n in range(6000))}

# In the template, before there are any surroundings.
PRIOR = [
    # Nothing falls due, and no lease ends, but where the script says so.
    "SELECT turnstile.set_queue('*', retry_base => '1 hour', lease => '1 day')",
    "INSERT INTO turnstile.route (pattern, queue) VALUES ('move*', 'elsewhere')",
    "INSERT INTO turnstile.tenant (name) VALUES ('acme')",
]


def prior(act: Actor) -> None:
    """Jobs that are older than the surroundings, so that their rows know nothing of these."""
    act.enqueue("old running", kind="mail", queue="old")
    act.enqueue("old retryable", kind="sync", queue="old", session="long")
    act.enqueue("old completed", kind="bill", queue="old")
    act.enqueue("old discarded", kind="scan", queue="old", metadata={"old": True})
    act.enqueue("old to fail", kind="pack", queue="old", max_attempts=1)
    runs = act.claim(["old"], 5)
    act.fail(runs[1], error="not yet", retry_in="1 hour")
    act.complete(runs[2], result={"all": "well"})
    act.fail(runs[3], error="never", discard=True)
    act.enqueue("old waiting", kind="ship", queue="old")
    act.enqueue("old scheduled", kind="poll", queue="old", run_at=FAR, payload=LARGE)


def play(act: Actor) -> None:
    produce(act)
    act.pause("produced")
    claimed = claim(act)
    act.pause("claimed")
    end(act, claimed)
    act.pause("ended")
    operate(act)
    act.pause("operated")
    look_after(act)
    act.pause("looked after")


def produce(act: Actor) -> None:
    act.enqueue("a", kind="mail", queue="main")
    about = {"tenant": "acme", "account": "first", "session": "s", "concurrency_key": "k", "metadata": {"by": "hand"}}
    act.enqueue("b", kind="sync", queue="main", priority=5, max_attempts=3, **about)
    act.enqueue("c", kind="bill", queue="main", priority=5, **about)
    act.enqueue("later", kind="scan", queue="main", run_at=FAR)
    act.enqueue_many(
        {
            "d": {"kind": "pack", "queue": "main"},
            "e": {"kind": "ship", "queue": "main", "priority": 1, "payload": LARGE},
            "f": {"kind": "poll", "queue": "main", "run_at": FAR},
            "g": {"kind": "sort", "queue": "main", "max_attempts": 2},
            "h": {"kind": "join", "queue": "main"},
        }
    )
    act.enqueue_many(
        {
            "i": {"kind": "wipe", "queue": "side", "unique_key": "i"},
            "j": {"kind": "mail", "queue": "side", "metadata": {"few": 1}},
        }
    )
    act.enqueue("i again", kind="wipe", queue="side", unique_key="i")
    act.enqueue("l", kind="sync", queue="side", unique_key="l", unique_mode="replace")
    act.enqueue("l again", kind="bill", queue="side", unique_key="l", unique_mode="replace", payload={"job": "l", "version": 2})
    act.by_hand("INSERT INTO turnstile.job (kind, queue, payload) VALUES ('scan', 'side', '{\"job\": \"m\"}')")
    act.by_hand(
        "INSERT INTO turnstile.job (kind, queue, payload, priority) SELECT kind, 'side', jsonb_build_object('job', label), 2"
        " FROM (VALUES ('pack', 'n'), ('ship', 'o')) AS few (kind, label)"
    )
    act.find_by_hand()
    kinds = {"p": "poll", "q": "sort", "r": "join", "s": "wipe", "t": "mail", "u": "sync"}
    act.enqueue_many({label: {"kind": kind, "queue": "bulk"} for label, kind in kinds.items()})
    act.enqueue_many({f"move {n}": {"kind": "move", "queue": "bulk"} for n in range(2)})
    # For triggers that claim.
    act.enqueue_many({f"inner {n}": {"kind": "inner", "queue": "inner"} for n in range(16)})


def claim(act: Actor) -> dict[str, Run]:
    act.claim_next("none")
    runs = act.claim_next("main")
    runs += act.claim_next("main", worker="ann", lease="1 hour")
    runs += act.claim_next("main", bind_to_connection=True)
    runs += act.claim(["main", "side"], 3)
    runs += act.claim(["side"], 5)
    runs += act.claim_next("old")
    for run in runs[:2]:
        act.heartbeat(run)
        act.progress(run, 1, 3, "a third")
    for run in runs[2:3]:
        act.heartbeat(run, "2 hours")
    return {run.label: run for run in runs}


def end(act: Actor, claimed: dict[str, Run]) -> None:
    runs = list(claimed.values())
    for run in act.known("old running"):
        act.complete(run)
    for run in act.known("old to fail"):
        act.fail(run, error="for the last time")
    for run in runs[0:1]:
        act.complete(run, result={"sum": 12})
        act.complete(run)
        act.release(run)
    for run in runs[1:2]:
        for following in act.complete_and_claim_next(run):
            act.release(following)
    for run in runs[2:3]:
        act.fail(run, error="once more", retry_in="1 hour")
    for run in runs[3:4]:
        act.fail(run, error="no more", discard=True)
    for run in runs[4:5]:
        act.snooze(run, "1 hour")
    for run in runs[5:6]:
        act.cancel(run)
        act.heartbeat(run)
        act.release(run)
    for run in runs[6:7]:
        act.release(run)
    act.complete_many(runs[7:9])


def operate(act: Actor) -> None:
    for run in act.known("old retryable", "old completed", "old discarded"):
        act.retry(run)
    for run in act.claim(["old"], 2):
        act.complete(run)
    for run in act.known("old running"):
        act.retry(run)
    for run in act.known("old scheduled", "later", "c"):
        act.cancel(run)
    for run in act.known("f", "h"):
        act.discard(run, "out of date")
    for run in act.known("d", "g", "t"):
        act.reprioritize(run, 3)
    act.cancel_many("bulk", "poll")
    act.discard_many("bulk", "sort")
    act.retry_many("bulk")
    act.reroute("move*")
    for run in act.claim_next("bulk"):
        act.progress(run, 2, 2, "all")
    act.claim(["bulk", "elsewhere"], 3)
    act.by_hand(
        "UPDATE turnstile.job SET priority = priority + 1, tenant = 'acme' WHERE state = 'available' AND queue IN ('main', 'side', 'bulk')"
    )
    act.by_hand("DELETE FROM turnstile.job WHERE payload ->> 'job' = 'u'")


def look_after(act: Actor) -> None:
    """Last, since what cannot be rescued or promoted would be tried again by any claim."""
    act.by_hand(
        "UPDATE turnstile.job SET lease_expires_at = now() - interval '1 day' WHERE state = 'running' AND queue <> 'side'"
    )
    act.rescue()
    act.by_hand("UPDATE turnstile.job SET run_at = now() - interval '1 day' WHERE state IN ('retryable', 'scheduled')")
    act.promote()
