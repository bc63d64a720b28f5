"""Triggers and partitions of turnstile.job_history."""

from elements.element import Family
from elements.triggers import CANCEL, HEAD, TRANSITIONS, function

family = Family("history")
add = family.add
ELEMENTS = family.elements

NOTE = "EXECUTE FUNCTION users.note()"
# On the whole, or on the partition of today.
PLACES = ["turnstile.job_history", "%s"]


def on(name: str, when: str, what: str) -> str:
    return f"DO $$ BEGIN EXECUTE format('CREATE TRIGGER {name} {when} ON <place> {what}', users.today()); END $$"


add("before", on("note", "BEFORE INSERT", f"FOR EACH ROW {NOTE}"), place=PLACES)
add("after", on("note", "AFTER INSERT", f"FOR EACH ROW {NOTE}"), place=PLACES)
add("of-statements", on("note", "<when> INSERT", f"FOR EACH STATEMENT {NOTE}"), when=["BEFORE", "AFTER"], place=PLACES[:1])
add(
    "with-condition",
    on("note", "<when> INSERT", f"FOR EACH ROW WHEN (NEW.state = ''<state>'') {NOTE}"),
    when=["BEFORE", "AFTER"],
    state=["completed", "cancelled", "discarded"],
    place=PLACES,
)
add(
    "deferred",
    on("note", "AFTER INSERT", f"DEFERRABLE INITIALLY DEFERRED FOR EACH ROW {NOTE}").replace(
        "CREATE TRIGGER", "CREATE CONSTRAINT TRIGGER"
    ),
    place=PLACES,
)
add(
    "sees-inserted",
    TRANSITIONS.format(f"{HEAD}, NULL, to_jsonb(n) FROM n").replace("note_all", "note_finished"),
    on("sees", "AFTER INSERT", "REFERENCING NEW TABLE AS n EXECUTE FUNCTION users.note_finished()"),
    place=PLACES[:1],
)
add(
    "changes-result",
    function("judge", "NEW.result := '{\"judged\": true}'"),
    on("judge", "BEFORE INSERT", "FOR EACH ROW EXECUTE FUNCTION users.judge()"),
    place=PLACES,
)
add(
    "changes-own",
    "ALTER TABLE turnstile.job_history ADD COLUMN verdict text",
    function("rule", "NEW.verdict := NEW.kind || NEW.attempt"),
    on("rule", "BEFORE INSERT", "FOR EACH ROW EXECUTE FUNCTION users.rule()"),
    place=PLACES,
)
add(
    "cancels",
    CANCEL.replace("users.cancel", "users.lose"),
    on("lose", "BEFORE INSERT", "FOR EACH ROW WHEN (NEW.kind = ''<kind>'') EXECUTE FUNCTION users.lose()"),
    place=PLACES,
)
add(
    "refuses",
    function("refuse_past", "RAISE EXCEPTION 'no' USING ERRCODE = 'UT005'"),
    on("refuse", "<when> INSERT", "FOR EACH ROW WHEN (NEW.kind = ''<kind>'') EXECUTE FUNCTION users.refuse_past()"),
    when=["BEFORE", "AFTER"],
    place=PLACES,
)
add(
    "enqueues",
    function(
        "follow_up",
        "PERFORM turnstile.enqueue('follow',"
        " jsonb_build_object('job', 'follow ' || (NEW.payload ->> 'job') || NEW.attempt), queue => 'follow')",
    ),
    on("follow_up", "<when> INSERT", "FOR EACH ROW WHEN (NEW.kind = ''<kind>'') EXECUTE FUNCTION users.follow_up()"),
    when=["BEFORE", "AFTER"],
    place=PLACES,
)
add(
    "block-that-fails",
    function("try_past", "BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN END"),
    on("try_past", "<when> INSERT", "FOR EACH ROW EXECUTE FUNCTION users.try_past()"),
    when=["BEFORE", "AFTER"],
    place=PLACES,
)

# ---- Partitions -----------------------------------------------------------------------------------


def instead_of_today(make: str) -> str:
    """Another partition for the rest of the day; what the script has finished before goes along."""
    return f"""
        DO $$
        DECLARE
            today text := users.today();
            bounds turnstile.history_partition;
        BEGIN
            SELECT * INTO bounds FROM turnstile.history_partition WHERE partition = today::regclass;
            EXECUTE format('ALTER TABLE turnstile.job_history DETACH PARTITION %s', today);
            {make}
            EXECUTE format('INSERT INTO turnstile.job_history SELECT * FROM %s; DROP TABLE %s', today, today);
        END $$"""


ATTACH = """
    EXECUTE format('ALTER TABLE turnstile.job_history ATTACH PARTITION users.history_today FOR VALUES FROM (%L) TO (%L)',
        bounds.begins, bounds.ends);"""

add(
    "partition-in-other-order",
    instead_of_today(f"""
        CREATE TABLE users.history_today (result jsonb, finished_at timestamptz NOT NULL, gone int, state text NOT NULL, id bigint NOT NULL);
        EXECUTE (
            SELECT 'ALTER TABLE users.history_today ' || string_agg(format('ADD COLUMN %I %s %s', attname,
                format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'NOT NULL' END), ', ' ORDER BY attnum DESC)
            FROM pg_attribute
            WHERE attrelid = 'turnstile.job_history'::regclass AND attnum > 0 AND NOT attisdropped
                AND attname NOT IN ('result', 'finished_at', 'state', 'id')
        );
        ALTER TABLE users.history_today DROP COLUMN gone;
        {ATTACH}"""),
)
add(
    "partition-with-partitions",
    instead_of_today(f"""
        CREATE TABLE users.history_today (LIKE turnstile.job_history INCLUDING DEFAULTS) PARTITION BY LIST (state);
        CREATE TABLE users.history_done PARTITION OF users.history_today FOR VALUES IN ('completed');
        CREATE TABLE users.history_other PARTITION OF users.history_today DEFAULT;
        {ATTACH}"""),
)
add(
    "partition-too-narrow",
    instead_of_today(
        f"""
        CREATE TABLE users.history_today (LIKE turnstile.job_history);
        ALTER TABLE users.history_today ADD CHECK (kind <> '<kind>' OR queue = 'old');
        {ATTACH}"""
    ),
)
add("no-partition", instead_of_today(""))
add(
    "no-partition-at-all",
    instead_of_today(""),
    "DELETE FROM turnstile.job_history",
    "ALTER TABLE turnstile.job_history DETACH PARTITION turnstile.job_history_default",
)
add("partition-unlogged", "DO $$ BEGIN EXECUTE format('ALTER TABLE %s SET UNLOGGED', users.today()); END $$")
FOREIGN = f"""
    CREATE EXTENSION postgres_fdw;
    EXECUTE format('CREATE SERVER itself FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)',
        current_setting('unix_socket_directories'), current_setting('port'), current_database());
    CREATE USER MAPPING FOR PUBLIC SERVER itself OPTIONS (user 'postgres', password_required 'false');
    EXECUTE (
        SELECT format('CREATE FOREIGN TABLE users.history_today (%s) SERVER itself OPTIONS (schema_name ''users'', table_name ''far_away'')',
            string_agg(format('%I %s %s', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'NOT NULL' END), ', '))
        FROM pg_attribute
        WHERE attrelid = 'turnstile.job_history'::regclass AND attnum > 0 AND NOT attisdropped
    );
    {ATTACH}"""
add("partition-far-away", "CREATE TABLE users.far_away (LIKE turnstile.job_history)", instead_of_today(FOREIGN))
