"""The process that notifies: what happens without it, across restarts and crashes of the server, and in several databases."""


import pytest

from faults.cluster import crash_by_killing, own_cluster
from support.calls import call, claim_next, complete, enqueue
from support.database import fresh_database
from support.errors import refused
from support.listeners import NOTIFIER, Listener
from support.sleepers import until


def test_without_it_all_but_listening_works():
    with own_cluster("notifier", fsync="off", max_worker_processes=0), fresh_database() as db:
        conn = db.connect()
        with refused("55000"):
            call(conn, "listen_channel", queue="default")
        enqueue(conn)
        assert complete(conn, claim_next(conn))
        assert claim_next(conn) is None
        assert conn.execute("SELECT * FROM turnstile.check()").fetchall() == []


@pytest.mark.parametrize("immediate", [False, True], ids=["fast", "immediate"])
def test_listeners_begin_anew_after_a_restart(immediate):
    with own_cluster("notifier", fsync="off") as cluster, fresh_database() as db:
        listener = Listener(db.connect(), "default").find_nothing()
        enqueue(db.connect())
        listener.told("default")
        cluster.restart(immediate)
        conn = db.connect()
        listener = Listener(db.connect(), "default")
        assert complete(conn, claim_next(conn))
        listener.find_nothing()
        enqueue(conn)
        listener.told("default")


def test_a_crash_of_the_process_is_one_of_the_server_and_nothing_is_left_untold():
    with own_cluster("notifier", fsync="off"), fresh_database() as db:
        conn = db.connect()
        [[pid]] = conn.execute(NOTIFIER).fetchall()
        crash_by_killing(pid)
        listener = Listener(db.connect(), "default").find_nothing()
        enqueue(db.connect())
        listener.told("default")


def test_it_serves_several_databases_and_holds_none():
    """Each is told of its own jobs only; a database is dropped and copied without force."""
    with own_cluster("notifier", fsync="off"), fresh_database() as one, fresh_database() as two:
        first, second = Listener(one.connect(), "default"), Listener(two.connect(), "default")
        admin = one.connect()
        for _ in range(20):
            first.find_nothing()
            second.find_nothing()
            enqueue(admin)
            first.told("default")
            assert complete(admin, claim_next(admin))
        assert second.heard(two.connect()) == []
        two.close()
        gone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = %s"
        until(lambda: admin.execute(gone, [two.name]).fetchone()[0], "the connections to it are gone")
        admin.execute(f"CREATE DATABASE {two.name}_copy TEMPLATE {two.name}")
        admin.execute(f"DROP DATABASE {two.name}_copy")
        admin.execute(f"DROP DATABASE {two.name}")
        first.find_nothing()
        enqueue(admin)
        first.told("default")
