"""Functions called from cursors, sets, triggers, DO blocks and exception blocks: each claims what it hands out."""

import psycopg
import pytest

from faults.witness import has_each_once, is_sound, run_to_the_end, within
from support.calls import claim_all, claim_next, complete, enqueue, enqueue_times, ids
from support.settings import configure

LIMIT = {"queue default": 4}


@pytest.fixture
def made(conn) -> list[int]:
    configure(conn, "queue", "default", max_running=LIMIT["queue default"])
    return enqueue_times(conn, 12)


def _all_is_well(conn, made) -> None:
    is_sound(conn)
    within(conn, LIMIT)
    run_to_the_end(conn, ["default"], LIMIT)
    is_sound(conn)
    has_each_once(conn, made)


def test_claims_in_the_select_list_of_a_set_stop_at_the_limit(conn, made):
    rows = conn.execute("SELECT (turnstile.claim_next()).id FROM generate_series(1, 10)").fetchall()
    assert rows
    running = conn.execute("SELECT id FROM turnstile.job WHERE state = 'running' ORDER BY id").fetchall()
    assert [row[0] for row in running] == made[:4]
    _all_is_well(conn, made)


def test_claim_next_for_each_row_hands_each_job_out_once(conn, made):
    query = "SELECT (s.c).id FROM (SELECT turnstile.claim_next() AS c FROM generate_series(1, 10) OFFSET 0) s"
    rows = conn.execute(query).fetchall()
    assert [row[0] for row in rows] == made[:4]
    _all_is_well(conn, made)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_cursor_over_a_claim_that_is_not_read_to_its_end(conn, other, made, end):
    """What a cursor has not fetched is claimed none the less or not at all: its commit decides for what was."""
    conn.execute("BEGIN; DECLARE c CURSOR FOR SELECT * FROM turnstile.claim(ARRAY['default'], 3)")
    fetched = conn.execute("FETCH 1 FROM c").fetchall()
    assert [row[0] for row in fetched] == made[:1]
    is_sound(other)
    conn.execute("CLOSE c")
    conn.execute(end)
    is_sound(other)
    running = [row[0] for row in conn.execute("SELECT id FROM turnstile.job WHERE state = 'running' ORDER BY id")]
    assert running in ([made[:1], made[:3]] if end == "COMMIT" else [[]])
    _all_is_well(conn, made)


def test_a_cursor_made_before_a_savepoint_that_is_rolled_back(conn, other, made):
    conn.execute("BEGIN; DECLARE c CURSOR FOR SELECT * FROM turnstile.claim_next()")
    conn.execute("SAVEPOINT s")
    assert [row[0] for row in conn.execute("FETCH 1 FROM c").fetchall()] == made[:1]
    conn.execute("ROLLBACK TO SAVEPOINT s")
    is_sound(other)
    conn.execute("COMMIT")
    is_sound(other)
    assert ids(claim_all(other)) == made[:4]
    _all_is_well(conn, made)


def test_exception_blocks_undo_what_was_done_inside(conn, other, made):
    conn.execute(
        """
        DO $$
        DECLARE run turnstile.claimed_job;
        BEGIN
            FOR i IN 1..20 LOOP
                BEGIN
                    SELECT * INTO run FROM turnstile.claim_next();
                    PERFORM turnstile.enqueue('lost');
                    IF i % 2 = 0 THEN
                        PERFORM turnstile.complete(run.id, run.attempt);
                    END IF;
                    IF i % 4 <> 0 THEN
                        RAISE EXCEPTION 'undo';
                    END IF;
                EXCEPTION WHEN raise_exception THEN
                    NULL;
                END;
            END LOOP;
        END $$
        """
    )
    is_sound(other)
    done = [row[0] for row in conn.execute("SELECT id FROM turnstile.job_history ORDER BY id")]
    assert done == made[:5]
    lost = [row[0] for row in conn.execute("SELECT id FROM turnstile.job WHERE kind = 'lost'")]
    assert len(lost) == 5
    _all_is_well(conn, [*made, *lost])


def test_errors_of_the_functions_caught_in_blocks(conn, other, made):
    """A claim beyond the limit, an unknown job, a superseded run: each is undone alone."""
    conn.execute(
        """
        DO $$
        DECLARE run turnstile.claimed_job;
        BEGIN
            FOR i IN 1..10 LOOP
                BEGIN
                    SELECT * INTO run FROM turnstile.claim_next();
                    PERFORM turnstile.complete(run.id, run.attempt + 1);
                EXCEPTION WHEN object_not_in_prerequisite_state THEN
                    NULL;
                END;
                BEGIN
                    SELECT * INTO run FROM turnstile.claim_next();
                    PERFORM turnstile.fail(-1, 1);
                EXCEPTION WHEN no_data_found THEN
                    NULL;
                END;
            END LOOP;
        END $$
        """
    )
    is_sound(other)
    assert ids(claim_all(other)) == made[:4]
    _all_is_well(conn, made)


def test_functions_called_from_triggers_follow_their_statement(conn, other, made):
    conn.execute(
        """
        CREATE TABLE orders (n int);
        CREATE FUNCTION ordered() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE run turnstile.claimed_job;
        BEGIN
            SELECT * INTO run FROM turnstile.claim_next();
            IF NEW.n % 2 = 0 THEN
                PERFORM turnstile.complete(run.id, run.attempt);
            END IF;
            PERFORM turnstile.enqueue('order', jsonb_build_object('n', NEW.n));
            RETURN NEW;
        END $$;
        CREATE TRIGGER ordered AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION ordered()
        """
    )
    with pytest.raises(psycopg.errors.DivisionByZero):
        conn.execute("INSERT INTO orders SELECT n / (4 - n) FROM generate_series(1, 4) n")
    is_sound(other)
    has_each_once(conn, made)
    conn.execute("INSERT INTO orders SELECT generate_series(1, 4)")
    is_sound(other)
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE state = 'running'").fetchone() == (2,)
    orders = [row[0] for row in conn.execute("SELECT id FROM turnstile.job WHERE kind = 'order'")]
    assert len(orders) == 4
    _all_is_well(conn, [*made, *orders])


def test_a_procedure_that_commits_between_its_claims(conn, other, made):
    conn.execute(
        """
        CREATE PROCEDURE work_off() LANGUAGE plpgsql AS $$
        DECLARE run turnstile.claimed_job;
        BEGIN
            LOOP
                SELECT * INTO run FROM turnstile.claim_next();
                EXIT WHEN run.id IS NULL;
                IF run.id % 3 = 0 AND run.attempt < 2 THEN
                    COMMIT;
                    PERFORM turnstile.release(run.id, run.attempt);
                    COMMIT;
                    CONTINUE;
                END IF;
                PERFORM turnstile.complete(run.id, run.attempt);
                COMMIT;
            END LOOP;
        END $$
        """
    )
    conn.execute("CALL work_off()")
    is_sound(other)
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)
    has_each_once(conn, made)


def test_own_uncommitted_jobs_are_not_eligible_in_any_mixture(conn, other, made):
    conn.execute("BEGIN")
    urgent = enqueue(conn, priority=-9)
    runs = claim_all(conn)
    assert ids(runs) == made[:4]
    conn.execute("UPDATE turnstile.job SET priority = -8 WHERE id = %s", [made[8]])
    assert complete(conn, runs[0]) is True
    freed = claim_next(conn)
    assert freed.id == made[4]
    is_sound(other)
    conn.execute("COMMIT")
    assert complete(conn, freed) is True
    assert ids(claim_all(other)) == [urgent]
    _all_is_well(conn, [*made, urgent])
