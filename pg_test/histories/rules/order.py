"""Order: by priority and position among those that may run, strictly inside a session, and not before its time."""

from bisect import bisect_left, bisect_right
from collections import defaultdict

from histories import mix
from histories.history import History
from histories.model import EVERY_QUEUE, NEVER, Call, Job, Rest, Transaction, gates, is_claim, rank, session
from histories.rules.runs import CLAIMS

FULL = (NEVER, NEVER)
NOTHING = (-NEVER, -NEVER)


def nobody_runs_too_early(history: History):
    """A job is claimed when its time has come, by the server's clock."""
    for change in history.changes:
        if is_claim(change) and change.new.claimed_at < change.new.run_at:
            yield f"job {change.id} was claimed before its time: {change.new}"


def sessions_keep_their_order(history: History):
    """No job of a session starts while one before it was available; a failed one that holds its session goes first."""
    waiting = defaultdict(list)
    for rest in history.rests:
        if rest.job.session is not None:
            waiting[session(rest.job)].append(rest)
    for change in history.changes:
        if not is_claim(change) or change.new.session is None or change.new.holds_session:
            continue
        call = history.by_token.get(change.new.worker)
        for rest in waiting[session(change.new)] if call and call.outcome == "ok" else []:
            first = rank(rest.job) < rank(change.new) and rest.job.id != change.id
            if first and rest.begin < call.sent and call.ended < rest.end and not history.may_be_locked(rest, call):
                yield f"job {change.id} started before {rest.job} of its session: {call}"


class Claims:
    """Claims by the time that they were sent, each with the worst rank that it took."""

    def __init__(self, claims: list[tuple[Call, tuple]]):
        self.claims = sorted(claims, key=lambda claim: claim[0].sent)
        self.sent = [call.sent for call, _ in self.claims]
        self.levels = [[worst for _, worst in self.claims]]
        width = 1
        while 2 * width <= len(self.claims):
            below = self.levels[-1]
            self.levels.append([max(below[n], below[n + width]) for n in range(len(below) - width)])
            width *= 2

    def worst(self, first: int, last: int) -> tuple:
        """The worst rank that the claims from number `first` to before `last` have taken."""
        if first >= last:
            return NOTHING
        level = (last - first).bit_length() - 1
        return max(self.levels[level][first], self.levels[level][last - (1 << level)])

    def that_passed(self, job: Job, begin: float, end: float):
        """The claims within these times that took a worse job than this one, or too few."""
        first, last = bisect_right(self.sent, begin), bisect_left(self.sent, end)
        if self.worst(first, last) > rank(job):
            for call, worst in self.claims[first:last]:
                if worst > rank(job) and call.ended < end:
                    yield call


def nobody_is_passed_over(history: History):
    """While a job without session or limit is available, no claim of its queue takes a worse one, or none at all."""
    by_line = claims_by_line(history)
    for rest in history.rests:
        if rest.job.session is not None or line(rest.job) not in by_line:
            continue
        for begin, end in free_times(history, rest):
            for call in by_line[line(rest.job)].that_passed(rest.job, begin, end):
                if not history.may_be_locked(rest, call):
                    yield f"job {rest.job.id} was passed over: {rest.job} by {call}"


def line(job: Job) -> tuple:
    """The jobs among which a position decides: those of the queue; in a fair one, those of the tenant."""
    return (job.queue, job.tenant) if job.queue == mix.FAIR else (job.queue,)


def rank_from(queue_line: tuple, job: Job) -> tuple:
    """The rank of what was taken, to those in a line: where positions do not decide, only the priority counts."""
    first_come = job.queue != mix.FAIR != queue_line[0]
    return rank(job) if first_come or line(job) == queue_line else (job.priority, -NEVER)


def free_times(history: History, rest: Rest) -> list[tuple[float, float]]:
    """The times of the rest in which no gate of the job was limited."""
    times = [(rest.begin, rest.end)]
    for gate in gates(rest.job):
        free = history.limits.unlimited_times(gate)
        times = [(max(a, c), min(b, d)) for a, b in times for c, d in free if c < b and d > a]
    return times


def claims_by_line(history: History) -> dict[tuple, Claims]:
    taken: dict[str, dict] = defaultdict(dict)
    lines = defaultdict(set)
    for change in history.changes:
        if is_claim(change) and change.old is not None:
            taken[change.new.worker][(change.id, change.new.attempt)] = change.old
        if change.new is not None:
            lines[change.new.queue].add(line(change.new))
    found = defaultdict(list)
    for transaction in history.transactions:
        for call in transaction.calls:
            is_claim_of_queues = call.verb in CLAIMS and call.outcome == "ok" and "queues" in call.arguments
            if is_claim_of_queues and not may_have_stopped_a_batch(history, transaction, call):
                for queue, jobs in looked_at(call, history.queues_of(call), taken.get(call.token, {})):
                    for one in lines[queue]:
                        found[one].append((call, FULL if jobs is None else max(rank_from(one, job) for job in jobs)))
    return {one: Claims(claims) for one, claims in found.items()}


def may_have_stopped_a_batch(history: History, transaction: Transaction, call: Call) -> bool:
    """A claim that stops a batch for its failures takes nothing; what was undone may have been that."""
    if len(call.answer) == call.arguments["most"] or call.xid is None:
        return False
    return call.undone or transaction.outcome != "committed" or id(transaction) in history.stoppers


def looked_at(call: Call, queues: list[str], taken: dict[tuple, Job]):
    """For each queue of a claim the jobs than which it took nothing worse, as far as they are known; None: it took all."""
    runs = [tuple(run) for run in call.answer]
    if any(run not in taken for run in runs):
        return
    if len(runs) < call.arguments["most"]:
        yield from ((queue, None) for queue in queues)
        return
    if call.arguments["queues"] == [EVERY_QUEUE]:
        yield from ((queue, [taken[run] for run in runs]) for queue in queues)
        return
    last = max(queues.index(taken[run].queue) for run in runs)
    for number, queue in enumerate(queues[: last + 1]):
        yield queue, None if number < last else [taken[run] for run in runs if taken[run].queue == queue]
