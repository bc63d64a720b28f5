"""GET with ?wait: answered when the job ends, or after a while, at the cost of no connection."""

import contextlib
import signal
import socket
import threading

import pytest

from support.calls import call, cancel, claim_next, complete, enqueue
from support.serve import LATEST, OF_THE_PROGRAM, await_asking, token_of
from support.sleepers import PATIENCE, until


class Wait(threading.Thread):
    def __init__(self, served, role: str, job: int, seconds: float = PATIENCE):
        super().__init__(daemon=True)
        self.served, self.role, self.job, self.seconds = served, role, job, seconds
        self.answer = None
        self.start()

    def run(self):
        self.answer = self.served.get(f"/v1/jobs/{self.job}?wait={self.seconds}", role=self.role)

    def answered(self):
        self.join(PATIENCE)
        assert self.answer is not None
        return self.answer


def is_asking(conn) -> bool:
    return bool(conn.execute(LATEST).fetchone()[1])


def test_it_ends_early_when_the_job_does(conn, serve, producer):
    served = serve(producer, arguments=["--max-wait", "1h"])
    done, cancelled, other = enqueue(conn), enqueue(conn), enqueue(conn)
    waits = [Wait(served, producer, done, 3600), Wait(served, producer, done, 3600), Wait(served, producer, cancelled, 3600)]
    rest = Wait(served, producer, other, 3600)
    await_asking(conn)
    complete(conn, claim_next(conn), result=7)
    cancel(conn, cancelled)
    assert [wait.answered().json["state"] for wait in waits] == ["completed", "completed", "cancelled"]
    assert waits[0].answer.json["result"] == 7
    assert rest.answer is None
    cancel(conn, other)
    assert rest.answered().json["state"] == "cancelled"


def test_it_ends_when_the_time_is_over(conn, serve, producer):
    served = serve(producer, arguments=["--max-wait", "200ms"])
    job = enqueue(conn)
    for wait in (0, 0.01, 0.1, 3600):
        assert served.get(f"/v1/jobs/{job}?wait={wait}", role=producer).json["state"] == "available"


def test_what_has_ended_is_not_waited_for(conn, serve, producer):
    served = serve(producer, arguments=["--max-wait", "1h"])
    job = enqueue(conn)
    complete(conn, claim_next(conn))
    assert served.get(f"/v1/jobs/{job}?wait=3600", role=producer).json["state"] == "completed"
    assert served.get("/v1/jobs/999999?wait=3600", role=producer).status == 404


def test_many_wait_on_one_connection(conn, serve, producer, make_role):
    tenant = make_role()
    call(conn, "allow_tenant", role=tenant, tenants=["acme"])
    served = serve(producer, tenant, arguments=["--connections", "1", "--max-wait", "1h"])
    jobs = [enqueue(conn, tenant="acme") for _ in range(50)]
    waits = [Wait(served, role, job, 3600) for job in jobs for role in (producer, tenant)]
    while run := claim_next(conn):
        complete(conn, run)
    assert {wait.answered().json["state"] for wait in waits} == {"completed"}
    assert conn.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {OF_THE_PROGRAM}").fetchone() == (1,)


def test_too_many_are_told_to_come_back(conn, serve, producer):
    served = serve(producer, arguments=["--max-waiters", "1", "--max-wait", "1h"])
    job = enqueue(conn)
    first = Wait(served, producer, job, 3600)
    await_asking(conn)
    refused = served.get(f"/v1/jobs/{job}?wait=1", role=producer)
    assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0
    assert served.get(f"/v1/jobs/{job}", role=producer).status == 200
    cancel(conn, job)
    first.answered()


def test_who_hangs_up_waits_no_more(conn, serve, producer):
    served = serve(producer, arguments=["--max-waiters", "1", "--max-wait", "1h"])
    job = enqueue(conn)
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.sendall(f"GET /v1/jobs/{job}?wait=3600 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of(producer)}\r\n\r\n".encode())
        await_asking(conn)
        assert served.get(f"/v1/jobs/{job}?wait=0.01", role=producer).status == 503
    until(lambda: served.get(f"/v1/jobs/{job}?wait=0.01", role=producer).status == 200, "its place is free")
    # Nobody waits, so nothing is asked.
    until(lambda: not is_asking(conn), "it asks no more")


def test_a_job_that_one_may_no_longer_see_is_not_waited_for(conn, serve, make_role):
    role = make_role()
    call(conn, "allow_tenant", role=role, tenants=["acme"])
    served = serve(role, arguments=["--max-wait", "1h"])
    wait = Wait(served, role, enqueue(conn, tenant="acme"), 3600)
    await_asking(conn)
    conn.execute("DELETE FROM turnstile.permission")
    assert wait.answered().status == 404


def test_who_loses_its_rights_waits_no_more(conn, serve, make_role):
    role = make_role()
    call(conn, "allow_tenant", role=role, tenants=["acme"])
    served = serve(role, arguments=["--max-wait", "1h"])
    wait = Wait(served, role, enqueue(conn, tenant="acme"), 3600)
    await_asking(conn)
    call(conn, "disallow", role=role)
    assert wait.answered().status == 403


def test_the_end_of_the_program_ends_waits(conn, serve, producer):
    served = serve(producer, arguments=["--max-wait", "1h", "--grace", "1h"])
    job = enqueue(conn)
    wait = Wait(served, producer, job, 3600)
    await_asking(conn)
    served.terminate()
    assert wait.answered().json["state"] == "available"
    assert served.ended()[0] == 0


def test_requests_under_way_end_and_others_are_not_taken(conn, other, serve, producer):
    served = serve(producer, arguments=["--grace", "1h"])
    answers = []
    with other.transaction():
        other.execute("LOCK TABLE turnstile.job IN ACCESS EXCLUSIVE MODE")
        thread = threading.Thread(target=lambda: answers.append(served.post("/v1/jobs/a", role=producer)))
        thread.start()
        held_up = f"SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND {OF_THE_PROGRAM}"
        until(lambda: conn.execute(held_up).fetchone(), "it waits for the lock")
        served.terminate()
        until(lambda: not takes_connections(served.port), "it takes no connection")
        assert served.process.poll() is None
    thread.join()
    assert answers[0].status == 201
    assert served.ended()[0] == 0


def test_grace_has_an_end(conn, other, serve, producer):
    served = serve(producer, arguments=["--grace", "100ms"])
    with other.transaction():
        other.execute("LOCK TABLE turnstile.job IN ACCESS EXCLUSIVE MODE")
        with socket.create_connection(("127.0.0.1", served.port)) as client:
            client.sendall(f"POST /v1/jobs/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of(producer)}\r\n\r\n".encode())
            held_up = f"SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND {OF_THE_PROGRAM}"
            until(lambda: conn.execute(held_up).fetchone(), "it waits for the lock")
            served.terminate()
            assert served.ended()[0] == 0


def test_a_hang_up_ends_it_softly(serve, hang_ups):
    hang_ups(signal.SIG_DFL)
    served = serve()
    served.signal(signal.SIGHUP)
    status, said = served.ended()
    assert (status, "takes no further connection" in said) == (0, True)


def test_a_second_signal_ends_it_at_once(serve):
    served = serve(arguments=["--grace", "1h"])
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.sendall(b"GET /hea")
        # It is taken before another that is answered.
        assert served.get("/healthz").status == 200
        served.terminate()
        until(lambda: not takes_connections(served.port), "it takes no connection")
        served.terminate()
        assert served.ended()[0] == 0
    assert "ends at once" in served.stderr()


def takes_connections(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@pytest.mark.long
def test_slow_clients_are_sent_away(serve, producer):
    """A head, a body and an answer that nobody takes each have half a minute."""
    served = serve(producer, arguments=["--max-clients", "2"])
    head = f"POST /v1/jobs/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of(producer)}\r\nContent-Type: application/json\r\n"
    slow = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(2)]
    slow[0].sendall(head.encode())
    slow[1].sendall(head.encode() + b"Content-Length: 100\r\n\r\n{")
    # The third is answered once one of them has gone.
    assert served.get("/healthz").status == 200
    slow[1].settimeout(PATIENCE)
    assert slow[1].recv(1000).startswith(b"HTTP/1.1 408")
    for each in slow:
        each.close()
