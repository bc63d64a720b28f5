"""Shares: in a fair queue nobody starts far more than its weight allows while another tenant's job could run."""

from bisect import bisect_left, bisect_right
from collections import Counter, namedtuple

from histories import mix
from histories.history import History
from histories.model import NEVER, Rest, is_claim
from histories.rules.order import free_times
from histories.rules.runs import CLAIMS

# What others may be ahead: starts that room was made for and that are not yet made, of all workers at once.
AHEAD = 30
# For what is not known of a start.
ANY = "*"
Start = namedtuple("Start", "call tenant priority times", defaults=(ANY, 1))


def shares_are_kept(history: History):
    """While a job without session or limit waits in a fair queue, another tenant starts at its priority no more than its own
    weight for each start that the job's tenant may have had, and for those ahead."""
    kept, undone = sorted(kept_starts(history), key=_sent), sorted(undone_starts(history), key=_sent)
    # After that nobody shares any more.
    last = min((call.sent for call in history.called("prediction")), default=NEVER)
    for rest in history.rests:
        if rest.job.queue == mix.FAIR and rest.job.session is None:
            for begin, end in free_times(history, rest):
                end = min(end, last)
                yield from passed(history, rest, _within(kept, begin, end), _within(undone, begin, end))


def passed(history: History, rest: Rest, kept: list[Start], undone: list[Start]):
    job = rest.job
    of_priority = [start for start in kept if start.priority == job.priority]
    others = [start for start in of_priority if start.tenant != job.tenant]
    if len(others) <= AHEAD:
        return
    own = len(of_priority) - len(others) + sum(start.times for start in undone if start.tenant in (job.tenant, ANY))
    for tenant, times in Counter(start.tenant for start in others if not history.may_be_locked(rest, start.call)).items():
        weight = mix.WEIGHTS.get(tenant, 1)
        if times > AHEAD + weight * (own + AHEAD):
            yield f"{tenant} of weight {weight} started {times} times while {job} waited, whose tenant started {own} times"


def kept_starts(history: History):
    for change in history.changes:
        if is_claim(change) and change.new.queue == mix.FAIR and (call := history.by_token.get(change.new.worker)):
            yield Start(call, change.new.tenant, change.new.priority)


def undone_starts(history: History):
    """Starts that were rolled back count, too; a rebuild has all begin anew."""
    for transaction in history.transactions:
        for call in transaction.calls:
            if call.verb == "rebuild":
                yield Start(call, ANY)
            elif call.verb in CLAIMS and call.outcome == "unknown":
                yield Start(call, ANY, times=call.arguments["most"])
            elif call.verb in CLAIMS and call.outcome == "ok" and (call.undone or transaction.outcome != "committed"):
                for job_id, _ in call.answer:
                    if job_id in history.births:
                        yield Start(call, history.births[job_id].new.tenant)


def _sent(start: Start) -> float:
    return start.call.sent


def _within(starts: list[Start], begin: float, end: float) -> list[Start]:
    return starts[bisect_right(starts, begin, key=_sent) : bisect_left(starts, end, key=_sent)]
