"""A server that is lost, that stops, or that takes no writes: 503 with when to come back, and then it works again."""

import functools
import threading

from support.calls import call, cancel, enqueue
from support.ended import counts
from support.serve import OF_THE_PROGRAM, await_asking
from support.sleepers import until

HELD_UP = f"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND {OF_THE_PROGRAM}"
SAY_VERSION = "CREATE OR REPLACE FUNCTION turnstile.catalog_version() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT '{}'$$"
LOSE_ALL = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {OF_THE_PROGRAM}"


def test_a_server_that_is_gone_comes_back(conn, serve, producer, relay, db):
    served = serve(producer, database=f"host=127.0.0.1 port={relay.port} dbname={db.name} connect_timeout=2")
    assert served.post("/v1/jobs/a", role=producer).status == 201
    relay.cut()
    key = {"Idempotency-Key": "1"}
    for method, path, headers in (("POST", "/v1/jobs/a", key), ("GET", "/v1/jobs/1", None), ("DELETE", "/v1/jobs/1", None)):
        refused = served.ask(method, path, role=producer, headers=headers)
        assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0
    relay.open()
    assert served.post("/v1/jobs/a", role=producer).status == 201
    assert counts(conn) == {"available": 2}


def test_connections_that_the_server_ends_are_replaced(conn, serve, producer):
    """As a restart does. A request may meet the end of its connection, and no more than one each."""
    served = serve(producer, arguments=["--connections", "3"])
    added = 0
    for _ in range(5):
        threads = [threading.Thread(target=served.post, args=("/v1/jobs/a",), kwargs={"role": producer}) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        conn.execute(LOSE_ALL)
        until(lambda: served.post("/v1/jobs/b", role=producer).status == 201, "it works again")
        added += 7
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone()[0] <= added
    assert {status for _, _, status in served.answers} <= {201, 503}


def test_a_wait_outlives_the_loss_of_connections(conn, serve, producer):
    served = serve(producer, arguments=["--max-wait", "1h"])
    job, answers = enqueue(conn), []
    thread = threading.Thread(target=lambda: answers.append(served.get(f"/v1/jobs/{job}?wait=3600", role=producer)))
    thread.start()
    await_asking(conn)
    for _ in range(3):
        until(lambda: conn.execute(LOSE_ALL).fetchone() != (0,), "it has connections again")
    cancel(conn, job)
    thread.join()
    assert answers[0].json["state"] == "cancelled"


def test_a_server_that_takes_no_writes_is_told_of(conn, serve, producer, db):
    job = enqueue(conn)
    served = serve(producer, database=f"dbname={db.name} options='-c default_transaction_read_only=on'")
    for answer in (served.post("/v1/jobs/a", role=producer), served.delete(f"/v1/jobs/{job}", role=producer)):
        assert (answer.status, answer.sqlstate) == (503, "25006")
        assert int(answer.headers["Retry-After"]) > 0
    assert served.get(f"/v1/jobs/{job}", role=producer).status == 200


def test_who_has_no_answer_is_told_when_to_come_back_only_where_that_is_harmless(conn, other, serve, producer, relay, db):
    """The job may be there."""
    served = serve(producer, database=f"host=127.0.0.1 port={relay.port} dbname={db.name}")
    for headers, retry_after in ((None, None), ({"Idempotency-Key": "1"}, "2")):
        answers = []
        with other.transaction():
            other.execute("LOCK TABLE turnstile.job IN ACCESS EXCLUSIVE MODE")
            ask = functools.partial(served.post, "/v1/jobs/a", role=producer, headers=headers)
            thread = threading.Thread(target=lambda ask=ask, answers=answers: answers.append(ask()))
            thread.start()
            until(lambda: conn.execute(HELD_UP).fetchone() != (0,), "it waits")
            relay.cut()
            thread.join()
        assert (answers[0].status, answers[0].headers["Retry-After"]) == (503, retry_after)
        relay.open()
        until(lambda: conn.execute(HELD_UP).fetchone() == (0,), "it waits no more")


def test_a_connection_for_which_too_many_wait_is_told_of(conn, other, serve, producer, make_role):
    """The pool is a bound: who finds no connection in time is told to come back. The program is ready all the while."""
    second = make_role()
    call(conn, "allow_producer", role=second)
    served = serve(producer, second, arguments=["--connections", "1"])
    with other.transaction():
        other.execute("LOCK TABLE turnstile.job IN ACCESS EXCLUSIVE MODE")
        held_up = threading.Thread(target=served.post, args=("/v1/jobs/a",), kwargs={"role": producer})
        held_up.start()
        until(lambda: conn.execute(HELD_UP).fetchone() != (0,), "it waits")
        refused = served.post("/v1/jobs/a", role=second)
        assert (refused.status, refused.sqlstate, refused.json["detail"]) == (503, None, "Too many requests wait for the server.")
        assert int(refused.headers["Retry-After"]) > 0
        assert served.get("/readyz").status == 200
    held_up.join()
    assert served.post("/v1/jobs/a", role=second).status == 201


def test_a_role_that_waits_for_a_lock_leaves_connections_to_others(conn, other, serve, producer, make_role):
    second = make_role()
    call(conn, "allow_producer", role=second)
    served = serve(producer, second, arguments=["--connections", "2"])
    with other.transaction():
        enqueue(other, unique_key="k")
        path, answers = "/v1/jobs/a?unique_key=k", []
        threads = [threading.Thread(target=lambda: answers.append(served.post(path, role=producer))) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: conn.execute(HELD_UP).fetchone() != (0,), "one waits")
        assert served.post("/v1/jobs/a", role=second).status == 201
        assert served.get("/readyz").status == 200
        # The others of its role have no turn in time, and it has no lock.
        for thread in threads:
            thread.join()
    assert {answer.status for answer in answers} == {503} and "55P03" in {answer.sqlstate for answer in answers}
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in answers)


def test_a_trigger_that_refuses_is_told(conn, serve, producer):
    conn.execute("""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON turnstile.job FOR EACH ROW WHEN (NEW.kind = 'bad') EXECUTE FUNCTION refuse();
    """)
    served = serve(producer)
    refused = served.post("/v1/jobs/bad", role=producer)
    assert (refused.status, refused.sqlstate) == (400, "P0001") and "not today" in refused.json["detail"]
    assert served.post("/v1/jobs/good", role=producer).status == 201


def test_a_server_that_is_set_up_wrongly_is_no_conflict(conn, serve, producer):
    """As during an upgrade: clients come back, and whoever runs the server learns of it."""
    served = serve(producer)
    version = conn.execute("SELECT turnstile.catalog_version()").fetchone()[0]
    conn.execute(SAY_VERSION.format("0.0.1"))
    refused = served.post("/v1/jobs/a", role=producer)
    assert (refused.status, refused.sqlstate) == (503, "55000") and int(refused.headers["Retry-After"]) > 0
    conn.execute(SAY_VERSION.format(version))
    until(lambda: "turnstile cannot be used" in served.stderr(), "it is in the log", served.stderr)
    assert served.post("/v1/jobs/a", role=producer).status == 201
