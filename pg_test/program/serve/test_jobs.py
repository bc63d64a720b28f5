"""Jobs by HTTP: what is added, shown and cancelled, and how it is told."""

import json
import threading

import pytest

from support.calls import call, claim_next, complete, enqueue, fail
from support.ended import counts

ARGUMENTS = (
    "queue=mail&tenant=acme&account=a1&session=s&concurrency_key=k&priority=-3&run_at=2100-01-01T00:00:00%2B01:00&max_attempts=7"
    "&unique_key=u&unique_mode=until_expired&unique_for=2%20hours&metadata=%7B%22a%22:%201.10%7D"
)
COLUMNS = """
queue, tenant, account, session, concurrency_key, priority, run_at = '2100-01-01 00:00+01', max_attempts, unique_key, unique_mode,
unique_until - created_at BETWEEN '119 min' AND '121 min', metadata::text, payload::text
"""


def test_a_job_is_a_post(conn, serve, producer):
    answer = serve(producer).post("/v1/jobs/welcome%20back", b' {"n": 1.10, "big": 12345678901234567890}', role=producer)
    assert (answer.status, answer.json["created"]) == (201, True)
    job = answer.json["id"]
    assert answer.headers["Location"] == f"/v1/jobs/{job}"
    row = conn.execute("SELECT id, kind, queue, payload::text FROM turnstile.job").fetchone()
    assert row == (job, "welcome back", "default", '{"n": 1.10, "big": 12345678901234567890}')


def test_all_arguments_of_enqueue_are_parameters(conn, serve, producer):
    assert serve(producer).post(f"/v1/jobs/mail?{ARGUMENTS}", [1], role=producer).status == 201
    row = conn.execute(f"SELECT {COLUMNS} FROM turnstile.job").fetchone()
    assert row == ("mail", "acme", "a1", "s", "k", -3, True, 7, "u", "until_expired", True, '{"a": 1.10}', "[1]")


def test_jobs_after_others_and_below_them(conn, serve, producer):
    served = serve(producer)
    first, parent = enqueue(conn), enqueue(conn)
    claim_next(conn), claim_next(conn)
    path = f"/v1/jobs/late?after={first},{parent}&after_any_end=true&after_hold=true&unique_by=kind,payload"
    late = served.post(path, role=producer)
    assert late.status == 201
    child = served.post(f"/v1/jobs/child?parent={parent}", role=producer).json["id"]
    rows = dict(conn.execute("SELECT id, state FROM turnstile.job").fetchall())
    assert (rows[late.json["id"]], rows[child]) == ("blocked", "available")
    again = served.post(path, role=producer)
    assert (again.status, again.json) == (200, {"id": late.json["id"], "created": False})


def test_the_states_in_which_a_key_is_held_are_a_parameter(conn, serve, producer):
    served, path = serve(producer), "/v1/jobs/invoice?unique_key=u&unique_states=available,%20completed&unique_for=1%20day"
    first = served.post(path, role=producer)
    assert conn.execute("SELECT states::text[] FROM turnstile.unique_key").fetchone() == (["available", "completed"],)
    assert served.post(path, role=producer).json == {"id": first.json["id"], "created": False}
    call(conn, "discard", job_id=first.json["id"])
    assert served.post(path, role=producer).json["created"]


@pytest.mark.parametrize("body, content", [(None, None), (b"", None), (b" \n", "application/json")])
def test_without_a_body_the_payload_is_empty(conn, serve, producer, body, content):
    assert serve(producer).post("/v1/jobs/ping", body, role=producer, headers={"Content-Type": content}).status == 201
    assert conn.execute("SELECT payload FROM turnstile.job").fetchone() == ({},)


def test_many_jobs_come_back_in_their_order(conn, serve, producer):
    served = serve(producer)
    array = [{"kind": "a", "payload": {"n": n}, "unique_key": f"u{n % 2}"} for n in range(4)]
    answer = served.post("/v1/jobs", array, role=producer)
    assert answer.status == 201
    assert [each["created"] for each in answer.json["jobs"]] == [True, True, False, False]
    ids = [each["id"] for each in answer.json["jobs"]]
    assert ids[:2] == ids[2:] and counts(conn) == {"available": 2}
    again = served.post("/v1/jobs", array, role=producer)
    assert (again.status, [each["id"] for each in again.json["jobs"]]) == (200, ids)
    assert served.post("/v1/jobs", [], role=producer).json == {"jobs": []}
    refused = served.post("/v1/jobs", [{"kind": "a"}, {"kind": ""}], role=producer)
    assert (refused.status, refused.sqlstate, counts(conn)) == (400, "22023", {"available": 2})
    assert "2" in refused.json["detail"]


def test_a_key_of_idempotency_makes_one_job(conn, serve, producer):
    served = serve(producer)
    given = {"role": producer, "headers": {"Idempotency-Key": '"a key"'}}
    first = served.post("/v1/jobs/pay", {"n": 1}, **given)
    again = served.post("/v1/jobs/pay", {"n": 1}, **given)
    assert (first.status, again.status, again.json) == (201, 200, {"id": first.json["id"], "created": False})
    row = conn.execute("SELECT unique_key, unique_mode FROM turnstile.job").fetchone()
    assert row == (f"idempotency-key:{len(producer)}:{producer}:a key", "until_expired")
    # It is remembered when the job has ended.
    complete(conn, claim_next(conn))
    assert served.post("/v1/jobs/pay", **given).json["id"] == first.json["id"]
    for query in ("unique_key=a", "unique_by=kind", "unique_mode=replace", "unique_states=available", "unique_for=1h"):
        assert served.post(f"/v1/jobs/pay?{query}", **given).status == 400
    # One of an array would have to say which job it is for.
    assert served.post("/v1/jobs", [{"kind": "pay"}], **given).status == 400


def test_keys_of_idempotency_at_the_same_time(conn, serve, producer):
    served, answers = serve(producer), []

    def post():
        answers.append(served.post("/v1/jobs/pay", {"n": 1}, role=producer, headers={"Idempotency-Key": "k"}))

    threads = [threading.Thread(target=post) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    assert len({answer.json["id"] for answer in answers}) == 1 and counts(conn) == {"available": 1}


def test_a_full_backlog_is_told_with_when_to_come_back(conn, serve, producer):
    served = serve(producer)
    call(conn, "set_queue", name="small", max_waiting=1)
    assert served.post("/v1/jobs/a?queue=small", role=producer).status == 201
    for path, body in (("/v1/jobs/a?queue=small", None), ("/v1/jobs", [{"kind": "a", "queue": "small"}])):
        refused = served.post(path, body, role=producer)
        assert (refused.status, refused.sqlstate) == (429, "53400")
        assert int(refused.headers["Retry-After"]) > 0


def test_a_job_is_shown(conn, serve, producer):
    served = serve(producer)
    job = enqueue(conn, kind="sum", payload={"n": 1}, metadata={"m": 2}, tenant="acme", max_attempts=3)
    fail(conn, claim_next(conn), error="too early", retry_in="0")
    shown = served.get(f"/v1/jobs/{job}", role=producer).json
    assert (shown["kind"], shown["payload"], shown["metadata"], shown["tenant"]) == ("sum", {"n": 1}, {"m": 2}, "acme")
    assert (shown["attempt"], shown["errors"][0]["error"], shown["finished_at"], shown["result"]) == (1, "too early", None, None)
    complete(conn, claim_next(conn), result={"sum": 3})
    shown = served.get(f"/v1/jobs/{job}", role=producer).json
    assert (shown["state"], shown["result"]) == ("completed", {"sum": 3})
    assert shown["created_at"] < shown["finished_at"] and shown["finished_at"].endswith("+00:00")
    # One that is brought back is live again.
    call(conn, "retry", job_id=job)
    shown = served.get(f"/v1/jobs/{job}", role=producer).json
    assert (shown["state"], shown["finished_at"]) == ("available", None)
    assert served.get("/v1/jobs/999999", role=producer).status == 404


def test_a_job_is_cancelled(conn, serve, producer):
    served = serve(producer)
    running, waiting, done = enqueue(conn), enqueue(conn), enqueue(conn, queue="done")
    claim_next(conn)
    complete(conn, claim_next(conn, "done"))
    for job, state in ((running, "running"), (waiting, "cancelled"), (waiting, "cancelled")):
        answer = served.delete(f"/v1/jobs/{job}", role=producer)
        assert (answer.status, answer.json) == (200, {"id": job, "state": state})
    refused = served.delete(f"/v1/jobs/{done}", role=producer)
    assert (refused.status, refused.sqlstate) == (409, "55000")
    missing = served.delete("/v1/jobs/999999", role=producer)
    assert (missing.status, missing.sqlstate) == (404, "P0002")


def test_problems_are_those_of_the_standard(serve, producer):
    refused = serve(producer).post("/v1/jobs/a?priority=1&unique_mode=never&unique_key=a", role=producer)
    assert (refused.status, refused.headers["Content-Type"]) == (400, "application/problem+json")
    problem = refused.json
    assert (problem["status"], problem["title"], problem["sqlstate"]) == (400, "Bad Request", "22023")
    assert "unique_mode" in problem["detail"]
    assert json.loads(refused.text).keys() <= {"status", "title", "detail", "sqlstate", "hint"}
