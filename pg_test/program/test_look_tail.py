"""`turnstile tail`: each job that ended, once, whatever the order of commits and whatever becomes of the connection."""

import json
import subprocess

import pytest

from support import program
from support.calls import call, claim_next, enqueue
from support.program import Follower
from support.sleepers import until

FIELDS = [
    "id", "queue", "kind", "tenant", "state", "attempt", "worker", "created_at", "claimed_at", "finished_at", "run_seconds", "error",
    "retry_at", "cursor",
]  # fmt: skip


def _end(conn, **arguments) -> int:
    job_id = enqueue(conn, **arguments)
    run = claim_next(conn, arguments.get("queue", "default"))
    call(conn, "complete", job_id=run.id, attempt=run.attempt)
    return job_id


def _ids(output: str) -> list[int]:
    return [job["id"] for job in program.objects(output)]


def test_what_a_job_is_said_to_be(turnstile, conn):
    conn.execute("SELECT turnstile.set_queue('mail', retry_base => '0', max_attempts => 2)")
    failed = enqueue(conn, kind="welcome", queue="mail", tenant="acme")
    for attempt in (1, 2):
        assert claim_next(conn, "mail", worker="w 1").attempt == attempt
        call(conn, "fail", job_id=failed, attempt=attempt, error=f"try {attempt}:\n\x1b[31mno such address")
        conn.execute("SELECT turnstile.promote()")
    cancelled = enqueue(conn, queue="mail")
    call(conn, "cancel", job_id=cancelled)
    completed = _end(conn, kind="plain")
    first, second, third = program.objects(turnstile("tail", "--no-follow", "--json"))
    assert [list(job) for job in (first, second, third)] == [FIELDS] * 3
    named = {name: first[name] for name in ("id", "queue", "kind", "tenant", "state", "attempt", "worker", "error")}
    assert named == {
        "id": failed, "queue": "mail", "kind": "welcome", "tenant": "acme", "state": "discarded", "attempt": 2, "worker": "w 1",
        "error": "try 2:\n\x1b[31mno such address",
    }  # fmt: skip
    assert (second["id"], second["state"]) == (cancelled, "cancelled")
    assert [second[name] for name in ("tenant", "worker", "claimed_at", "run_seconds", "error")] == [None] * 5
    assert (third["id"], third["state"], third["tenant"], third["error"]) == (completed, "completed", None, None)
    assert third["run_seconds"] >= 0
    stored = "SELECT finished_at = %s::timestamptz FROM turnstile.job_history WHERE id = %s"
    assert conn.execute(stored, [first["finished_at"], failed]).fetchone() == (True,)

    lines = turnstile("tail", "--no-follow").splitlines()
    assert len(lines) == 3 and "\x1b" not in "".join(lines)
    assert lines[0].split("  ")[1:5] == ["discarded", str(failed), "mail", "welcome"]
    assert lines[0].endswith("  tenant acme  worker w 1  error try 2:  [31mno such address")
    assert lines[1].endswith(f"cancelled  {cancelled}  mail  work  attempt 0")


def test_it_begins_where_it_is_told(turnstile, conn):
    ids = [_end(conn) for _ in range(13)]
    assert _ids(turnstile("tail", "--no-follow", "--json")) == ids[-10:]
    assert _ids(turnstile("tail", "--no-follow", "--json", "-n", 2)) == ids[-2:]
    assert _ids(turnstile("tail", "--no-follow", "--json", "--lines", "0")) == []
    everything = turnstile("tail", "--no-follow", "--json", "--oldest")
    assert _ids(everything) == ids
    cursors = [job["cursor"] for job in program.objects(everything)]
    assert _ids(turnstile("tail", "--no-follow", "--json", "--after", cursors[4])) == ids[5:]
    assert turnstile("tail", "--no-follow", "--json", "--after", cursors[-1]) == ""


def test_an_empty_history_is_nothing(turnstile):
    assert turnstile("tail", "--no-follow") == ""


def test_filters_let_through_what_fits_all_of_them(turnstile, conn):
    first = _end(conn, queue="mail", tenant="acme", kind="a")
    second = _end(conn, queue="mail", tenant="b", kind="a")
    third = _end(conn, queue="sms", kind="b")
    call(conn, "cancel", job_id=(fourth := enqueue(conn, queue="sms")))

    def shown(*filters) -> list[int]:
        return _ids(turnstile("tail", "--no-follow", "--json", *filters))

    assert shown("--queue", "mail") == [first, second]
    assert shown("--queue", "mail", "--queue", "sms") == [first, second, third, fourth]
    assert shown("--queue", "mail", "--tenant", "acme") == [first]
    assert shown("--tenant", "") == []
    assert shown("--kind", "a", "--kind", "b") == [first, second, third]
    assert shown("--state", "cancelled") == [fourth]
    assert shown("--state", "completed", "--state", "cancelled", "--queue", "sms") == [third, fourth]
    assert shown("--worker", "nobody") == []
    assert shown("--kind", "a", "-n", "1") == [second]


def test_runs_that_will_be_repeated_are_shown_as_they_fail(db, conn):
    before, job, other = enqueue(conn), enqueue(conn, kind="send"), enqueue(conn, queue="mail")
    call(conn, "fail", job_id=before, attempt=claim_next(conn).attempt, error="too early to be seen")
    ended = _end(conn, queue="sms")
    with Follower("-d", db.name, "tail", "--json") as tail:
        assert tail.object()["id"] == ended
        for queue, error in [("default", "no route"), ("mail", "no address")]:
            run = claim_next(conn, queue, worker="me")
            call(conn, "fail", job_id=run.id, attempt=1, error=error, retry_in="1 hour")
        failed = tail.object()
        assert list(failed) == FIELDS
        named = {name: failed[name] for name in ("id", "queue", "kind", "state", "attempt", "worker", "error", "claimed_at")}
        assert named == {
            "id": job, "queue": "default", "kind": "send", "state": "retryable", "attempt": 1, "worker": "me", "error": "no route",
            "claimed_at": None,
        }  # fmt: skip
        assert tail.object()["id"] == other
        due = "SELECT run_at = %s::timestamptz FROM turnstile.job WHERE id = %s"
        assert conn.execute(due, [failed["retry_at"], job]).fetchone() == (True,)
        last = _end(conn, queue="sms")
        assert tail.object()["id"] == last


def test_a_failed_run_has_the_cursor_of_what_came_before(turnstile, conn):
    first = _end(conn)
    failed = enqueue(conn)
    call(conn, "fail", job_id=failed, attempt=claim_next(conn).attempt)
    second = _end(conn)
    lines = program.objects(turnstile("tail", "--no-follow", "--json", "--oldest"))
    assert [line["id"] for line in lines] == [first, failed, second]
    assert lines[1]["cursor"] == lines[0]["cursor"]
    assert _ids(turnstile("tail", "--no-follow", "--json", "--after", lines[1]["cursor"])) == [second]
    assert _ids(turnstile("tail", "--no-follow", "--json", "--oldest", "--state", "retryable")) == [failed]
    assert _ids(turnstile("tail", "--no-follow", "--json", "--oldest", "--state", "completed")) == [first, second]
    assert "  retryable  " in turnstile("tail", "--no-follow", "--oldest", "--state", "retryable")


def test_a_failed_run_of_a_job_that_was_deleted_is_shown_by_its_id(db, conn):
    ended = _end(conn)
    with Follower("-d", db.name, "tail", "--json", "--every", "2s") as tail:
        assert tail.object()["id"] == ended
        for _ in range(2):
            enqueue(conn)
            with conn.transaction():
                call(conn, "fail", job_id=(gone := claim_next(conn).id), attempt=1, retry_in="1 hour")
                conn.execute("DELETE FROM turnstile.job")
            shown = tail.object()
            assert (shown["id"], shown["queue"], shown["kind"], shown["error"]) == (gone, None, None, None)
        assert tail.complaints.empty()


def test_runs_that_the_server_knows_no_longer_are_owned_up_to(db, conn):
    ended = _end(conn)
    with Follower("-d", db.name, "tail", "--json", "--every", "5s") as tail:
        assert tail.object()["id"] == ended
        enqueue(conn)
        call(conn, "fail", job_id=(first := claim_next(conn).id), attempt=1, retry_in="1 hour")
        assert tail.object()["id"] == first
        call(conn, "enqueue_many", jobs=[{"kind": "work"}] * 600)
        for run in call(conn, "claim", queues=["default"], max_jobs=600):
            call(conn, "fail", job_id=run.id, attempt=run.attempt, retry_in="1 hour")
        assert tail.object()["id"] > first + 1
        assert "may have forgotten runs that failed" in tail.complaint()


def test_more_than_one_page(turnstile, conn):
    call(conn, "enqueue_many", jobs=[{"kind": "work"}] * 2500)
    while runs := call(conn, "claim", queues=["default"], max_jobs=1000):
        call(conn, "complete_many", job_ids=[run.id for run in runs], attempts=[run.attempt for run in runs])
    ids = _ids(turnstile("tail", "--no-follow", "--json", "--oldest"))
    ended = conn.execute("SELECT id FROM turnstile.job_history").fetchall()
    assert len(ids) == 2500 and sorted(ids) == sorted(row[0] for row in ended)


def test_a_late_commit_comes_late_and_once(db, conn):
    slow = db.connect(autocommit=False)
    before = _end(conn)
    with Follower("-d", db.name, "tail", "--json") as tail:
        assert tail.object()["id"] == before
        late = enqueue(conn)
        run = claim_next(conn)
        call(slow, "complete", job_id=run.id, attempt=run.attempt)
        early = [_end(conn) for _ in range(3)]
        assert [tail.object()["id"] for _ in early] == early
        slow.commit()
        assert tail.object()["id"] == late
        last = _end(conn)
        assert tail.object()["id"] == last


LOOKED = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'turnstile tail' AND datname = %s AND state = 'idle' AND query LIKE '%%recent%%'"


def test_after_an_empty_history_all_is_shown(db, conn):
    """Also more than the last ten, and whatever --lines says of what had ended before."""
    ids = [row.id for row in call(conn, "enqueue_many", jobs=[{"kind": "work"}] * 25)]
    runs = call(conn, "claim", queues=["default"], max_jobs=25)
    with Follower("-d", db.name, "tail", "--json", "-n", "0") as tail:
        until(lambda: conn.execute(LOOKED, [db.name]).fetchone(), "it has looked once")
        call(conn, "complete_many", job_ids=[run.id for run in runs], attempts=[run.attempt for run in runs])
        assert [tail.object()["id"] for _ in ids] == ids


@pytest.mark.long
def test_a_lost_session_costs_no_job(db, conn):
    first = _end(conn)
    with Follower("-d", db.name, "tail", "--json") as tail:
        assert tail.object()["id"] == first
        for _ in range(2):
            ended = conn.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'turnstile tail' AND datname = %s",
                [db.name],
            )
            assert ended.fetchone() == (1,)
            ids = [_end(conn) for _ in range(3)]
            # Which of the two depends on whether it was just asking.
            told = tail.complaint()
            assert "57P01" in told or "connection closed" in told
            assert [tail.object()["id"] for _ in ids] == ids
            while "connected again" not in tail.complaint():
                pass


def test_a_lost_server_costs_no_job(db, conn, relay):
    place = f"host=127.0.0.1 port={relay.port} dbname={db.name} user=postgres"
    first = _end(conn)
    with Follower("-d", place, "tail", "--json") as tail:
        assert tail.object()["id"] == first
        relay.cut()
        ids = [_end(conn) for _ in range(3)]
        while f"no connection to 127.0.0.1:{relay.port}" not in tail.complaint():
            pass
        relay.open()
        assert [tail.object()["id"] for _ in ids] == ids


def test_who_follows_needs_leave(attempt, conn, role):
    conn.execute(f"SELECT turnstile.allow_monitor('{role}')")
    assert attempt("tail", "--no-follow", **program.as_role(role)).returncode == program.REFUSED
    conn.execute(f"SELECT turnstile.allow_operator('{role}')")
    conn.execute("SELECT turnstile.set_queue('default', max_attempts => 1)")
    failed = enqueue(conn)
    call(conn, "fail", job_id=failed, attempt=claim_next(conn).attempt, error="secret")
    shown = attempt("tail", "--no-follow", "--json", **program.as_role(role))
    assert [(job["id"], job["error"]) for job in program.objects(shown.stdout)] == [(failed, None)]
    conn.execute(f"SELECT turnstile.allow_tenant('{role}', '{{*}}')")
    shown = attempt("tail", "--no-follow", "--json", **program.as_role(role))
    assert [job["error"] for job in program.objects(shown.stdout)] == ["secret"]


@pytest.mark.parametrize("cursor", ["", "nonsense", "oldest?"])
def test_a_cursor_that_is_none_is_refused(attempt, cursor):
    done = attempt("tail", "--after", cursor)
    assert done.returncode == program.USAGE
    assert "--after" in done.stderr and "since" not in done.stderr


def test_who_reads_no_further_ends_it_without_a_word(db, conn):
    for _ in range(3):
        _end(conn)
    command = f"{program.PROGRAM} -d {db.name} tail --json | head -n 1"
    with subprocess.Popen(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as shell:
        assert json.loads(shell.stdout.readline())["state"] == "completed"
        # What it writes next finds nobody.
        while shell.poll() is None:
            _end(conn)
        assert (shell.returncode, shell.stderr.read()) == (0, "")


def test_who_reads_no_more_ends_it_without_another_job(db, conn):
    """As `tail | head -1` does, where nothing ends any more."""
    _end(conn)
    command = [program.PROGRAM, "-d", db.name, "tail"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        try:
            assert b"completed" in reader.stdout.readline()
            reader.stdout.close()
            assert (reader.wait(program.GIVE_UP), reader.stderr.read()) == (0, b"")
        finally:
            reader.kill()
