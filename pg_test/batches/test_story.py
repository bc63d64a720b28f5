"""The story: an administrator installs an app on 10,000 devices, and uninstalls another behind it.

Sixty workers share the installation. An operator changes its parallelism while it runs. Whatever ran when is read from history
afterwards, where each run has the server's own times.
"""

import threading
import time

import pytest

from support import rows
from support.batches import children_of, ended, ends_of, enqueue_batch, of, running
from support.calls import claim_next, complete, enqueue, enqueue_many
from support.crew import Progress, together
from support.sweep import most_at_once

DEVICES = 10_000
WORKERS = 60
SLOTS = [40, 10, 0, 55, 3, 25]
# The changes come while children are left: after each of these shares of all has ended.
SHARES = [0, 0.1, 0.2, 0.2, 0.6, 0.7]
PATIENCE = 120
UNDER_WAY = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
       AND state <> 'idle' AND query_start <= %s
"""


class Operator:
    """Changes the slots of the batch, and writes down between which times of the server each change took place."""

    def __init__(self, conn, batch: int, progress: Progress):
        self.conn, self.batch, self.progress = conn, batch, progress
        self.changes = [(None, None, SLOTS[0])]
        self.reached: list[int] = []
        self.holding = threading.Event()

    def __call__(self) -> None:
        for slots, share in zip(SLOTS, SHARES, strict=True):
            self._await(lambda share=share: self.progress.ended >= share * DEVICES, "enough children have ended")
            self.change(slots)
            self.hold_and_look(slots)

    def change(self, slots: int) -> None:
        before = rows.clock(self.conn)
        self.conn.execute("UPDATE turnstile.batch SET slots = %s WHERE id = %s", [slots, self.batch])
        # A claim that was under way may have been admitted before. Such runs go on to their end.
        changed = rows.clock(self.conn)
        self._await(lambda: self.conn.execute(UNDER_WAY, [changed]).fetchone() == (0,), "no claim is left from before the change")
        self._await(lambda: running(self.conn, self.batch) <= slots, f"no more than {slots} run")
        self.changes.append((before, rows.clock(self.conn), slots))

    def hold_and_look(self, slots: int) -> None:
        """While nobody ends a run, as many run as may, and never more."""
        self.holding.set()
        seen = []
        self._await(lambda: self._look(seen) == slots, f"{slots} run")
        seen += [self._look(seen) for _ in range(20)]
        assert max(seen) == slots, f"{max(seen)} ran where {slots} may"
        self.reached.append(slots)
        self.holding.clear()

    def _look(self, seen: list) -> int:
        seen.append(running(self.conn, self.batch))
        return seen[-1]

    def _await(self, is_so, what: str) -> None:
        give_up = time.monotonic() + PATIENCE
        while not is_so():
            assert not self.progress.broken, "another task has failed"
            assert time.monotonic() < give_up, f"never: {what}"
            time.sleep(0.01)

    def greatest(self, at) -> int:
        """The greatest number of slots that may have been in force at a time of the server."""
        possible = []
        for (began, _, slots), following in zip(self.changes, [*self.changes[1:], None], strict=True):
            if (began is None or began <= at) and (following is None or following[1] >= at):
                possible.append(slots)
        return max(possible)


def _work(conn, progress: Progress, operator: Operator) -> None:
    while progress.going:
        job = claim_next(conn)
        if job is None:
            if operator.holding.is_set():
                time.sleep(0.01)
            else:
                progress.idle()
            continue
        while operator.holding.is_set() and not progress.broken:
            time.sleep(0.005)
        assert complete(conn, job, result={"kind": job.kind}) is True
        progress.add()


def _history(conn, condition: str, *arguments) -> list[tuple]:
    query = f"SELECT claimed_at, finished_at, id FROM turnstile.job_history WHERE {condition} ORDER BY claimed_at"
    return conn.execute(query, arguments).fetchall()


def _beyond(children: list[tuple], operator: Operator) -> list[tuple]:
    """The claims at whose time more children ran than may have been admitted."""
    beyond, ends = [], sorted(end for _, end, _ in children)
    over = 0
    for begun, (claimed_at, _, job_id) in enumerate(children, 1):
        # A run's slot is given on no sooner than it has ended.
        while ends[over] <= claimed_at:
            over += 1
        if begun - over > operator.greatest(claimed_at):
            beyond.append((job_id, begun - over, operator.greatest(claimed_at)))
    return beyond


@pytest.mark.long
def test_an_installation_on_ten_thousand_devices(db, conn):
    enqueue_many(conn, [{"kind": "other", "session": "another administrator"}] * 50)
    install = enqueue_batch(conn, "install", of(DEVICES), session="administrator", slots=SLOTS[0])
    uninstall = enqueue(conn, "uninstall", session="administrator")
    made = children_of(conn, install)
    progress = Progress(DEVICES + 50 + 2)
    operator = Operator(db.connect(), install, progress)
    connections = [db.connect() for _ in range(WORKERS)]
    together([lambda c=c: _work(c, progress, operator) for c in connections] + [operator], progress)

    assert operator.reached == SLOTS
    children = _history(conn, "parent = %s", install)
    assert sorted(job_id for _, _, job_id in children) == made
    assert _beyond(children, operator) == []
    assert most_at_once([(begin, end) for begin, end, _ in children]) <= max(SLOTS)

    [(called_at, called_until, _)] = _history(conn, "id = %s", install)
    assert ends_of(conn, install) == [("completed", 1)]
    assert rows.finished(conn, install).children == ended(completed=DEVICES)
    assert called_at > max(end for _, end, _ in children), "the callback comes after the last child"
    [(next_at, _, _)] = _history(conn, "id = %s", uninstall)
    assert next_at > called_until, "the next job of the session comes after the callback"

    others = _history(conn, "kind = 'other'")
    assert len(others) == 50
    assert children[0][0] < others[-1][0] < called_at, "another administrator's jobs run meanwhile"
    assert rows.counts(conn) == {"completed": DEVICES + 52}
