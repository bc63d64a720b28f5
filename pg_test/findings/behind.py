"""A call that waits for a transaction which rewrites a table."""

import threading

from support.sleepers import until

# A new value for each row: the table is written anew, and what is in it then is younger than any snapshot of before.
REWRITE = "ALTER TABLE turnstile.{} ADD COLUMN c uuid DEFAULT gen_random_uuid()"

_WAITS = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"


class _Call(threading.Thread):
    def __init__(self, work):
        super().__init__(daemon=True)
        self.work = work
        self.answer = self.error = None
        self.start()

    def run(self):
        try:
            self.answer = self.work()
        except BaseException as error:
            self.error = error


def behind(db, conn, work, rewrite: str = REWRITE.format("job"), waits=True, meanwhile: str = "SELECT"):
    """What `work` on `conn` answers, begun while another session has rewritten a table and ended after it has committed.

    Only one that may know its answer without the table need not wait for it. `meanwhile` is what the other session does while
    the call waits.
    """
    with db.connect(autocommit=False) as other, db.connect() as watcher:
        other.execute(rewrite)
        call = _Call(work)
        until(
            lambda: not call.is_alive() or watcher.execute(_WAITS, [conn.info.backend_pid]).fetchone(),
            "the call waits for the table",
        )
        assert call.is_alive() or not waits, f"the call did not wait for the table: {call.answer} {call.error}"
        other.execute(meanwhile)
        other.commit()
    call.join(60)
    assert not call.is_alive(), "the call does not end"
    if call.error:
        raise call.error
    return call.answer
