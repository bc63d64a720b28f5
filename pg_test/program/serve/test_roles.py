"""Tokens and the rights of their roles: who shows one has those of its role, and nobody has those of another."""

import contextlib
import os
import socket
import threading
import time

import pytest
from psycopg import sql

from support.calls import call, enqueue
from support.ended import counts
from support.pgbouncer import pgbouncer
from support.program import USAGE, attempt
from support.serve import OF_THE_PROGRAM, ask, hashed, token_of
from support.sleepers import until

HELD_UP = f"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND {OF_THE_PROGRAM}"


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer ", "Basic dG9rZW4=", "token-of-postgres", "Bearer t\xe4st"])
def test_without_a_token_nothing_is_told(conn, serve, producer, header):
    served = serve(producer)
    job = enqueue(conn)
    for method, path in (("POST", "/v1/jobs/a"), ("POST", "/v1/jobs"), ("GET", f"/v1/jobs/{job}"), ("DELETE", f"/v1/jobs/{job}"), ("DELETE", "/v1/jobs/x")):
        refused = served.ask(method, path, headers={"Authorization": header})
        assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert counts(conn) == {"available": 1}


def test_a_producer_of_one_queue_adds_there(conn, serve, make_role):
    role = make_role()
    call(conn, "allow_producer", role=role, queues=["mail"])
    served = serve(role)
    assert served.post("/v1/jobs/a?queue=mail", role=role).status == 201
    for path, body in (("/v1/jobs/a?queue=other", None), ("/v1/jobs", [{"kind": "a", "queue": "mail"}, {"kind": "a"}])):
        refused = served.post(path, body, role=role)
        assert (refused.status, refused.sqlstate) == (403, "42501")
    # It may not look at jobs, nor cancel them.
    assert served.get("/v1/jobs/1", role=role).status == 403
    assert served.delete("/v1/jobs/1", role=role).status == 403
    assert counts(conn) == {"available": 1}


def test_a_tenant_sees_its_jobs_alone(conn, serve, make_role):
    one, other = make_role(), make_role()
    call(conn, "allow_tenant", role=one, tenants=["one"])
    call(conn, "allow_tenant", role=other, tenants=["other"])
    served = serve(one, other)
    mine, theirs, none = enqueue(conn, tenant="one"), enqueue(conn, tenant="other"), enqueue(conn)
    assert served.get(f"/v1/jobs/{mine}", role=one).json["tenant"] == "one"
    for job in (theirs, none):
        assert served.get(f"/v1/jobs/{job}?wait=30", role=one).status == 404
        assert served.delete(f"/v1/jobs/{job}", role=one).status == 403
    assert served.delete(f"/v1/jobs/{theirs}", role=other).status == 200
    assert served.post("/v1/jobs/a", role=one).status == 403


def test_two_roles_on_one_connection_keep_their_rights(conn, serve, make_role):
    """Each may do what the other may not."""
    mail, calls = make_role(), make_role()
    call(conn, "allow_producer", role=mail, queues=["mail"])
    call(conn, "allow_producer", role=calls, queues=["calls"])
    served = serve(mail, calls, arguments=["--connections", "1"])
    for number in range(200):
        own, others = (mail, calls) if number % 2 else (calls, mail)
        queue = "mail" if own == mail else "calls"
        assert served.post(f"/v1/jobs/a?queue={queue}", role=own).status == 201
        assert served.post(f"/v1/jobs/a?queue={queue}", role=others).status == 403
    assert counts(conn) == {"available": 200}
    assert conn.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {OF_THE_PROGRAM}").fetchone() == (1,)


def test_who_hangs_up_leaves_no_role_behind(conn, other, serve, make_role, producer):
    """While its statement waits for a lock: the connection is given up, and the next request has its own rights."""
    limited = make_role()
    call(conn, "allow_producer", role=limited, queues=["mail"])
    served = serve(producer, limited, arguments=["--connections", "1"])
    for _ in range(5):
        with other.transaction():
            other.execute("LOCK TABLE turnstile.job IN ACCESS EXCLUSIVE MODE")
            with socket.create_connection(("127.0.0.1", served.port)) as client:
                client.sendall(f"POST /v1/jobs/a?queue=other HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of(producer)}\r\n\r\n".encode())
                until(lambda: conn.execute(HELD_UP).fetchone() == (1,), "it waits for the lock")
            # The statement is cancelled, and its connection is gone.
            until(lambda: not conn.execute(f"SELECT 1 FROM pg_stat_activity WHERE {OF_THE_PROGRAM}").fetchone(), "no connection")
        assert served.post("/v1/jobs/a?queue=other", role=limited).status == 403
        assert served.post("/v1/jobs/a?queue=mail", role=limited).status == 201
    assert counts(conn) == {"available": 5}


def test_who_hangs_up_at_any_time_leaves_no_role_behind(conn, serve, make_role, producer):
    limited = make_role()
    call(conn, "allow_producer", role=limited, queues=["mail"])
    served = serve(producer, limited, arguments=["--connections", "2"])
    request = f"POST /v1/jobs/a?queue=other HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of(producer)}\r\n\r\n".encode()
    stop = threading.Event()

    def hang_up():
        delay = 0.0
        while not stop.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", served.port)) as client:
                client.sendall(request)
                time.sleep(delay)
            delay = (delay + 0.0001) % 0.005

    threads = [threading.Thread(target=hang_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        answers = [served.post("/v1/jobs/a?queue=other", role=limited).status for _ in range(200)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert set(answers) == {403}


def test_a_role_that_cannot_be_had_is_refused(db, conn, serve, make_role, producer):
    """The program must be a member of it; and a role may be dropped while its token is there."""
    login = make_role("LOGIN NOINHERIT")
    conn.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(producer), sql.Identifier(login)))
    stranger = make_role()
    call(conn, "allow_producer", role=stranger)
    served = serve(producer, stranger, "no_such_role", database=f"dbname={db.name} user={login}")
    assert served.post("/v1/jobs/a", role=producer).status == 201
    for role in (stranger, "no_such_role"):
        for answer in (served.post("/v1/jobs/a", role=role), served.get("/v1/jobs/1", role=role), served.get("/v1/jobs/1?wait=1", role=role)):
            assert answer.status == 403, answer
    assert served.post("/v1/jobs/a", role=producer).status == 201
    assert counts(conn) == {"available": 2}


def test_tokens_are_read_again_when_they_change(serve, producer, make_role):
    served = serve(producer)
    added = make_role()
    assert served.post("/v1/jobs/a", role=added).status == 401
    served.knows([added])
    until(lambda: served.post("/v1/jobs/a", role=producer).status == 401, "the old token is refused", served.stderr)
    assert served.post("/v1/jobs/a", role=added).status == 403
    # A file with a mistake changes nothing.
    served.tokens.write_text(f"{producer} {hashed(token_of(producer))}\nnonsense\n")
    until(lambda: served.post("/v1/jobs/a", role=added) and "line 2" in served.stderr(), "it says so", served.stderr)
    assert served.post("/v1/jobs/a", role=added).status == 403
    # So does one that others may read.
    served.tokens.write_text(f"{producer} {hashed(token_of(producer))}\n")
    served.tokens.chmod(0o644)
    until(lambda: served.post("/v1/jobs/a", role=added) and "others may read it" in served.stderr(), "it says so", served.stderr)
    served.tokens.unlink()
    until(lambda: served.post("/v1/jobs/a", role=added) and "cannot be read again" in served.stderr(), "it says so", served.stderr)
    served.knows([producer])
    until(lambda: served.post("/v1/jobs/a", role=producer).status == 201, "the token is taken again", served.stderr)


@pytest.mark.parametrize(
    "text, mode, said",
    [
        ("role sha256:00", 0o600, "line 1"),
        (f"none {hashed('x')}", 0o600, "no role"),
        (f"role {hashed('x')}", 0o644, "others may read it"),
        (f"role {hashed('x')}", 0o602, "others may write it"),
        (None, 0, "No such file"),
    ],
)
def test_a_file_of_tokens_with_a_mistake_is_a_usage_error(db, tmp_path, text, mode, said):
    file = tmp_path / "tokens"
    if text is not None:
        file.write_text(text)
        file.chmod(mode)
    done = attempt("-d", db.name, "serve", "--tokens", file, "--listen", "127.0.0.1:0")
    assert (done.returncode, said in done.stderr) == (USAGE, True), done


def test_a_pipe_of_tokens_is_not_waited_for(db, tmp_path, serve, producer):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    done = attempt("-d", db.name, "serve", "--tokens", pipe, "--listen", "127.0.0.1:0")
    assert (done.returncode, "it is not a file" in done.stderr) == (USAGE, True), done
    # Nor one that takes the place of the file.
    served = serve(producer)
    pipe.rename(served.tokens)
    until(lambda: served.post("/v1/jobs/a", role=producer).status == 201 and "it is not a file" in served.stderr(), "it says so", served.stderr)


def test_a_port_that_is_taken_is_told(db, tmp_path, serve):
    served = serve()
    done = attempt("-d", db.name, "serve", "--tokens", served.tokens, "--listen", f"127.0.0.1:{served.port}")
    assert done.returncode == 3 and "cannot be listened on" in done.stderr


def test_the_log_has_no_token(serve, producer):
    served = serve(producer)
    ask(served.port, "POST", "/v1/jobs/a", token="a wrong secret")
    served.post("/v1/jobs/a", role=producer)
    assert "secret" not in served.stderr() and token_of(producer) not in served.stderr()


def test_roles_are_kept_apart_through_a_pooler(db, conn, serve, make_role, producer):
    """Whichever connection of PgBouncer a transaction gets."""
    limited = make_role()
    call(conn, "allow_producer", role=limited, queues=["mail"])
    with pgbouncer(db.name) as pooler:
        served = serve(producer, limited, database=f"host=127.0.0.1 port={pooler.port} dbname={db.name}")
        for _ in range(30):
            assert served.post("/v1/jobs/a?queue=other", role=producer).status == 201
            assert served.post("/v1/jobs/a?queue=other", role=limited).status == 403
        job = served.post("/v1/jobs/a?queue=other", role=producer).json["id"]
        assert served.get(f"/v1/jobs/{job}?wait=0.3", role=producer).json["state"] == "available"
        served.terminate()
        assert served.ended()[0] == 0
    assert counts(conn) == {"available": 31}
