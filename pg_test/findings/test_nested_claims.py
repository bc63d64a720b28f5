"""Triggers of a user that fail and catch it, that claim, or that set jobs running: no slot is lost by any of it."""

import psycopg
import pytest

from faults.witness import is_sound, within
from support import naive, rows
from support.calls import call, claim, claim_next, complete, complete_and_claim_next, enqueue, enqueue_times, fail, release
from support.settings import configure

ROUNDS = 20

# What a trigger does when a job of kind outer is set running.
BODIES = {
    "an exception block": "BEGIN PERFORM 1; EXCEPTION WHEN division_by_zero THEN NULL; END;",
    "an exception that is caught": "BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END;",
    "a claim": "PERFORM turnstile.complete(id, attempt) FROM turnstile.claim_next('inner');",
    "a claim of the same queue": "PERFORM turnstile.complete(id, attempt) FROM turnstile.claim_next('default');",
    "a claim that stays": "PERFORM turnstile.claim_next('inner');",
    "a batch": "PERFORM turnstile.complete(id, attempt) FROM turnstile.claim(ARRAY['inner', 'default'], 2);",
    "a claim that is undone": """BEGIN
            PERFORM turnstile.claim_next('inner');
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN NULL; END;""",
    "a claim of the same queue that is undone": """BEGIN
            PERFORM turnstile.claim_next('default');
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN NULL; END;""",
    "an update": """UPDATE turnstile.job SET state = 'running', attempt = attempt + 1, claimed_at = now()
        WHERE id = (SELECT id FROM turnstile.job WHERE queue = 'inner' AND state = 'available' LIMIT 1);""",
    "an update of the same lane": """UPDATE turnstile.job SET state = 'running', attempt = attempt + 1, claimed_at = now()
        WHERE id = (SELECT id FROM turnstile.job WHERE lane = NEW.lane AND id <> NEW.id AND state = 'available' LIMIT 1);""",
    "an update that is undone": """BEGIN
            UPDATE turnstile.job SET state = 'running', attempt = attempt + 1, claimed_at = now()
            WHERE queue = 'inner' AND state = 'available';
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN NULL; END;""",
    "an enqueue": "PERFORM turnstile.enqueue('inner', queue => 'inner', tenant => 'acme');",
    "a promotion and a rescue": "PERFORM turnstile.promote(), turnstile.rescue();",
    "a rebuild": "PERFORM turnstile.rebuild();",
}


def _on_start(conn, timing: str, body: str) -> None:
    conn.execute(f"""CREATE FUNCTION public.on_start() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.kind = 'outer' AND NEW.state = 'running' AND OLD.state = 'available' THEN {body} END IF;
        RETURN NEW; END $$""")
    conn.execute(
        f"CREATE TRIGGER on_start {timing} UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.on_start()"
    )


def _fill(conn) -> None:
    for queue, kind in (("default", "outer"), ("default", "middle"), ("inner", "inner")):
        enqueue(conn, queue=queue, kind=kind, tenant="acme")
        enqueue(conn, queue=queue, kind=kind, tenant="acme", session="s")


def _claim(conn, number: int, timing: str):
    """A trigger that fires before the row has changed finds it available still, and may take it: 27000, as for an UPDATE."""
    try:
        return claim_next(conn) if number % 2 else next(iter(claim(conn, ["default"], 2)), None)
    except psycopg.errors.TriggeredDataChangeViolation:
        assert timing == "BEFORE"
        return None


def _finish_all(conn) -> None:
    for job_id, attempt in conn.execute("SELECT id, attempt FROM turnstile.job WHERE state = 'running'").fetchall():
        conn.execute("SELECT turnstile.complete(%s, %s)", [job_id, attempt])


def _all_room_is_there(conn, slots: int) -> None:
    _finish_all(conn)
    is_sound(conn)
    conn.execute("DROP TRIGGER on_start ON turnstile.job")
    enqueue_times(conn, slots + 2, tenant="acme")
    naive.claim_all_as_predicted(conn, ["default", "inner"])
    assert rows.counts(conn)["running"] == slots
    is_sound(conn)


ENDINGS = {
    "complete": complete,
    "release": release,
    "fail": lambda conn, run: fail(conn, run, retry_in="0 seconds"),
    "complete_and_claim_next": complete_and_claim_next,
}


@pytest.mark.parametrize("timing", ["BEFORE", "AFTER"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_no_slot_is_lost(conn, other, timing, body):
    slots = 4
    configure(conn, "tenant", "acme", slots=slots)
    configure(conn, "queue", "default", max_running=slots)
    _on_start(conn, timing, body)
    for number in range(ROUNDS):
        _fill(conn)
        run = _claim(conn, number, timing)
        if "update" not in body.lower():
            within(other, {"tenant acme": slots, "queue default": slots})
        assert call(other, "check") == []
        if run and rows.state(conn, run.id) == "running":
            list(ENDINGS.values())[number % len(ENDINGS)](conn, run)
        _finish_all(conn)
        conn.execute("DELETE FROM turnstile.job")
        assert call(other, "check") == []
    _all_room_is_there(conn, slots)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_no_slot_is_lost_in_transactions(conn, other, body, end):
    slots = 3
    configure(conn, "tenant", "acme", slots=slots)
    _on_start(conn, "AFTER", body)
    for _ in range(5):
        _fill(conn)
        conn.execute("BEGIN; SAVEPOINT s")
        claim_next(conn)
        claim(conn, ["inner", "default"], 2)
        conn.execute(end)
        assert call(other, "check") == []
        _finish_all(conn)
        conn.execute("DELETE FROM turnstile.job")
    _all_room_is_there(conn, slots)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_no_slot_is_lost_where_the_claim_itself_fails(conn, other, body):
    configure(conn, "tenant", "acme", slots=2)
    _on_start(conn, "BEFORE", body + " IF NEW.session IS NULL THEN RAISE 'no' USING ERRCODE = 'TS001'; END IF;")
    for _ in range(5):
        _fill(conn)
        conn.execute("BEGIN; SAVEPOINT s")
        conn.execute(
            "DO $$ BEGIN PERFORM turnstile.claim(ARRAY['default', 'inner'], 3); EXCEPTION WHEN OTHERS THEN NULL; END $$"
        )
        conn.execute("COMMIT")
        assert call(other, "check") == []
        _finish_all(conn)
        conn.execute("DELETE FROM turnstile.job")
    _all_room_is_there(conn, 2)


def test_a_trigger_that_claims_and_claims(conn, other):
    """Each claim by the trigger is a claim that the trigger sees: it goes on until nothing may run any more."""
    configure(conn, "tenant", "acme", slots=5)
    _on_start(conn, "AFTER", "PERFORM turnstile.claim_next();")
    made = enqueue_times(conn, 8, kind="outer", tenant="acme")
    for _ in range(3):
        assert claim_next(conn).id == made[0]
        assert rows.counts(other) == {"running": 5, "available": 3}
        is_sound(other)
        conn.execute("SELECT turnstile.release(id, attempt) FROM turnstile.job WHERE state = 'running' ORDER BY id DESC")
        conn.execute("UPDATE turnstile.job SET position = id")
        is_sound(other)


@pytest.mark.parametrize("timing", ["BEFORE", "AFTER"])
def test_a_promotion_amid_exception_blocks(conn, other, timing):
    conn.execute("""CREATE FUNCTION public.on_start() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN PERFORM turnstile.claim_next(); END;
        RETURN NEW; END $$""")
    conn.execute(
        f"CREATE TRIGGER on_start {timing} UPDATE ON turnstile.job FOR EACH ROW WHEN (OLD.state = 'scheduled')"
        " EXECUTE FUNCTION public.on_start()"
    )
    configure(conn, "tenant", "acme", slots=2)
    for _ in range(5):
        enqueue_times(conn, 3, tenant="acme")
        for job_id in enqueue_times(conn, 3, tenant="acme", run_at="2100-01-01"):
            conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() + interval '20 ms' WHERE id = %s", [job_id])
        conn.execute("SELECT pg_sleep(0.03)")
        call(conn, "promote")
        assert call(other, "check") == []
        within(other, {"tenant acme": 2})
        _finish_all(conn)
        conn.execute("DELETE FROM turnstile.job")
    _all_room_is_there(conn, 2)
