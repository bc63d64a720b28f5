"""Nobody is forgotten while blocked: who waits for nothing any more goes on, or ends, soon."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise

from histories.history import History
from histories.limits import begun, done
from histories.model import Call, Change, Commit, Job
from histories.rules.followers import Order, order_of
from histories.rules.runs import CLAIMS

# Of claims, which look after others in passing. A transaction that has locked such a job may be open for some of it.
SECONDS = 8.0
MOMENT = 0.25


def who_waits_for_nothing_goes_on(history: History):
    """A parent without live children, or a job whose predecessors have all ended, does not stay blocked while claims are made."""
    claims = sorted((call for call in history.called(*CLAIMS) if call.outcome == "ok"), key=_sent)
    for job, since, until in idle_times(history):
        if until - since <= SECONDS:
            continue
        meanwhile = claims[bisect_right(claims, since, key=_sent) : bisect_left(claims, until, key=_sent)]
        if sum(min(MOMENT, later.sent - sooner.sent) for sooner, later in pairwise(meanwhile)) > SECONDS:
            yield f"{job} waited for nothing for {until - since:.1f} s, while there were {len(meanwhile)} claims"


def _sent(call: Call) -> float:
    return call.sent


def idle_times(history: History):
    """Jobs that were blocked with nothing left to wait for, with from when until when."""
    queue, idle = _Blocked(history), {}
    for commit in history.commits:
        for job_id in queue.apply(commit):
            if not queue.waits_for_nothing(job_id):
                if job_id in idle:
                    yield *idle.pop(job_id), begun(commit)
            elif job_id not in idle:
                idle[job_id] = queue.live[job_id], done(commit)
    for job, since in idle.values():
        yield job, since, history.end


class _Blocked:
    """The jobs that are live after some commits, with what they wait for."""

    def __init__(self, history: History):
        self._history = history
        self.live: dict[int, Job] = {}
        self._children: dict[int, set[int]] = defaultdict(set)
        self._orders: dict[int, Order | None] = {}
        self._followers: dict[int, list[int]] = defaultdict(list)
        self._completed: set[int] = set()
        self._batches: dict[int, dict | None] = {}

    def apply(self, commit: Commit) -> set[int]:
        """Returns the jobs that may wait for something else since."""
        touched: set[int] = set()
        for setting in commit.settings:
            if setting.table == "batch":
                touched.add(int(setting.key[0]))
                self._batches[int(setting.key[0])] = setting.row
        for change in commit.changes:
            self._change(change)
            touched.update([change.id, *self._followers[change.id]])
            touched.update(job.parent for job in (change.old, change.new) if job is not None and job.parent is not None)
        self._completed.update(job.id for job in commit.finished if job.state == "completed")
        return touched.union(*[self._children[job_id] for job_id in touched])

    def _change(self, change: Change) -> None:
        if change is self._history.births[change.id]:
            self._orders[change.id] = order = order_of(self._history, change.id)
            for job_id in order.after if order else []:
                self._followers[job_id].append(change.id)
        if change.old is not None and change.old.parent is not None:
            self._children[change.old.parent].discard(change.id)
        if change.new is None:
            self.live.pop(change.id, None)
            return
        self.live[change.id] = change.new
        if change.new.parent is not None:
            self._children[change.new.parent].add(change.id)

    def waits_for_nothing(self, job_id: int) -> bool:
        job = self.live.get(job_id)
        if job is None or job.state != "blocked" or self._comes_after_others(job_id):
            return False
        row = self._batches.get(job_id)
        waits_for_its_turn = job.opens_batch == "true" and not (row and row["stops"])
        return (waits_for_its_turn or not self._children[job_id]) and not self._waits_for_opening(job)

    def _comes_after_others(self, job_id: int) -> bool:
        order = self._orders[job_id]
        return order is not None and any(
            before in self.live or order.holds and before not in self._completed for before in order.after
        )

    def _waits_for_opening(self, job: Job) -> bool:
        """A child with a session is in line when its batch has been opened."""
        row = self._batches.get(job.parent)
        return job.session is not None and row is not None and row["opened_at"] is None and row["stops"] is None
