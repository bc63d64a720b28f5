"""What is on disk of the server's log, where nobody writes it but who waits for that."""

import contextlib
import os
import signal

_WRITER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
_SINCE = "SELECT pg_current_wal_insert_lsn() > %s::pg_lsn, pg_current_wal_flush_lsn() > %s::pg_lsn"


def log_writer(conn) -> int:
    return conn.execute(_WRITER).fetchone()[0]


@contextlib.contextmanager
def no_log_writer(conn):
    """The process that writes the log for those who do not wait stands still. A crash may end it meanwhile."""
    pid = log_writer(conn)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def waits_for_disk(watch, work) -> bool:
    """Whether anything that this work has logged is on disk when it has come back."""
    # Its commit waits, so that all of the log is on disk to begin with.
    watch.execute("SELECT pg_current_xact_id()")
    (before,) = watch.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
    work()
    logged, written = watch.execute(_SINCE, [before, before]).fetchone()
    assert logged, "nothing was logged"
    return written
