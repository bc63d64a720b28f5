"""The application `operations`, as an operator uses it."""

import subprocess

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from support.apps import APPS, BIN, psql, url_of
from support.calls import call, claim, enqueue, fail
from support.database import server
from support.examples import environment

FOLDER = APPS / "operations"
ROLES = ["shop_web", "shop_mailer", "shop_support", "shop_operator", "shop_monitor"]


@pytest.fixture
def roles(db):
    psql(db, FOLDER / "roles.sql")
    yield ROLES
    with db.connect() as owner:
        for role in ROLES:
            owner.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(role)))


@pytest.fixture
def as_role(db, roles):
    """Connections of roles."""
    with_roles = []

    def connect(role: str) -> psycopg.Connection:
        with_roles.append(psycopg.connect(url_of(db, role), autocommit=True))
        return with_roles[-1]

    yield connect
    for connection in with_roles:
        connection.close()


@pytest.fixture
def tool(db, roles):
    """Runs one of the tools; its status and what it prints."""

    def run(file: str, *words, role: str = "shop_operator") -> tuple[int, str]:
        command = [BIN / "python", file, *words]
        done = subprocess.run(command, cwd=FOLDER, env=environment(url_of(db, role)), capture_output=True, text=True)
        return done.returncode, (done.stdout + done.stderr).strip()

    return run


def discarded(conn, error: str, **job) -> int:
    """A dead job."""
    enqueue(conn, **job)
    [run] = claim(conn, ["*"])
    fail(conn, run, error=error, discard=True)
    return run.id


def test_each_role_may_do_its_own(as_role):
    web, mailer, support = as_role("shop_web"), as_role("shop_mailer"), as_role("shop_support")
    job = enqueue(web, queue="mail", tenant="acme")
    other = enqueue(web, queue="mail", tenant="globex")
    assert call(support, "cancel", job_id=job)[0][0] == "cancelled"
    with pytest.raises(InsufficientPrivilege):
        call(support, "cancel", job_id=other)
    with pytest.raises(InsufficientPrivilege):
        claim(web, ["mail"])
    with pytest.raises(InsufficientPrivilege):
        claim(mailer, ["default"])
    assert [run.id for run in claim(mailer, ["mail"])] == [other]
    assert as_role("shop_monitor").execute("SELECT running FROM turnstile.queues WHERE name = 'mail'").fetchone() == (1,)


def test_what_is_not_in_the_file_any_more_is_taken_back(conn, db, as_role):
    call(conn, "allow_worker", role="shop_web", queues=["mail"])
    web = as_role("shop_web")
    claim(web, ["mail"])
    psql(db, FOLDER / "roles.sql")
    with pytest.raises(InsufficientPrivilege):
        claim(web, ["mail"])
    enqueue(web, queue="mail")


def test_limits_are_applied_again_and_again(conn, db):
    for _ in range(2):
        psql(db, FOLDER / "limits.sql")
        for number in range(30):
            enqueue(conn, queue="mail", tenant="acme" if number % 2 else "globex")
    assert conn.execute("SELECT max_running, rate, policy FROM turnstile.queues WHERE name = 'mail'").fetchone() == (10, 100, "fair")
    # However many tokens there are by now.
    call(conn, "set_queue", name="mail", clear=["rate"])
    started = [run.tenant for run in claim(conn, ["mail"], 60)]
    assert (len(started), started.count("globex") <= 5) == (10, True)


def test_a_queue_is_paused_and_resumed(conn, tool):
    enqueue(conn, queue="mail")
    assert tool("ops.py", "pause", "mail") == (0, "done")
    assert claim(conn, ["mail"]) == []
    assert "queue mail is paused" in tool("alerts.py", role="shop_monitor")[1]
    assert tool("ops.py", "resume", "mail") == (0, "done")
    assert len(claim(conn, ["mail"])) == 1


def test_a_kind_is_moved_with_the_jobs_that_wait(conn, tool):
    for kind in "report.daily", "report.weekly", "receipt":
        enqueue(conn, kind=kind, queue="mail")
    assert tool("ops.py", "move", "report.*", "reports") == (0, "2 jobs")
    enqueue(conn, kind="report.daily", queue="mail")
    assert [run.kind for run in claim(conn, ["mail"], 10)] == ["receipt"]
    assert len(claim(conn, ["reports"], 10)) == 3


def test_dead_jobs_are_retried_by_their_error(conn, tool):
    away = [discarded(conn, "ConnectionRefusedError: mail") for _ in range(2)]
    discarded(conn, "no such user")
    discarded(conn, "ConnectionRefusedError: mail", kind="other")
    assert tool("ops.py", "retry", "work", "ConnectionRefused") == (0, "2 jobs")
    assert sorted(run.id for run in claim(conn, ["*"], 10)) == away
    assert tool("ops.py", "retry", "work") == (0, "1 jobs")


def test_alerts(conn, tool):
    assert tool("alerts.py", role="shop_monitor") == (0, "")
    enqueue(conn, queue="mail")
    assert tool("alerts.py", role="shop_monitor") == (1, "1 jobs of queue mail wait, there is room, and none has started for a minute")
    conn.execute("UPDATE turnstile.job SET run_at = now() - interval '1 hour'")
    call(conn, "rebuild")
    status, text = tool("alerts.py", role="shop_monitor")
    assert status == 1 and "the first job of queue mail has waited for 36" in text


def test_the_status(conn, db, roles):
    discarded(conn, "no such user\nat line 7", kind="receipt")
    enqueue(conn, queue="mail")
    text = psql(db, FOLDER / "status.sql")
    assert "receipt|no such user|1|" in text and "mail|behind|queue|1" in text and "default|behind" not in text, text


def test_a_stranger_gets_the_usage(tool):
    status, text = tool("ops.py")
    assert status == 1 and "usage: ops.py" in text


@pytest.fixture(autouse=True, scope="module")
def no_roles_left():
    yield
    with server() as admin:
        assert admin.execute("SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", [ROLES]).fetchall() == []
