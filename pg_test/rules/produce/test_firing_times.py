"""When a recurring job fires: what fields mean, and what happens where a clock is set."""

import pytest

from support.calls import call
from support.errors import BAD_VALUE, NULL_VALUE, refused

# A Tuesday.
START = "2026-03-10 12:34:56Z"

FIELDS = {
    "* * * * *": "2026-03-10 12:35",
    "*/5 * * * *": "2026-03-10 12:35",
    "0 3 * * *": "2026-03-11 03:00",
    "30 8-18/2 * * mon-fri": "2026-03-10 14:30",
    "0 0 1 jan *": "2027-01-01 00:00",
    "0 0 * * 7": "2026-03-15 00:00",
    "0 0 * * sun": "2026-03-15 00:00",
    "0 0 13 * 5": "2026-03-13 00:00",
    # Day of month or day of week, as in cron.
    "0 0 11 * 5": "2026-03-11 00:00",
    "0 0 29 2 *": "2028-02-29 00:00",
    "0 12 L * *": "2026-03-31 12:00",
    "0 12 $ * *": "2026-03-31 12:00",
    "0 12 * * mon#1": "2026-04-06 12:00",
    "  15   4 * * *  ": "2026-03-11 04:15",
    "@hourly": "2026-03-10 13:00",
    "@daily": "2026-03-11 00:00",
    "@midnight": "2026-03-11 00:00",
    "@weekly": "2026-03-15 00:00",
    "@monthly": "2026-04-01 00:00",
    "@yearly": "2027-01-01 00:00",
    "@annually": "2027-01-01 00:00",
}


def _next(conn, cron: str, zone: str | None, after: str) -> str:
    found = call(conn, "next_firing", cron=cron, time_zone=zone, after=after)[0][0]
    return conn.execute("SELECT to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')", [found]).fetchone()[0]


def _some(conn, cron: str, zone: str, after: str, count: int) -> list[str]:
    firings = []
    for _ in range(count):
        firings.append(_next(conn, cron, zone, firings[-1] + "Z" if firings else after))
    return firings


@pytest.mark.parametrize("cron", FIELDS)
def test_fields_and_names(conn, cron):
    assert _next(conn, cron, None, START) == FIELDS[cron]


def test_the_next_is_after_the_time_to_the_second(conn):
    assert _next(conn, "35 12 * * *", None, "2026-03-10 12:34:59.999999Z") == "2026-03-10 12:35"
    assert _next(conn, "35 12 * * *", None, "2026-03-10 12:35:00Z") == "2026-03-11 12:35"
    assert _next(conn, "35 12 * * *", None, "2026-03-10 12:35:00.000001Z") == "2026-03-11 12:35"


def test_a_time_that_does_not_exist_fires_once_when_the_clock_is_set_forward(conn):
    """In Berlin, 2026-03-29 02:00 is 03:00: 01:00 in UTC."""
    assert _some(conn, "30 2 * * *", "Europe/Berlin", "2026-03-28 12:00Z", 2) == ["2026-03-29 01:00", "2026-03-30 00:30"]
    assert _some(conn, "*/15 2 * * *", "Europe/Berlin", "2026-03-29 00:59Z", 2) == ["2026-03-29 01:00", "2026-03-30 00:00"]
    assert _some(conn, "0 2,3 * * *", "Europe/Berlin", "2026-03-29 00:59Z", 2) == ["2026-03-29 01:00", "2026-03-30 00:00"]


def test_a_time_that_exists_twice_fires_the_first_time(conn):
    """In Berlin, 2026-10-25 03:00 is 02:00: 01:00 in UTC."""
    assert _some(conn, "30 2 * * *", "Europe/Berlin", "2026-10-24 12:00Z", 2) == ["2026-10-25 00:30", "2026-10-26 01:30"]
    assert _next(conn, "30 2 * * *", "Europe/Berlin", "2026-10-25 01:10Z") == "2026-10-26 01:30"
    assert _some(conn, "0 */2 * * *", "Europe/Berlin", "2026-10-24 23:00Z", 2) == ["2026-10-25 00:00", "2026-10-25 03:00"]


def test_each_hour_goes_on_whatever_is_done_to_the_clock(conn):
    assert _some(conn, "30 * * * *", "Europe/Berlin", "2026-03-28 23:50Z", 3) == [
        "2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30"]  # fmt: skip
    for hourly in ("@hourly", "0 * * * *", "0 */1 * * *"):
        assert _some(conn, hourly, "Europe/Berlin", "2026-10-24 23:30Z", 4) == [
            "2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00", "2026-10-25 03:00"]  # fmt: skip
    assert _next(conn, "0 * 1 1 *", "Europe/Berlin", "2026-03-29 00:30Z") == "2026-12-31 23:00"


def test_zones_that_change_by_half_an_hour_or_by_a_day(conn):
    """Lord Howe goes from 10:30 to 11; Samoa had no 2011-12-30."""
    assert _some(conn, "15 2 * * *", "Australia/Lord_Howe", "2026-10-02 12:00Z", 2) == ["2026-10-02 15:45", "2026-10-03 15:30"]
    assert _some(conn, "0 12 30 12 *", "Pacific/Apia", "2011-12-01 00:00Z", 2) == ["2011-12-30 10:00", "2012-12-29 22:00"]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"])
def test_on_days_without_a_change_a_firing_is_at_the_local_time(conn, zone):
    """For a year: local time is what was asked for, but on the day of a change."""
    wrong = conn.execute(
        """WITH RECURSIVE firing (at) AS (
               SELECT turnstile.next_firing('30 2 * * *', %(zone)s, '2026-01-01Z')
               UNION ALL SELECT turnstile.next_firing('30 2 * * *', %(zone)s, at) FROM firing WHERE at < '2027-01-01'
           )
           SELECT count(*), count(*) FILTER (WHERE (at AT TIME ZONE %(zone)s)::time <> '02:30') FROM firing""",
        {"zone": zone},
    ).fetchone()
    assert wrong[0] in (366, 367)
    assert wrong[1] <= 1


def test_what_cannot_be_read_is_refused(conn):
    for arguments, sqlstate in (
        ({"cron": None}, NULL_VALUE), ({"cron": "* * * * *", "after": None}, NULL_VALUE), ({"cron": "x"}, BAD_VALUE),
        ({"cron": "* * * * *", "time_zone": "Nowhere/Land"}, BAD_VALUE), ({"cron": "0 0 31 4 *"}, BAD_VALUE),
    ):  # fmt: skip
        with refused(sqlstate):
            call(conn, "next_firing", **arguments)
