"""Triggers that call the extension themselves, and triggers with subtransactions.

A trigger calls verbs in all three ways, also where plain SQL has fired it. It claims from a queue of its own, as what it would find in
the same one depends on what its caller has begun; and not while rescue and promote are tried or the script prepares them, for a claim
of a live queue does their work in passing.
"""

from elements.element import Family

family = Family("nested")
add = family.add
ELEMENTS = family.elements

TAKEN = "CREATE TABLE users.taken (step text, label text, attempt int)"
WHEN = [
    "BEFORE UPDATE",
    "AFTER UPDATE",
    "AFTER INSERT",
    "BEFORE DELETE",
    "AFTER DELETE",
    "AFTER INSERT OR UPDATE OF state",
    "BEFORE INSERT",
]
TAKE = """
    SELECT * INTO run FROM turnstile.claim_next('inner');
    IF run.id IS NOT NULL THEN
        INSERT INTO users.taken VALUES (current_setting('surroundings.step', true), run.payload ->> 'job', run.attempt);
        PERFORM turnstile.complete(run.id, run.attempt);
    END IF;
"""


def function(name: str, body: str) -> str:
    return f"""
        CREATE FUNCTION users.{name}() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            run turnstile.claimed_job;
        BEGIN
            IF coalesce(current_setting('surroundings.step', true), '') !~ 'rescue|promote|by hand' THEN
                {body}
            END IF;
            IF TG_OP = 'DELETE' THEN
                RETURN OLD;
            END IF;
            RETURN NEW;
        END $$"""


def trigger(name: str, condition: str = "pg_trigger_depth() = 0") -> str:
    return f"CREATE TRIGGER {name} <when> ON turnstile.job FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION users.{name}()"


add("claim", TAKEN, function("take", TAKE), trigger("take"), when=WHEN)
add(
    "claim-at-commit",
    TAKEN,
    function("take_late", TAKE),
    "CREATE CONSTRAINT TRIGGER take_late AFTER INSERT OR UPDATE OF state OR DELETE ON turnstile.job DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION users.take_late()",
)
add(
    "claim-undone",
    TAKEN,
    function("try_and_leave", f"BEGIN {TAKE} RAISE EXCEPTION SQLSTATE 'UT010'; EXCEPTION WHEN SQLSTATE 'UT010' THEN END;"),
    trigger("try_and_leave"),
    when=WHEN,
)
add(
    "claim-kept-in-a-block",
    TAKEN,
    function("take_in_block", f"BEGIN {TAKE} EXCEPTION WHEN division_by_zero THEN RAISE; END;"),
    trigger("take_in_block"),
    when=WHEN,
)
add(
    "claim-and-release",
    function(
        "take_and_release",
        "SELECT * INTO run FROM turnstile.claim_next('inner');"
        " IF run.id IS NOT NULL THEN PERFORM turnstile.release(run.id, run.attempt); END IF;",
    ),
    trigger("take_and_release"),
    when=WHEN,
)
add(
    "enqueue",
    function(
        "follow",
        "PERFORM turnstile.enqueue('after',"
        " jsonb_build_object('job', 'after ' || current_setting('surroundings.step', true)), queue => 'after');",
    ),
    trigger("follow", "pg_trigger_depth() = 0 AND <row>.kind = '<kind>'"),
    # The label is that of the step: so only where a step changes one such job.
    when=["AFTER INSERT", "BEFORE UPDATE", "AFTER UPDATE"],
    row=["NEW"],
)
add(
    "block-that-fails",
    "CREATE TABLE users.tried (step text, what text)",
    function(
        "try_and_fail",
        "BEGIN INSERT INTO users.tried VALUES ('never', 'kept'); PERFORM 1 / 0;"
        " EXCEPTION WHEN division_by_zero THEN INSERT INTO users.tried VALUES (current_setting('surroundings.step', true), TG_OP); END;",
    ),
    trigger("try_and_fail"),
    when=WHEN,
)
add(
    "block-that-changes-the-job",
    "ALTER TABLE turnstile.job ADD COLUMN touched int DEFAULT 0",
    function(
        "touch_and_undo",
        "BEGIN UPDATE turnstile.job SET touched = touched + 1, priority = 9 WHERE queue = 'inner'; RAISE EXCEPTION SQLSTATE 'UT011';"
        " EXCEPTION WHEN SQLSTATE 'UT011' THEN END;",
    ),
    trigger("touch_and_undo"),
    when=["BEFORE UPDATE", "AFTER UPDATE", "AFTER INSERT", "AFTER DELETE"],
)
