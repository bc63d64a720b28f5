"""A sleeper wakes when a rate or a pause lets a job start again, though nothing commits."""

import pytest

from support.calls import claim_next, enqueue_times
from support.settings import configure


def test_a_sleeper_wakes_when_the_bucket_of_a_rate_has_a_token(conn):
    configure(conn, "tenant", "acme", rate=1, rate_per="300 milliseconds", burst=1)
    jobs = enqueue_times(conn, 3, tenant="acme")
    runs = [claim_next(conn, wait="60 seconds") for _ in jobs]
    assert [run.id for run in runs] == jobs


@pytest.mark.parametrize("table, key", [("queue", "default"), ("tenant", "acme")])
def test_a_sleeper_wakes_when_a_pause_ends(conn, table, key):
    enqueue_times(conn, 1, tenant="acme")
    configure(conn, table, key, paused=False)
    conn.execute(
        f"UPDATE turnstile.{table} SET paused_until = clock_timestamp() + '400 milliseconds' WHERE name = %s", [key]
    )
    assert claim_next(conn, wait="60 seconds") is not None
