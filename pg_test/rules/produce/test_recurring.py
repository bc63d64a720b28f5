"""Recurring jobs: what schedule() takes, and that a firing enqueues one job, whoever makes it."""

import psycopg
import pytest

from support import rows
from support.calls import call, claim_next, complete, enqueue
from support.crew import together
from support.errors import BAD_VALUE, NULL_VALUE, TOO_LONG, refused
from support.recurring import due, fire, only_by_hand, recur, recurring_jobs


@pytest.fixture(autouse=True)
def _by_hand(conn):
    only_by_hand(conn)


def _jobs(conn) -> int:
    return conn.execute("SELECT count(*) FROM turnstile.job").fetchone()[0]


def _schedule(conn, **arguments):
    return call(conn, "schedule", **{"name": "nightly", "cron": "0 3 * * *", "kind": "report"} | arguments)[0][0]


def _state(conn, name: str = "nightly"):
    [found] = [row for row in recurring_jobs(conn) if row.name == name]
    return found


def test_a_firing_enqueues_once(conn, other):
    recur(conn)
    other.execute("SET turnstile.fire_recurring = on")
    assert [fire(conn), fire(conn), fire(other)] == [1, 0, 0]
    state = _state(conn)
    assert rows.live(conn, state.last_job_id).kind == "report"
    assert (_jobs(conn), state.last_error) == (1, None)
    assert conn.execute("SELECT %s > now(), %s < now()", [state.next_firing, state.last_firing]).fetchone() == (True, True)


def test_many_at_the_same_moment_enqueue_once(db, conn):
    for n in range(20):
        recur(conn, f"n{n}")

    def run(session):
        session.execute("SET turnstile.fire_recurring = on")
        return fire(session)

    done = together([lambda own=db.connect(): run(own) for _ in range(8)])
    assert sum(done) == _jobs(conn) == 20


def test_one_that_another_session_fires_is_passed_over(conn, other):
    recur(conn, "first")
    recur(conn, "second")
    other.execute("SET turnstile.fire_recurring = on")
    conn.execute("BEGIN")
    assert fire(conn, max_jobs=1) == 1
    assert fire(other) == 1
    conn.execute("ROLLBACK")
    assert (fire(other), _jobs(conn)) == (1, 2)


def test_a_firing_undone_to_a_savepoint_can_be_repeated(conn):
    recur(conn)
    conn.execute("BEGIN; SAVEPOINT before")
    assert fire(conn) == 1
    conn.execute("ROLLBACK TO before")
    assert fire(conn) == 1
    conn.execute("COMMIT")
    assert _jobs(conn) == 1


def test_all_options_reach_the_job(conn):
    options = {"queue": "q", "tenant": "t", "account": "a", "session": "s", "concurrency_key": "c", "priority": -4,
               "max_attempts": 7}  # fmt: skip
    _schedule(conn, payload={"n": 1}, metadata={"m": 2}, **options)
    due(conn)
    fire(conn)
    state = _state(conn)
    row = rows.live(conn, state.last_job_id)
    assert {name: getattr(row, name) for name in options} == options
    assert (row.payload, row.state) == ({"n": 1}, "available")
    firing = conn.execute("SELECT (%s->>'firing')::timestamptz", [psycopg.types.json.Jsonb(row.metadata)]).fetchone()[0]
    assert (row.metadata["m"], row.metadata["recurring"], firing) == (2, "nightly", state.last_firing)


@pytest.mark.parametrize("options", [{"unique_key": "k"}, {"unique_by": ["kind", "tenant"]}])
def test_a_unique_firing_is_one_job_while_that_waits(conn, options):
    _schedule(conn, **options)
    for _ in range(2):
        due(conn)
        assert fire(conn) == 1
    assert _jobs(conn) == 1


def test_a_firing_is_a_duplicate_in_the_states_that_are_named(conn):
    _schedule(conn, unique_key="k", unique_states=["available", "completed"], unique_for="1 day")
    due(conn)
    fire(conn)
    complete(conn, claim_next(conn))
    due(conn)
    assert (fire(conn), _jobs(conn)) == (1, 0)
    _schedule(conn, unique_key="k", unique_mode="until_executed")
    due(conn)
    assert (fire(conn), _jobs(conn)) == (1, 0), "the holder decides"
    conn.execute("DELETE FROM turnstile.unique_key")
    due(conn)
    assert (fire(conn), _jobs(conn)) == (1, 1)


def test_metadata_that_is_no_object_stays_as_it_is(conn):
    _schedule(conn, metadata=[1, 2])
    due(conn)
    fire(conn)
    assert rows.live(conn, _state(conn).last_job_id).metadata == [1, 2]


MISSED = [("skip", 0), ("once", 1), ("all", 60)]


@pytest.mark.parametrize(("catch_up", "jobs"), MISSED)
def test_what_was_missed_is_caught_up_on_as_was_said(conn, catch_up, jobs):
    """The firings of an hour, once a year."""
    recur(conn, catch_up=catch_up, cron="* 3 1 1 *")
    conn.execute("UPDATE turnstile.recurring SET next_firing = date_trunc('year', now() - interval '1 day', 'UTC') + interval '3 hours'")
    assert fire(conn) == jobs
    assert conn.execute("SELECT count(DISTINCT metadata->>'firing') = count(*) FROM turnstile.job").fetchone()[0]
    assert conn.execute("SELECT next_firing > now() FROM turnstile.recurring").fetchone()[0]
    assert fire(conn) == 0


def test_a_firing_of_this_minute_was_not_missed(conn):
    recur(conn, catch_up="skip", cron="* * * * *")
    due(conn, "3 hours")
    assert fire(conn) == 1


@pytest.mark.parametrize(("catch_up", "jobs"), [("skip", 0), ("once", 1), ("all", 1)])
def test_a_single_firing_that_was_missed(conn, catch_up, jobs):
    recur(conn, catch_up=catch_up, cron="0 3 1 1 *", next_firing="2026-01-01 03:00Z")
    assert fire(conn) == jobs
    assert conn.execute("SELECT next_firing > now() FROM turnstile.recurring").fetchone()[0]


def test_all_of_very_many_take_several_calls(conn):
    recur(conn, cron="* * * * *", catch_up="all")
    due(conn, "149 minutes")
    assert fire(conn) == 100
    assert 50 <= fire(conn) < 60


def test_what_is_made_up_for_keeps_no_other_from_firing(conn):
    recur(conn, name="much", cron="* * * * *", catch_up="all")
    due(conn, "1499 minutes", name="much")
    recur(conn, name="other", cron="* * * * *")
    due(conn, "1 minute", name="other")
    assert [fire(conn, max_jobs=1) for _ in range(3)] == [100, 1, 100]


def test_a_row_that_was_never_looked_at_fires_at_its_next_time_only(conn):
    """Such as one of a dump of 0.1.0."""
    recur(conn, next_firing=None)
    assert fire(conn) == 0
    assert _state(conn).next_firing == call(conn, "next_firing", cron="0 3 * * *")[0][0]


def test_scheduling_again_replaces_the_job_and_keeps_what_is_due(conn):
    _schedule(conn, payload={"n": 1}, tenant="acme", max_attempts=3, time_zone="Europe/Berlin")
    due(conn)
    kept = _state(conn).next_firing
    assert _schedule(conn, payload={"n": 2}, time_zone="europe/berlin") == kept
    assert fire(conn) == 1
    row = rows.live(conn, _state(conn).last_job_id)
    assert (row.payload, row.tenant, row.max_attempts) == ({"n": 2}, None, 25)
    due(conn)
    moved = _schedule(conn, cron="5 4 * * *", time_zone="Europe/Berlin")
    assert moved == call(conn, "next_firing", cron="5 4 * * *", time_zone="Europe/Berlin")[0][0]
    assert (fire(conn), _state(conn).time_zone) == (0, "Europe/Berlin")


def test_a_pause_holds_and_what_was_missed_follows(conn):
    _schedule(conn)
    due(conn)
    assert call(conn, "pause_recurring", name="nightly")[0][0] is True
    assert (_state(conn).active, _state(conn).next_firing) == (False, None)
    _schedule(conn, payload={"n": 2})
    assert (fire(conn), _state(conn).active) == (0, False)
    assert call(conn, "resume_recurring", name="nightly")[0][0] is True
    assert (_state(conn).active, fire(conn)) == (True, 1)


def test_a_pause_ends_by_itself(conn):
    _schedule(conn)
    due(conn)
    call(conn, "pause_recurring", name="nightly", until="2100-01-01 00:00Z")
    assert (fire(conn), _state(conn).active, _state(conn).next_firing.year) == (0, False, 2100)
    call(conn, "pause_recurring", name="nightly", until="2020-01-01 00:00Z")
    assert (_state(conn).active, fire(conn)) == (True, 1)


@pytest.mark.parametrize("verb", ["pause_recurring", "resume_recurring", "unschedule"])
def test_of_no_such_name_there_is_nothing_to_change(conn, verb):
    assert call(conn, verb, name="nobody")[0][0] is False
    for name, sqlstate in ((None, NULL_VALUE), ("", BAD_VALUE), ("n" * 256, TOO_LONG)):
        with refused(sqlstate):
            call(conn, verb, name=name)


def test_a_firing_that_fails_is_told_and_others_go_on(conn):
    recur(conn, "first", queue="q" * 256)
    recur(conn, "second", owner="nobody who is there")
    recur(conn, "third")
    notices = []
    conn.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    assert fire(conn) == 1
    assert [state.name for state in recurring_jobs(conn) if state.last_error] == ["first", "second"]
    assert [text for text in notices if '"first"' in text or '"second"' in text] == notices != []
    assert "owner" in _state(conn, "second").last_error
    assert all(state.next_firing.year >= 2026 and state.last_error_at for state in recurring_jobs(conn)[:2])
    conn.execute("UPDATE turnstile.recurring SET queue = 'q', owner = current_user, next_firing = '2026-01-01'")
    assert fire(conn) == 3
    assert {state.last_error for state in recurring_jobs(conn)} == {None}


def test_a_deferred_trigger_that_refuses_spoils_one_firing_only(conn):
    conn.execute(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END $$;"
        " CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON turnstile.job DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW WHEN (new.kind = 'bad') EXECUTE FUNCTION public.refuse()"
    )
    recur(conn, "first", kind="bad")
    recur(conn, "second")
    assert fire(conn) == 1
    assert (_state(conn, "first").last_error, _jobs(conn)) == ("not today", 1)


def test_an_assertion_of_a_trigger_spoils_one_firing_only(conn):
    """OTHERS of PL/pgSQL does not mean it."""
    conn.execute(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ASSERT new.kind <> 'bad', 'not this'; RETURN new; END $$;"
        " CREATE TRIGGER refuse BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.refuse()"
    )
    recur(conn, "first", kind="bad")
    recur(conn, "second")
    assert fire(conn) == 1
    assert (_state(conn, "first").last_error, _jobs(conn)) == ("not this", 1)


def test_a_firing_that_meets_a_lock_is_tried_again(conn, other):
    """Another session has the key and has not committed."""
    recur(conn, unique_key="k")
    other.execute("BEGIN")
    enqueue(other, unique_key="k")
    conn.execute("SET lock_timeout = '10ms'")
    assert fire(conn) == 0
    other.execute("ROLLBACK")
    before = conn.execute("SELECT next_firing < now(), retry_at > now() FROM turnstile.recurring").fetchone()
    assert (before, _jobs(conn)) == ((True, True), 0)
    conn.execute("UPDATE turnstile.recurring SET retry_at = now()")
    assert (fire(conn), _state(conn).last_error) == (1, None)


def test_a_schedule_that_cannot_be_read_is_told_and_rests(conn):
    recur(conn, "first", cron="61 * * * *")
    recur(conn, "second")
    assert (fire(conn), fire(conn)) == (1, 0)
    first = _state(conn, "first")
    assert "61" in first.last_error
    assert (first.active, first.next_firing) == (False, None)
    _schedule(conn, name="first")
    assert _state(conn, "first").active


def test_switched_off_nothing_fires(conn):
    recur(conn)
    conn.execute("SET turnstile.fire_recurring = off")
    assert (fire(conn), _jobs(conn)) == (0, 0)


def test_maintain_fires_what_is_due(conn):
    recur(conn)
    conn.execute("SELECT turnstile.maintain()")
    assert _jobs(conn) == 1


SCHEDULE = {"name": "n", "cron": "* * * * *", "kind": "work"}
REFUSED = [
    ({"name": None}, NULL_VALUE),
    ({"name": ""}, BAD_VALUE),
    ({"name": "n" * 256}, TOO_LONG),
    ({"kind": ""}, BAD_VALUE),
    ({"queue": ""}, BAD_VALUE),
    ({"tenant": "t" * 256}, TOO_LONG),
    ({"payload": None}, NULL_VALUE),
    ({"payload": {"text": "x" * 1_048_577}}, TOO_LONG),
    ({"priority": None}, NULL_VALUE),
    ({"max_attempts": 0}, BAD_VALUE),
    ({"unique_mode": "sometimes"}, BAD_VALUE),
    ({"unique_by": ["color"]}, BAD_VALUE),
    ({"cron": None}, NULL_VALUE),
    ({"cron": "10 seconds"}, BAD_VALUE),
    ({"cron": ""}, BAD_VALUE),
    ({"cron": "often"}, BAD_VALUE),
    ({"cron": "* * * *"}, BAD_VALUE),
    ({"cron": "* * * * * *"}, BAD_VALUE),
    ({"cron": "61 * * * *"}, BAD_VALUE),
    ({"cron": "@reboot"}, BAD_VALUE),
    ({"cron": "0 0 30 2 *"}, BAD_VALUE),
    ({"cron": "0 0 1 1 " + "1," * 600 + "1"}, BAD_VALUE),
    ({"time_zone": "Europe/Atlantis"}, BAD_VALUE),
    ({"time_zone": "FOO+3"}, BAD_VALUE),
    ({"time_zone": ""}, BAD_VALUE),
    ({"catch_up": None}, NULL_VALUE),
    ({"catch_up": "maybe"}, BAD_VALUE),
]


@pytest.mark.parametrize(("bad", "sqlstate"), REFUSED, ids=[str(bad)[:40] for bad, _ in REFUSED])
def test_what_cannot_fire_is_refused_when_it_is_scheduled(conn, bad, sqlstate):
    with refused(sqlstate):
        call(conn, "schedule", **SCHEDULE | bad)
    assert _jobs(conn) == 0
    assert conn.execute("SELECT * FROM turnstile.recurring").fetchall() == []
    assert enqueue(conn), "and the try has left nothing in the way"


def test_two_sessions_schedule_the_same_name_at_once(db, conn):
    together([lambda own=db.connect(), n=n: _schedule(own, payload={"n": n}) for n in range(4)])
    assert len(recurring_jobs(conn)) == 1


def test_a_schedule_that_rolls_back_leaves_nothing(conn):
    conn.execute("BEGIN")
    _schedule(conn)
    conn.execute("ROLLBACK")
    assert recurring_jobs(conn) == []


@pytest.mark.parametrize("function", ["enable_cron", "disable_cron", "clean_cron_log"])
def test_without_pg_cron_the_refusal_says_how_to_do_without(conn, function):
    with refused("55000") as caught:
        call(conn, function)
    assert "turnstile.maintain()" in caught.value.diag.message_hint
