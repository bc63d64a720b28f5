"""Ways in which a transaction is lost: each leaves the connection without what it did since the savepoint `s`."""

import contextlib
import threading
import time

import psycopg


def roll_back(conn, other) -> None:
    conn.execute("ROLLBACK")


def roll_back_to_savepoint(conn, other) -> None:
    conn.execute("ROLLBACK TO SAVEPOINT s; COMMIT")


def fail_with_an_error(conn, other) -> None:
    with contextlib.suppress(psycopg.errors.DivisionByZero):
        conn.execute("SELECT 1 / 0")
    conn.execute("COMMIT")


def disconnect(conn, other) -> None:
    pid = conn.info.backend_pid
    conn.close()
    wait_for_exit(other, pid)


def be_terminated(conn, other) -> None:
    terminate(other, conn.info.backend_pid)
    conn.close()


def be_terminated_in_a_statement(conn, other) -> None:
    _in_a_statement(conn, lambda: terminate(other, conn.info.backend_pid), other)
    conn.close()


def be_cancelled_in_a_statement(conn, other) -> None:
    _in_a_statement(conn, lambda: other.execute("SELECT pg_cancel_backend(%s)", [conn.info.backend_pid]), other)
    conn.execute("ROLLBACK")


WAYS = {
    "rollback": roll_back,
    "rollback to savepoint": roll_back_to_savepoint,
    "error": fail_with_an_error,
    "disconnect": disconnect,
    "pg_terminate_backend": be_terminated,
    "pg_terminate_backend in a statement": be_terminated_in_a_statement,
    "pg_cancel_backend in a statement": be_cancelled_in_a_statement,
}


def terminate(other, pid: int) -> None:
    other.execute("SELECT pg_terminate_backend(%s)", [pid])
    wait_for_exit(other, pid)


def wait_for_exit(other, pid: int, patience: float = 60) -> None:
    give_up = time.monotonic() + patience
    while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone():
        assert time.monotonic() < give_up, f"backend {pid} is still there"
        time.sleep(0.005)


def _in_a_statement(conn, interrupt, other) -> None:
    """Interrupts the connection while it is busy with a statement."""

    def busy():
        with contextlib.suppress(psycopg.errors.QueryCanceled, psycopg.OperationalError):
            conn.execute("SELECT pg_sleep(60)")

    thread = threading.Thread(target=busy)
    thread.start()
    query = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state = 'active' AND wait_event = 'PgSleep'"
    while thread.is_alive() and not other.execute(query, [conn.info.backend_pid]).fetchone():
        time.sleep(0.005)
    interrupt()
    thread.join()
