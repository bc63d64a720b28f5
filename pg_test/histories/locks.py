"""When jobs may have been locked by calls that left no trace of it: those that were undone, or that only looked."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import accumulate

from histories.model import EVERY_QUEUE, NEVER, Call, Rest, Transaction

# On a busy machine the server may take so long to notice that a client is gone, and to roll back what it did.
NOTICED = 5.0
# The calls that may lock jobs that wait.
LOCKING = {
    "claim", "claim_next", "complete_and_claim_next", "complete_and_claim", "rerank", "move", "put off", "hurry", "delete", "lock", "cancel", "retry",
    "discard", "reprioritize", "cancel_many", "discard_many", "retry_many", "reroute", "rescue", "promote", "maintain",
}  # fmt: skip
CLAIMS = {"claim", "claim_next", "complete_and_claim_next", "complete_and_claim"}
# Those that choose by what the jobs are like; a claim looks for what is due, and for leases that are over. A job that somebody
# changes meanwhile so that it is not chosen any more stays locked, and the answer does not name it.
SWEEPING = {
    "claim", "claim_next", "complete_and_claim_next", "complete_and_claim", "wait_for_job", "rerank", "move", "put off", "hurry", "delete",
    "cancel_many", "discard_many", "retry_many", "reroute", "rescue", "promote", "maintain",
}  # fmt: skip
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

    def __init__(self, transactions: list[Transaction], looked_after: set[int]):
        """`looked_after`: the batches whose children claims may have locked, to cancel them or to change their priority."""
        self._looked_after = looked_after
        found, sweeps = defaultdict(list), []
        for transaction in transactions:
            for call in transaction.calls:
                if call.verb in SWEEPING:
                    sweeps.append((call.sent, call.ended, _over(transaction)))
                # A duplicate of a unique key locks the job that it found.
                if call.verb == "lock" or call.arguments.get("unique") or came_to_nothing(call, transaction):
                    for place in _places(call):
                        found[place].append((call.sent, _over(transaction)))
        self._times = {place: merged(times) for place, times in found.items()}
        self._sweeps = sorted(sweeps)
        self._ended = list(accumulate((ended for _, ended, _ in self._sweeps), max))

    def touch(self, rest: Rest, begin: float, end: float) -> bool:
        """Whether a job that waits may have been locked at some moment between these."""
        places = [("job", rest.job.id), ("queue", rest.job.queue), ("queue", EVERY_QUEUE)]
        if rest.job.opens_batch == "true":
            places += [("turn", rest.job.queue), ("turn", EVERY_QUEUE)]
        if rest.job.parent in self._looked_after:
            places.append(("children",))
        return any(overlap(self._times.get(place, []), begin, end) for place in places) or self._swept(rest, begin)

    def _swept(self, rest: Rest, at: float) -> bool:
        """Whether a sweep that met the job while it came to be as it is, and so saw it as it was, was not over then."""
        number = bisect_left(self._sweeps, (rest.begin,)) - 1
        while number >= 0 and self._ended[number] > rest.changed:
            _, ended, over = self._sweeps[number]
            if ended > rest.changed and over >= at:
                return True
            number -= 1
        return False


def came_to_nothing(call: Call, transaction: Transaction) -> bool:
    """Whether what a call locked, or meant to start, may have been undone."""
    return call.verb in LOCKING and (transaction.outcome != "committed" or call.outcome == "error" or call.undone)


def _places(call: Call) -> list[tuple]:
    """What a call may have locked: jobs, or whatever waits in queues."""
    if call.outcome == "ok" and isinstance(call.answer, list):
        jobs = [("job", one[0] if isinstance(one, list) else one) for one in call.answer]
        return jobs + _places_in_passing(call)
    jobs = [("job", job_id) for job_id, _ in call.arguments.get("runs", [])]
    if jobs and "most" not in call.arguments:
        return jobs
    return jobs + [("children",)] + [("queue", queue) for queue in call.arguments.get("queues", [EVERY_QUEUE])]


def _places_in_passing(call: Call) -> list[tuple]:
    """What a claim may have locked beside what it took: batches that it opened in its queues, children that it looked after."""
    if call.verb not in CLAIMS or call.xid is None:
        return []
    return [("children",), *[("turn", queue) for queue in call.arguments.get("queues", [EVERY_QUEUE])]]


def _over(transaction: Transaction) -> float:
    """When everybody knew that the transaction was over."""
    if transaction.calls[-1].outcome in ("ok", "error"):
        return transaction.ended
    return (transaction.ended if transaction.ended != NEVER else transaction.calls[-1].sent) + NOTICED
