"""When jobs may have been locked by calls that left no trace of it: those that were undone, or that only looked."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import accumulate

from histories.limits import SOON
from histories.model import EVERY_QUEUE, NEVER, Call, Job, Transaction

# The calls that may lock jobs that wait.
LOCKING = {
    "claim", "claim_next", "complete_and_claim_next", "rerank", "move", "put off", "hurry", "delete", "lock", "cancel", "retry",
    "discard", "reprioritize", "cancel_many", "discard_many", "retry_many", "reroute", "rescue", "promote", "maintain",
}  # fmt: skip
# Those that choose by what the jobs are like. One that somebody changed meanwhile so that it is not chosen any more stays locked,
# and the answer does not name it.
SWEEPING = {"rerank", "move", "put off", "hurry", "delete", "cancel_many", "discard_many", "retry_many", "reroute"}
Times = list[tuple[float, float]]


def merged(times) -> Times:
    """The same times in order and apart from each other."""
    found: Times = []
    for begin, end in sorted(times):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def overlap(times: Times, begin: float, end: float) -> bool:
    """Whether merged times have a moment in common with this one."""
    number = bisect_right(times, (end, NEVER))
    return number > 0 and times[number - 1][1] >= begin


class Locks:
    """Until their transaction was over, by job where it is known which, else by queue."""

    def __init__(self, transactions: list[Transaction]):
        found, sweeps = defaultdict(list), []
        for transaction in transactions:
            for call in transaction.calls:
                if call.verb in SWEEPING:
                    sweeps.append((call.sent, _over(transaction)))
                # A duplicate of a unique key locks the job that it found.
                if call.verb == "lock" or call.arguments.get("unique") or came_to_nothing(call, transaction):
                    for place in _places(call):
                        found[place].append((call.sent, _over(transaction)))
        self._times = {place: merged(times) for place, times in found.items()}
        self._sweeps = sorted(sweeps)
        self._swept_until = list(accumulate((over for _, over in self._sweeps), max))

    def touch(self, job: Job, since: float, begin: float, end: float) -> bool:
        """Whether a job that has waited since then may have been locked at some moment between these."""
        places = (("job", job.id), ("queue", job.queue), ("queue", EVERY_QUEUE))
        if any(overlap(self._times.get(place, []), begin, end) for place in places):
            return True
        # A sweep that began later has seen the job as it is.
        before = bisect_left(self._sweeps, (since,))
        return before > 0 and self._swept_until[before - 1] >= begin


def came_to_nothing(call: Call, transaction: Transaction) -> bool:
    """Whether what a call locked, or meant to start, may have been undone."""
    return call.verb in LOCKING and (transaction.outcome != "committed" or call.outcome == "error" or call.undone)


def _places(call: Call) -> list[tuple]:
    """What a call may have locked: jobs, or whatever waits in queues."""
    if call.outcome == "ok" and isinstance(call.answer, list):
        return [("job", one[0] if isinstance(one, list) else one) for one in call.answer]
    jobs = [("job", job_id) for job_id, _ in call.arguments.get("runs", [])]
    if jobs and "most" not in call.arguments:
        return jobs
    return jobs + [("queue", queue) for queue in call.arguments.get("queues", [EVERY_QUEUE])]


def _over(transaction: Transaction) -> float:
    """When everybody knew that the transaction was over; a lost connection is noticed soon."""
    if transaction.calls[-1].outcome in ("ok", "error"):
        return transaction.ended
    return transaction.ended + SOON if transaction.ended != NEVER else transaction.calls[-1].sent + 5 * SOON
