"""The application `reports`, as its users see it."""

import json

import pytest

from support.apps import APPS, id_in, psql
from support.calls import call
from support.sleepers import until

RUNNING = "SELECT tenant, count(*) FROM turnstile.job WHERE state = 'running' GROUP BY tenant"


@pytest.fixture
def pages(db, web):
    psql(db, APPS / "reports" / "setup.sql")
    return web("reports")


def asked(pages, tenant: str = "acme", year: int = 2025) -> str:
    """The page of a new report."""
    answer = pages.post(f"/{tenant}/reports/{year}")
    assert answer.status == 303
    return answer.location


def test_a_report_is_asked_for_and_its_result_awaited(conn, pages, work):
    page = asked(pages)
    assert "0 of 12 months" in pages.get(page).text
    worker = work("reports")
    result = json.loads(pages.get(f"{page}/result").text)
    total = conn.execute("SELECT sum(amount)::float FROM sale WHERE tenant = 'acme'").fetchone()[0]
    assert (len(result["months"]), result["total"]) == (12, pytest.approx(total))
    assert f"2025: {result['total']}" in pages.get(page).text
    worker.leaves()


def test_its_progress_is_seen_meanwhile_and_no_tenant_has_more_than_two_jobs(conn, db, pages, work):
    mine, theirs = asked(pages, "acme"), asked(pages, "globex")
    with db.connect(autocommit=False) as blocker:
        blocker.execute("LOCK TABLE sale")
        work("reports")
        until(lambda: dict(conn.execute(RUNNING).fetchall()) == {"acme": 2, "globex": 2}, "two jobs of each")
        assert "0 of 12 months" in pages.get(mine).text
        call(conn, "set_batch", id=id_in(mine), paused=True)
    until(lambda: "2 of 12 months" in pages.get(mine).text, "progress")
    assert pages.get(f"{theirs}/result").status == 200
    call(conn, "set_batch", id=id_in(mine), paused=False)
    assert pages.get(f"{mine}/result").status == 200


def test_another_worker_goes_on_where_one_was_killed(conn, db, pages, work):
    call(conn, "set_queue", name="reports", lease="2 seconds")
    page = asked(pages)
    with db.connect(autocommit=False) as blocker:
        blocker.execute("LOCK TABLE sale")
        killed = work("reports")
        until(lambda: dict(conn.execute(RUNNING).fetchall()) == {"acme": 2}, "two jobs")
        killed.kill()
    work("reports")
    assert len(json.loads(pages.get(f"{page}/result").text)["months"]) == 12
    assert conn.execute("SELECT count(*) FROM turnstile.jobs WHERE errors -> 0 ->> 'error' = 'lease expired'").fetchone() == (2,)


def test_a_second_press_of_the_button_is_the_same_report(conn, pages):
    assert asked(pages) == asked(pages)
    assert asked(pages) != asked(pages, year=2024)
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE kind = 'month'").fetchone() == (24,)


def test_a_report_fails_with_one_of_its_parts(conn, pages, work):
    call(conn, "set_queue", name="reports", max_attempts=1)
    page = asked(pages)
    conn.execute("ALTER TABLE sale RENAME TO gone")
    work("reports")
    answer = pages.get(f"{page}/result")
    assert (answer.status, answer.text.strip()) == (500, '{"error":"the report is discarded"}')
    assert "The report has failed." in pages.get(page).text


def test_tenants_do_not_see_each_other(pages):
    page = asked(pages, "acme")
    assert pages.get(page.replace("acme", "globex")).status == 404
    assert pages.get(page.replace("acme", "globex") + "/result").status == 404
