"""Retention: how long finished jobs stay, and how their partitions come and go."""

import pytest

from rules.test_plans_in_use import watch
from support import rows
from support.calls import claim_next, complete, enqueue
from support.errors import BAD_VALUE, NULL_VALUE, refused
from support.history import (
    days_ago, drop_days, finish, kept, maintain, make_day, noon, partition_of, partitions, today,
)  # fmt: skip
from support.plans import most_rows
from support.settings import configure, unconfigure


def test_a_day_is_dropped_whole_once_its_time_is_over_and_no_other(conn):
    names = {days: make_day(conn, days) for days in (1, 7, 8, 9)}
    ids = {days: finish(conn, days, 50) for days in names}
    assert maintain(conn)["drop partitions"] == 2
    assert {names[1], names[7]} <= partitions(conn)
    assert {names[8], names[9]} & partitions(conn) == set()
    assert kept(conn) == {*ids[1], *ids[7]}
    assert maintain(conn)["drop partitions"] == 0


def test_the_state_decides_which_setting_holds(conn):
    configure(conn, "queue", "*", keep_completed="1 day", keep_discarded="3 days")
    make_day(conn, 3)
    make_day(conn, 4)
    stay = [*finish(conn, 3, 2, state="discarded"), *finish(conn, 3, 2, state="cancelled")]
    for days, state in ((3, "completed"), (4, "completed"), (4, "discarded"), (4, "cancelled")):
        finish(conn, days, 2, state=state)
    done = maintain(conn)
    assert (done["thin history"], done["drop partitions"]) == (2, 1)
    assert kept(conn) == set(stay)


def test_a_queue_with_a_row_keeps_by_that_row(conn):
    configure(conn, "queue", "short", keep_completed="0 seconds")
    configure(conn, "queue", "long", keep_completed="100 days")
    make_day(conn, 1)
    make_day(conn, 20)
    stay = [*finish(conn, 1, queue="default"), *finish(conn, 1, queue="long"), *finish(conn, 20, queue="long")]
    for days, queue in ((1, "short"), (20, "short"), (20, "default")):
        finish(conn, days, 3, queue=queue)
    maintain(conn)
    assert kept(conn) == set(stay)


def test_minus_one_keeps_for_ever(conn):
    configure(conn, "queue", "*", keep_completed="-1", keep_discarded="-1")
    make_day(conn, 4000)
    stay = finish(conn, 4000, 3)
    maintain(conn)
    assert kept(conn) == set(stay)


def test_what_no_setting_speaks_of_stays(conn):
    """Without the default row nothing is known of queues without a row."""
    unconfigure(conn, "queue", "*")
    configure(conn, "queue", "known", keep_completed="1 day", keep_discarded="1 day")
    make_day(conn, 30)
    finish(conn, 30, 2, queue="known")
    stay = finish(conn, 30, 2, queue="other")
    maintain(conn)
    assert kept(conn) == set(stay)


def test_a_day_without_jobs_that_stay_is_dropped_whole_though_a_queue_keeps_longer(conn):
    configure(conn, "queue", "audit", keep_completed="-1")
    name = make_day(conn, 10)
    finish(conn, 10, 500)
    done = maintain(conn)
    assert (done["thin history"], done["drop partitions"]) == (0, 1), "dropped, not deleted row by row"
    assert name not in partitions(conn)


def test_what_upkeep_reads_grows_with_the_queues_and_not_with_their_square(conn):
    """Once for each day."""
    queues = 1000
    conn.execute("INSERT INTO turnstile.queue (name, keep_completed) SELECT 'q' || n, '30 days' FROM generate_series(1, %s) AS n", [queues])
    plans = watch(conn, lambda explained: most_rows(explained["Plan"]))
    conn.execute("SET auto_explain.log_analyze = on")
    maintain(conn)
    assert queues <= max(rows for query, rows in plans if "is_over" in query) < 3 * queues


def test_a_changed_setting_lets_go_of_what_was_kept(conn):
    configure(conn, "queue", "audit", keep_completed="-1")
    name = make_day(conn, 10)
    finish(conn, 10, 5)
    stay = finish(conn, 10, 5, queue="audit")
    assert maintain(conn)["thin history"] == 5
    assert kept(conn) == set(stay)
    assert maintain(conn)["thin history"] == 0, "a day that was gone through is left alone"
    configure(conn, "queue", "audit", keep_completed="8 days")
    assert maintain(conn)["drop partitions"] == 1
    assert name not in partitions(conn)


def test_jobs_that_come_late_into_a_day_are_not_dropped_with_it(conn, db):
    """The day was found to hold nothing that stays, but before it could be dropped something came."""
    configure(conn, "queue", "audit", keep_completed="-1")
    name = make_day(conn, 10)
    finish(conn, 10, 5)
    report = db.connect(autocommit=False)
    report.execute(f"SELECT count(*) FROM {name}")
    assert maintain(conn)["drop partitions"] is None
    stay = finish(conn, 10, 1, queue="audit")
    conn.execute("SELECT pg_stat_force_next_flush()")
    report.rollback()
    for _ in range(2):
        maintain(conn)
    assert kept(conn) == set(stay)


def test_a_large_day_is_gone_through_in_bounded_steps(conn):
    configure(conn, "queue", "audit", keep_completed="-1")
    make_day(conn, 10, "WITH (fillfactor = 10)")
    stay = finish(conn, 10, 1, queue="audit")
    jobs = 60_000
    finish(conn, 10, jobs)
    deleted = []
    while (done := maintain(conn)["thin history"]) or not deleted:
        deleted.append(done)
    assert len(deleted) > 1
    assert sum(deleted) == jobs
    assert kept(conn) == set(stay)


def test_jobs_in_the_default_partition_go_when_their_time_is_over(conn):
    finish(conn, 9, 3)
    stay = finish(conn, 7, 3)
    assert maintain(conn)["thin history"] == 3
    assert kept(conn) == set(stay)


def test_a_job_that_finishes_on_a_day_without_a_partition_is_not_lost(conn):
    drop_days(conn)
    job_id = enqueue(conn)
    assert complete(conn, claim_next(conn))
    assert rows.state(conn, job_id) == "completed"
    assert maintain(conn)["make partitions"] == 8
    query = "SELECT tableoid::regclass::text FROM turnstile.job_history WHERE id = %s"
    assert conn.execute(query, [job_id]).fetchone()[0] == partition_of(today(conn)), "moved to its day"
    assert rows.state(conn, job_id) == "completed"


def test_a_day_with_many_jobs_in_the_default_partition_stays_there(conn):
    drop_days(conn)
    ids = finish(conn, 0, 10_001)
    assert maintain(conn)["make partitions"] == 7
    assert partition_of(today(conn)) not in partitions(conn)
    assert kept(conn) == set(ids)
    assert maintain(conn)["make partitions"] == 0
    job_id = enqueue(conn)
    assert complete(conn, claim_next(conn))
    assert rows.state(conn, job_id) == "completed"


def test_a_table_by_the_name_of_a_partition_leaves_the_day_to_the_default_one(conn):
    name = partition_of(days_ago(conn, -3))
    conn.execute(f"ALTER TABLE turnstile.job_history DETACH PARTITION {name}")
    drop_days(conn)
    assert maintain(conn)["make partitions"] == 7
    assert name not in partitions(conn)


def test_a_partition_of_ones_own_making_covers_its_days(conn):
    drop_days(conn)
    begin, end = noon(days_ago(conn, 1)), noon(days_ago(conn, -2))
    conn.execute(
        f"CREATE TABLE own PARTITION OF turnstile.job_history FOR VALUES FROM ('{begin}') TO ('{end}')"  # noqa: S608
    )
    assert maintain(conn)["make partitions"] == 5


def test_jobs_are_found_by_id_in_a_partition_that_was_attached(conn):
    drop_days(conn)
    maintain(conn)
    indexed = conn.execute(
        "SELECT count(*) FROM turnstile.history_partition p JOIN pg_index i ON i.indrelid = p.partition"
        " WHERE pg_get_indexdef(i.indexrelid) LIKE '%(id)'"
    ).fetchone()[0]
    assert indexed == len(partitions(conn)) + 1 == 9


@pytest.mark.parametrize(("days", "sqlstate"), [(None, NULL_VALUE), (-1, BAD_VALUE), (367, BAD_VALUE)])
def test_days_ahead_are_checked(conn, days, sqlstate):
    with refused(sqlstate):
        conn.execute("SELECT turnstile.make_history_partitions(%s::int)", [days])


@pytest.mark.parametrize("column", ["keep_completed", "keep_discarded"])
def test_a_negative_time_in_history_is_refused(conn, column):
    with pytest.raises(Exception, match=f"queue_{column}_check"):
        configure(conn, "queue", "q", **{column: "-1 day"})
