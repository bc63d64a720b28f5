"""turnstile.log_min_wait_time and log_min_run_time: what the server's log says of jobs that waited or ran for long."""

import re

import psycopg
import pytest

from faults.cluster import own_cluster
from support.calls import claim_next, complete, complete_and_claim_next, discard, enqueue, fail, release, snooze
from support.database import fresh_database

ENTRY = re.compile(r'LOG:  job (\d+) of queue "mail" (waited|ran) (\d+\.\d{3}) ms, attempt (\d+)\n.*DETAIL:  (.*)')


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("slow_jobs", log_error_verbosity="default") as made:
        yield made


@pytest.fixture(params=["direct path", "usual path"])
def conn(request, cluster):
    with fresh_database() as database:
        conn = database.connect()
        if request.param == "usual path":
            conn.execute("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$")
            conn.execute(
                "CREATE TRIGGER a_pass BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass()"
            )
        yield conn


def _entries(cluster, job_id: int) -> list[tuple]:
    found = [entry.groups() for entry in ENTRY.finditer(cluster.log) if int(entry[1]) == job_id]
    return [(what, int(attempt), detail) for _, what, _, attempt, detail in found]


def _job(conn, **arguments) -> int:
    # The cluster's log is that of all tests.
    conn.execute("SELECT setval('turnstile.job_id_seq', %s)", [_job.last])
    _job.last += 1000
    return enqueue(conn, queue="mail", kind="send", **arguments)


_job.last = 1000


def test_off_by_default(cluster, conn):
    job = _job(conn)
    complete(conn, claim_next(conn, "mail"))
    assert _entries(cluster, job) == []


@pytest.mark.parametrize("what, attempts", [("wait", ["waited"]), ("run", ["ran"])])
def test_each_has_a_setting_of_its_own(cluster, conn, what, attempts):
    conn.execute(f"SET turnstile.log_min_{what}_time = 0")
    job = _job(conn, tenant="acme")
    complete(conn, claim_next(conn, "mail", worker="w1"))
    detail = 'kind "send", tenant "acme", worker "w1"'
    assert _entries(cluster, job) == [(attempts[0], 1, detail)]


def test_what_is_shorter_is_not_logged(cluster, conn):
    conn.execute("SET turnstile.log_min_wait_time = '1h'")
    conn.execute("SET turnstile.log_min_run_time = '1h'")
    short, late = _job(conn), _job(conn, run_at="2020-01-01")
    for _ in range(2):
        complete(conn, claim_next(conn, "mail"))
    assert _entries(cluster, short) == []
    assert _entries(cluster, late) == [("waited", 1, 'kind "send"')]


def test_a_job_without_a_time_has_not_waited(cluster, conn):
    conn.execute("SET turnstile.log_min_wait_time = 0")
    job = _job(conn, run_at="-infinity")
    claim_next(conn, "mail")
    assert _entries(cluster, job) == []


ENDS = {
    "complete": complete,
    "complete_and_claim_next": complete_and_claim_next,
    "fail": fail,
    "fail for good": discard,
    "release": release,
    "snooze": lambda conn, run: snooze(conn, run, "1 hour"),
    "UPDATE": lambda conn, run: conn.execute("UPDATE turnstile.job SET state = 'available' WHERE id = %s", [run.id]),
    "DELETE": lambda conn, run: conn.execute("DELETE FROM turnstile.job WHERE id = %s", [run.id]),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_of_a_run_is_logged_once(cluster, conn, end):
    conn.execute("SET turnstile.log_min_run_time = 0")
    job = _job(conn)
    ENDS[end](conn, claim_next(conn, "mail"))
    assert _entries(cluster, job) == [("ran", 1, 'kind "send"')]


def test_the_client_is_told_nothing(cluster, conn):
    notices = []
    conn.add_notice_handler(notices.append)
    conn.execute("SET client_min_messages = 'debug1'")
    conn.execute("SET turnstile.log_min_run_time = 0")
    job = _job(conn)
    complete(conn, claim_next(conn, "mail"))
    assert [notice for notice in notices if "ran" in (notice.message_primary or "")] == []
    assert len(_entries(cluster, job)) == 1


def test_only_a_superuser_sets_them(cluster, conn):
    conn.execute("CREATE ROLE somebody")
    conn.execute("SET ROLE somebody")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute("SET turnstile.log_min_run_time = 0")
    conn.execute("RESET ROLE")
    conn.execute("DROP ROLE somebody")
