"""Histories made by hand, to test the rules: transactions and commits told one after the other."""

import itertools

import pytest

from histories.history import History
from histories.model import NEVER, Call, Change, Commit, Job, Setting, Transaction

_BLANK = dict.fromkeys(Job._fields) | {
    "queue": "q", "priority": 0, "run_at": 0.0, "state": "available", "holds_session": False, "attempt": 0,
    "max_attempts": 25, "uncounted": 0,
}  # fmt: skip


def case_of(cases: list, *values):
    """The story that follows is a case of a test, after these values."""

    def note(tell):
        cases.append(pytest.param(*values, tell, id=tell.__name__))
        return tell

    return note


class Story:
    """Time goes on by itself: each transaction is sent at one second and ends at the next."""

    def __init__(self):
        self.transactions, self.commits, self.live = [], [], {}
        self.now = 0.0
        self.server_log, self.rest = "", None
        self.crashes: list[tuple[float, float]] = []
        self._numbers = itertools.count(1)

    def told(self) -> History:
        return History(self.transactions, self.commits, {}, self.rest, self.server_log, crashes=self.crashes)

    def called(self, verb: str, answer=None, outcome="ok", lasts=1.0, **arguments) -> Call:
        call = Call("client", next(self._numbers), verb, arguments, self.now, self.now + lasts, outcome, answer)
        self.now += lasts + 0.125
        return call

    def ended(self, *calls: Call, outcome="committed") -> Transaction:
        """A transaction of these calls, of which nothing is committed yet."""
        transaction = Transaction(list(calls), outcome, calls[-1].ended)
        self.transactions.append(transaction)
        for call in calls:
            call.xid = 1000 + len(self.transactions)
        return transaction

    def committed(self, transaction: Transaction, *rows: dict, finished=(), settings=()) -> Commit:
        """What the server wrote of a transaction: jobs with these columns changed; `gone` for a deleted one."""
        commit = Commit(len(self.commits), transaction.calls[0].xid, transaction.calls[0].sent)
        for row in rows:
            old = self.live.get(row["id"])
            new = None if row.get("gone") else (old or Job(**_BLANK | {"position": row["id"]}))._replace(**row)
            self.live[row["id"]] = new
            commit.changes.append(Change(commit, row["id"], old, new))
        for job_id, state in finished:
            old = next(change.old for change in commit.changes if change.id == job_id)
            commit.finished.append((old or Job(**_BLANK))._replace(id=job_id, state=state))
        commit.settings = [Setting(table, tuple(key), row) for table, key, row in settings]
        self.commits.append(commit)
        return commit

    def enqueues(self, *ids: int, **columns) -> Transaction:
        call = self.called("enqueue_many", list(ids), jobs=len(ids))
        transaction = self.ended(call)
        self.committed(transaction, *[{"id": job_id, "kind": call.token, **columns} for job_id in ids])
        return transaction

    def claims(self, *ids: int, most: int | None = None, queues=("q",), lasts=1.0, attempt=None, **columns) -> Transaction:
        """A claim of these jobs, each under its next attempt or another, with a lease that never ends."""
        runs = [[job_id, attempt or self.live[job_id].attempt + 1] for job_id in ids]
        call = self.called("claim", runs, queues=list(queues), most=len(ids) if most is None else most, lasts=lasts)
        transaction = self.ended(call)
        if ids:
            self.committed(transaction, *[self.running(call, *run) | columns for run in runs])
        return transaction

    def loses(self, *runs: tuple[int, int], **columns) -> Transaction:
        """A claim of these runs that a crash takes back."""
        transaction = self.ended(self.called("claim", [list(run) for run in runs], queues=["q"], most=len(runs)))
        self.crashes.append((self.now, self.now + 1))
        self.now += 1.125
        return transaction

    def running(self, call: Call, job_id: int, attempt: int) -> dict:
        return {
            "id": job_id, "state": "running", "attempt": attempt, "worker": call.token, "claimed_at": call.sent,
            "lease_expires_at": NEVER,
        }  # fmt: skip

    def completes(self, job_id: int, attempt: int | None = None) -> Transaction:
        run = [job_id, self.live[job_id].attempt if attempt is None else attempt]
        transaction = self.ended(self.called("complete", True, runs=[run]))
        self.committed(transaction, {"id": job_id, "gone": True}, finished=[(job_id, "completed")])
        return transaction

    def fails(self, job_id: int, **columns) -> Transaction:
        run = [job_id, self.live[job_id].attempt]
        transaction = self.ended(self.called("fail", "retryable", runs=[run]))
        self.committed(transaction, {"id": job_id, "state": "retryable", "worker": None, **columns})
        return transaction

    def fails_for_good(self, job_id: int) -> Transaction:
        run = [job_id, self.live[job_id].attempt]
        transaction = self.ended(self.called("discard", "discarded", runs=[run]))
        self.committed(transaction, {"id": job_id, "gone": True}, finished=[(job_id, "discarded")])
        return transaction

    def limits(self, table: str, *key: str, **row) -> Transaction:
        transaction = self.ended(self.called("set limit"))
        self.committed(transaction, settings=[(table, key, row)])
        return transaction

    def waits(self, seconds: float) -> None:
        self.now += seconds
