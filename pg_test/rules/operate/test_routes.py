"""Routes: which queue, priority and concurrency key the jobs of a kind get, changed while everything runs."""

import pytest

from support import rows
from support.calls import call, claim_all, claim_next, enqueue, enqueue_many, ids
from support.errors import BAD_VALUE, refused
from support.settings import configure


def _route(conn, pattern: str, **columns):
    return call(conn, "set_route", pattern=pattern, **columns)[0]


def _enqueued(conn, by: str, **arguments):
    """The row of a job enqueued one way or the other."""
    if by == "enqueue":
        return rows.live(conn, enqueue(conn, **arguments))
    return rows.live(conn, enqueue_many(conn, [{"kind": "work"} | arguments])[0].id)


def _reroute(conn, pattern: str, **arguments) -> int:
    return call(conn, "reroute", pattern=pattern, **arguments)[0][0]


both_ways = pytest.mark.parametrize("by", ["enqueue", "enqueue_many"])


@both_ways
def test_a_kind_goes_where_its_route_says(conn, by):
    _route(conn, "report.*", queue="reports", priority_offset=10, concurrency_key="report")
    row = _enqueued(conn, by, kind="report.daily", priority=3)
    assert (row.queue, row.priority, row.concurrency_key) == ("reports", 13, "report")
    row = _enqueued(conn, by, kind="mail", priority=3)
    assert (row.queue, row.priority, row.concurrency_key) == ("default", 3, None)


@both_ways
def test_a_producer_that_names_a_queue_is_not_routed(conn, by):
    _route(conn, "report", queue="reports", priority_offset=10, concurrency_key="report")
    row = _enqueued(conn, by, kind="report", queue="mine", priority=3)
    assert (row.queue, row.priority, row.concurrency_key) == ("mine", 3, None)
    row = _enqueued(conn, by, kind="report", queue="default", priority=3)
    assert (row.queue, row.priority, row.concurrency_key) == ("default", 3, None)


@both_ways
def test_a_null_queue_is_one_that_was_left_out(conn, by):
    assert _enqueued(conn, by, kind="report", queue=None).queue == "default"
    _route(conn, "report", queue="reports")
    assert _enqueued(conn, by, kind="report", queue=None).queue == "reports"


@both_ways
def test_an_override_replaces_what_the_producer_names(conn, by):
    _route(conn, "report", queue="reports", priority_offset=-5, override=True, concurrency_key="heavy")
    row = _enqueued(conn, by, kind="report", queue="mine", concurrency_key="mine", priority=3)
    assert (row.queue, row.priority, row.concurrency_key) == ("reports", -2, "heavy")


@both_ways
def test_an_override_leaves_what_it_does_not_name(conn, by):
    _route(conn, "report", override=True, concurrency_key="heavy")
    assert _enqueued(conn, by, kind="report", queue="mine").queue == "mine"
    _route(conn, "report", queue="reports", clear=["concurrency_key"])
    row = _enqueued(conn, by, kind="report", queue="mine", concurrency_key="mine")
    assert (row.queue, row.concurrency_key) == ("reports", "mine")


@both_ways
def test_a_producers_key_stays_without_override(conn, by):
    _route(conn, "report", queue="reports", concurrency_key="heavy")
    row = _enqueued(conn, by, kind="report", concurrency_key="mine")
    assert (row.queue, row.concurrency_key) == ("reports", "mine")


@both_ways
@pytest.mark.parametrize(("priority", "offset"), [(2**31 - 1, 5), (-(2**31), -5)])
def test_a_priority_stays_in_its_range(conn, by, priority, offset):
    _route(conn, "report", priority_offset=offset)
    assert _enqueued(conn, by, kind="report", priority=priority).priority == priority


@both_ways
def test_attempts_are_those_of_the_queue_that_a_job_is_routed_to(conn, by):
    configure(conn, "queue", "reports", max_attempts=3)
    _route(conn, "report", queue="reports")
    assert _enqueued(conn, by, kind="report").max_attempts == 3


@both_ways
def test_attempts_follow_the_settings_of_the_queue(conn, other, by):
    assert _enqueued(conn, by).max_attempts == 25
    configure(other, "queue", "default", max_attempts=3)
    assert _enqueued(conn, by).max_attempts == 3
    other.execute("DELETE FROM turnstile.queue WHERE name = 'default'")
    configure(other, "queue", "*", max_attempts=7)
    assert _enqueued(conn, by).max_attempts == 7
    other.execute("TRUNCATE turnstile.queue")
    assert _enqueued(conn, by).max_attempts == 25


MATCHES = [
    ("a", "a", True), ("a", "b", False), ("a", "ab", False), ("a", "A", False), ("*", "anything at all", True),
    ("a*", "a", True), ("a*", "abc", True), ("a*", "ba", False), ("*a", "a", True), ("*a", "cba", True),
    ("*a", "ab", False), ("a*c", "abc", True), ("a*c", "ac", True), ("a*a", "a", False), ("ab*ba", "aba", False),
    ("a*b*c", "a-b-c", True), ("a*b*c", "a-c-b", False), ("*b*", "abc", True), ("*b*", "b", True), ("*b*", "ac", False),
    ("a**c", "abc", True), ("**", "x", True), ("*ab*ab*", "abab", True), ("*ab*ab*", "ab", False), ("*ab*b", "abb", True),
    ("*ab*b", "ab", False), ("a.b", "axb", False), ("a_b", "axb", False), ("a%", "ab", False), ("a?", "ab", False),
    ("[a]", "a", False), ("\\*", "*", False), ("é*", "éa", True), ("*日*", "今日は", True),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "kind", "fits"), MATCHES)
def test_a_star_stands_for_any_number_of_characters(module_conn, pattern, kind, fits):
    module_conn.execute("DELETE FROM turnstile.route")
    _route(module_conn, pattern, queue="q")
    assert call(module_conn, "route_of", kind=kind)[0][0] == (pattern if fits else None)


PRECEDENCE = [
    (["*", "report.*", "report.daily"], "report.daily", "report.daily"),
    (["*", "report.*", "report.daily"], "report.weekly", "report.*"),
    (["*", "report.*", "report.daily"], "mail", "*"),
    (["a*", "*bcd"], "abcd", "*bcd"),
    (["ab", "ab*"], "ab", "ab"),
    (["ab", "*ab"], "ab", "ab"),
    (["*bc", "ab*"], "abc", "*bc"),
    (["a*b", "a**b"], "ab", "a**b"),
]


@pytest.mark.parametrize(("patterns", "kind", "wins"), PRECEDENCE)
@pytest.mark.parametrize("backwards", [False, True])
def test_the_pattern_with_the_most_literal_characters_wins(module_conn, patterns, kind, wins, backwards):
    module_conn.execute("TRUNCATE turnstile.route")
    for pattern in patterns[::-1] if backwards else patterns:
        _route(module_conn, pattern, queue="q")
    assert call(module_conn, "route_of", kind=kind)[0][0] == wins


def test_only_the_winning_route_counts(conn):
    _route(conn, "*", queue="common", concurrency_key="all", priority_offset=5)
    _route(conn, "report", priority_offset=1)
    row = _enqueued(conn, "enqueue", kind="report")
    assert (row.queue, row.concurrency_key, row.priority) == ("default", None, 1)


@both_ways
def test_a_change_holds_from_its_commit_on_in_every_connection(conn, other, by):
    assert _enqueued(other, by, kind="report").queue == "default"
    conn.execute("BEGIN")
    _route(conn, "report", queue="reports")
    assert _enqueued(conn, by, kind="report").queue == "reports"
    assert _enqueued(other, by, kind="report").queue == "default"
    conn.execute("COMMIT")
    assert _enqueued(other, by, kind="report").queue == "reports"
    call(conn, "drop_route", pattern="report")
    assert _enqueued(other, by, kind="report").queue == "default"
    conn.execute("INSERT INTO turnstile.route (pattern, queue) VALUES ('rep*', 'direct')")
    assert _enqueued(other, by, kind="report").queue == "direct"
    conn.execute("UPDATE turnstile.route SET queue = 'changed'")
    assert _enqueued(other, by, kind="report").queue == "changed"
    conn.execute("TRUNCATE turnstile.route")
    assert _enqueued(other, by, kind="report").queue == "default"


def test_a_change_rolled_back_never_was(conn):
    conn.execute("BEGIN")
    _route(conn, "report", queue="reports")
    assert _enqueued(conn, "enqueue", kind="report").queue == "reports"
    conn.execute("ROLLBACK")
    assert _enqueued(conn, "enqueue", kind="report").queue == "default"
    conn.execute("BEGIN; SAVEPOINT s")
    _route(conn, "report", queue="reports")
    assert _enqueued(conn, "enqueue", kind="report").queue == "reports"
    conn.execute("ROLLBACK TO s")
    assert _enqueued(conn, "enqueue", kind="report").queue == "default"
    conn.execute("COMMIT")
    assert _enqueued(conn, "enqueue", kind="report").queue == "default"


def test_a_direct_insert_is_as_it_is(conn):
    _route(conn, "*", queue="elsewhere", override=True)
    conn.execute("INSERT INTO turnstile.job (kind) VALUES ('report')")
    assert claim_next(conn).kind == "report"


def test_a_setter_leaves_what_it_does_not_name(conn):
    _route(conn, "report", queue="reports", priority_offset=4, override=True, concurrency_key="k")
    assert _route(conn, "report") == ("report", "reports", 4, True, "k")
    assert _route(conn, "report", priority_offset=0) == ("report", "reports", 0, True, "k")
    assert _route(conn, "report", clear=["queue", "concurrency_key"]) == ("report", None, 0, True, None)


def test_dropping_says_whether_there_was_a_route(conn):
    _route(conn, "report")
    assert call(conn, "drop_route", pattern="report")[0][0] is True
    assert call(conn, "drop_route", pattern="report")[0][0] is False


@both_ways
def test_the_name_of_all_queues_is_none_of_a_job(conn, by):
    with refused(BAD_VALUE):
        _enqueued(conn, by, queue="*")
    with refused(BAD_VALUE):
        _route(conn, "report", queue="*")
    with refused("23514"):
        conn.execute("INSERT INTO turnstile.job (kind, queue) VALUES ('work', '*')")


def test_rerouting_moves_what_waits_and_keeps_its_order(conn):
    heavy = [enqueue(conn, "heavy", priority=n % 2) for n in range(6)]
    light = [enqueue(conn, "light") for _ in range(3)]
    _route(conn, "heavy", queue="heavy", concurrency_key="h")
    assert _reroute(conn, "heavy", max_jobs=4) == 4
    assert _reroute(conn, "heavy", max_jobs=4) == 2
    assert _reroute(conn, "heavy", max_jobs=4) == 0
    assert ids(claim_all(conn)) == light
    assert ids(claim_all(conn, "heavy")) == heavy[::2] + heavy[1::2]
    assert {rows.live(conn, job_id).concurrency_key for job_id in heavy} == {"h"}


def test_rerouting_moves_scheduled_and_failed_jobs_but_none_that_runs(conn):
    running = enqueue(conn, "heavy", priority=-2)
    failed = enqueue(conn, "heavy", priority=-1)
    waiting = enqueue(conn, "heavy")
    scheduled = enqueue(conn, "heavy", run_at="2100-01-01")
    assert claim_next(conn).id == running
    run = claim_next(conn)
    call(conn, "fail", job_id=run.id, attempt=run.attempt, retry_in="1 hour")
    _route(conn, "heavy", queue="heavy")
    assert _reroute(conn, "*") == 3
    queues = [rows.live(conn, job_id).queue for job_id in (running, failed, waiting, scheduled)]
    assert queues == ["default", "heavy", "heavy", "heavy"]


def test_rerouting_is_for_the_kinds_that_match_and_the_queue_that_is_named(conn):
    _route(conn, "*", queue="all")
    for queue in ("a", "b"):
        enqueue(conn, "report.daily", queue=queue)
        enqueue(conn, "mail", queue=queue)
    assert _reroute(conn, "report.*", from_queue="a") == 1
    assert _reroute(conn, "report.*") == 1
    assert _reroute(conn, "nothing") == 0
    assert _reroute(conn, "*") == 2


def test_rerouting_follows_the_route_that_wins_for_each_kind(conn):
    daily, weekly, mail = (enqueue(conn, kind) for kind in ("report.daily", "report.weekly", "mail"))
    _route(conn, "report.*", queue="reports")
    _route(conn, "report.daily", queue="daily")
    assert _reroute(conn, "*") == 2
    assert [rows.live(conn, job_id).queue for job_id in (daily, weekly, mail)] == ["daily", "reports", "default"]


def test_rerouting_leaves_what_another_has_locked(conn, other):
    locked, free = (enqueue(conn, "heavy") for _ in range(2))
    _route(conn, "heavy", queue="heavy")
    other.execute("BEGIN")
    other.execute("SELECT 1 FROM turnstile.job WHERE id = %s FOR UPDATE", [locked])
    assert _reroute(conn, "heavy") == 1
    assert claim_next(conn, "heavy").id == free
    other.execute("COMMIT")
    assert _reroute(conn, "heavy") == 1
    assert claim_next(conn, "heavy").id == locked


def test_rerouting_rolled_back_never_was(conn, other):
    job_id = enqueue(conn, "heavy")
    _route(conn, "heavy", queue="heavy")
    conn.execute("BEGIN")
    assert _reroute(conn, "heavy") == 1
    assert claim_next(other, "heavy") is None
    conn.execute("ROLLBACK")
    assert claim_next(other).id == job_id


def test_a_heavy_kind_is_held_to_two_while_10000_of_it_wait_before_the_light_ones(conn):
    """Must-show 5: routed to a queue of its own and limited, it is out of the way of others at once."""
    conn.execute("INSERT INTO turnstile.job (kind) SELECT 'heavy' FROM generate_series(1, 10000)")
    light = [enqueue(conn, "light") for _ in range(20)]
    _route(conn, "heavy", queue="heavy", concurrency_key="heavy")
    configure(conn, "concurrency", "heavy", slots=2)
    while _reroute(conn, "heavy", max_jobs=3000):
        pass
    light += [enqueue(conn, "light") for _ in range(20)]
    assert ids(claim_all(conn)) == light
    assert len(claim_all(conn, "heavy")) == 2
    new = rows.live(conn, enqueue(conn, "heavy"))
    assert (new.queue, new.concurrency_key) == ("heavy", "heavy")


def test_a_heavy_kind_is_limited_where_it_waits(conn):
    """A key alone holds a kind to its slots in the common queue, without hiding the light jobs behind it."""
    conn.execute("INSERT INTO turnstile.job (kind) SELECT 'heavy' FROM generate_series(1, 500)")
    light = enqueue(conn, "light")
    _route(conn, "heavy", override=True, concurrency_key="heavy")
    configure(conn, "concurrency", "heavy", slots=2)
    assert _reroute(conn, "heavy") == 500
    assert [job.kind for job in claim_all(conn)] == ["heavy", "heavy", "light"]
    assert rows.state(conn, light) == "running"
