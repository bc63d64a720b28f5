"""Triggers on turnstile.job. Most note what they see; what they note must be the same in all ways."""

from elements.element import Family

family = Family("trigger")
add = family.add
ELEMENTS = family.elements

CREATE = "CREATE TRIGGER"
NOTE = "EXECUTE FUNCTION users.note()"
EVENTS = ["INSERT", "UPDATE", "DELETE", "INSERT OR DELETE", "UPDATE OR DELETE", "INSERT OR UPDATE OR DELETE"]
# Some fire before the extension's own triggers and some behind.
NAMES = ["a_note", "pq_note", "z_note"]


def function(name: str, body: str, declare: str = "") -> str:
    return (
        f"CREATE FUNCTION users.{name}() RETURNS trigger LANGUAGE plpgsql AS $$ {declare} BEGIN {body};"
        " IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$"
    )


def on(name: str, when: str, what: str = "FOR EACH ROW") -> str:
    return f"{CREATE} {name} {when} ON turnstile.job {what}"


add("before", on("<name>", "BEFORE <events>", f"FOR EACH ROW {NOTE}"), name=NAMES, events=EVENTS)
add("after", on("<name>", "AFTER <events>", f"FOR EACH ROW {NOTE}"), name=NAMES, events=EVENTS)
add(
    "of-columns",
    on("<name>", "<when> UPDATE OF <columns>", f"FOR EACH ROW {NOTE}"),
    name=NAMES,
    when=["BEFORE", "AFTER"],
    columns=["state", "priority", "progress", "lease_expires_at", "attempt, errors", "payload"],
)
add(
    "with-condition",
    on("<name>", "<when> UPDATE", f"FOR EACH ROW WHEN (<condition>) {NOTE}"),
    name=NAMES,
    when=["BEFORE", "AFTER"],
    condition=[
        "NEW.state = 'running'",
        "OLD.state IS DISTINCT FROM NEW.state",
        "NEW.kind = '<kind>'",
        "OLD.* IS DISTINCT FROM NEW.*",
    ],
)
add("that-never-fires", on("<name>", "AFTER INSERT OR DELETE", f"FOR EACH ROW WHEN (false) {NOTE}"), name=NAMES)
add(
    "of-statements",
    on("<name>", "<when> <events>", f"FOR EACH STATEMENT {NOTE}"),
    name=NAMES,
    when=["BEFORE", "AFTER"],
    events=EVENTS,
)
add(
    "deferred",
    f"CREATE CONSTRAINT TRIGGER <name> AFTER <events> ON turnstile.job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW {NOTE}",
    name=NAMES,
    events=EVENTS,
)
add(
    "of-replicas",
    on("<name>", "AFTER INSERT OR UPDATE", f"FOR EACH ROW {NOTE}"),
    "ALTER TABLE turnstile.job ENABLE <mode> TRIGGER <name>",
    name=NAMES,
    mode=["REPLICA", "ALWAYS"],
)
add(
    "disabled",
    on("<name>", "BEFORE <events>", f"FOR EACH ROW {NOTE}"),
    "ALTER TABLE turnstile.job DISABLE TRIGGER <name>",
    name=NAMES,
    events=EVENTS,
)

# ---- Transition tables ----------------------------------------------------------------------------

TRANSITIONS = (
    "CREATE FUNCTION users.note_all() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " INSERT INTO users.log (trigger, event, relation, old, new) {}; RETURN NULL; END $$"
)
HEAD = "SELECT TG_NAME, 'AFTER ' || TG_OP, users.relation_of(TG_TABLE_NAME)"

add(
    "sees-inserted",
    TRANSITIONS.format(f"{HEAD}, NULL, to_jsonb(n) FROM n"),
    on("sees", "AFTER INSERT", "REFERENCING NEW TABLE AS n FOR EACH <level> EXECUTE FUNCTION users.note_all()"),
    level=["STATEMENT"],
)
add(
    "sees-updated",
    TRANSITIONS.format(f"{HEAD}, to_jsonb(o), NULL FROM o UNION ALL {HEAD}, NULL, to_jsonb(n) FROM n"),
    on("sees", "AFTER UPDATE", "REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION users.note_all()"),
)
add(
    "sees-deleted",
    TRANSITIONS.format(f"{HEAD}, to_jsonb(o), NULL FROM o"),
    on("sees", "AFTER DELETE", "REFERENCING OLD TABLE AS o EXECUTE FUNCTION users.note_all()"),
)
add(
    "rows-see-the-others",
    function(
        "count_others",
        "INSERT INTO users.log (trigger, event, relation, old, new)"
        " SELECT TG_NAME, 'AFTER UPDATE', TG_TABLE_NAME, NULL, to_jsonb(n) FROM n WHERE n.id = NEW.id",
    ),
    on("sees", "AFTER UPDATE", "REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION users.count_others()"),
)

# ---- That change rows -----------------------------------------------------------------------------

add(
    "changes-own",
    "ALTER TABLE turnstile.job ADD COLUMN changes int NOT NULL DEFAULT 0",
    function("count_changes", "NEW.changes := NEW.changes + 1"),
    on("<name>", "BEFORE <event>", "FOR EACH ROW EXECUTE FUNCTION users.count_changes()"),
    name=["a_count", "z_count"],
    event=["INSERT", "UPDATE", "INSERT OR UPDATE", "UPDATE OF state"],
)
add(
    "hurries",
    function("hurry", "NEW.priority := -1"),
    on("a_hurry", "BEFORE INSERT", "FOR EACH ROW WHEN (NEW.kind = '<kind>') EXECUTE FUNCTION users.hurry()"),
)
add(
    "hurries-late",
    function("hurry_late", "NEW.priority := -1"),
    on("z_hurry", "BEFORE <event>", "FOR EACH ROW WHEN (NEW.kind = '<kind>') EXECUTE FUNCTION users.hurry_late()"),
    event=["INSERT", "UPDATE"],
)
add(
    "adds-metadata",
    function("stamp", "NEW.metadata := coalesce(NEW.metadata, '{}') || '{\"stamp\": 1}'"),
    on("<name>", "BEFORE INSERT OR UPDATE", "FOR EACH ROW EXECUTE FUNCTION users.stamp()"),
    name=["a_stamp", "z_stamp"],
)
add(
    "updates-the-same-row",
    "ALTER TABLE turnstile.job ADD COLUMN seen int DEFAULT 0",
    function(
        "see",
        "IF pg_trigger_depth() = 1 THEN UPDATE turnstile.job SET seen = seen + 1 WHERE id = coalesce(NEW.id, OLD.id); END IF",
    ),
    on("see", "<when>", "FOR EACH ROW EXECUTE FUNCTION users.see()"),
    when=["BEFORE UPDATE", "BEFORE DELETE", "AFTER INSERT", "AFTER UPDATE", "AFTER INSERT OR UPDATE"],
)
add(
    "deletes-the-same-row",
    function("remove", "DELETE FROM turnstile.job WHERE id = NEW.id"),
    on("remove", "<when>", "FOR EACH ROW WHEN (NEW.kind = '<kind>') EXECUTE FUNCTION users.remove()"),
    when=["BEFORE UPDATE", "AFTER INSERT"],
)
add(
    "changes-another-table",
    "CREATE TABLE users.tally (kind text PRIMARY KEY, times int)",
    function(
        "tally",
        "INSERT INTO users.tally VALUES (coalesce(NEW.kind, OLD.kind), 1)"
        " ON CONFLICT (kind) DO UPDATE SET times = tally.times + 1",
    ),
    on("tally", "AFTER <events>", "FOR EACH ROW EXECUTE FUNCTION users.tally()"),
    events=["INSERT", "UPDATE OF state", "DELETE", "INSERT OR UPDATE OR DELETE"],
)

# ---- That refuse or cancel ------------------------------------------------------------------------

add(
    "refuses",
    function("refuse", "RAISE EXCEPTION 'no' USING ERRCODE = '<code>'"),
    on("<name>", "<when> <event>", "FOR EACH ROW WHEN (<row>.kind = '<kind>') EXECUTE FUNCTION users.refuse()").replace(
        "<row>.kind", "<row>kind"
    ),
    name=NAMES,
    when=["BEFORE", "AFTER"],
    code=["UT001", "P0001", "23514", "40001", "55000", "P0002"],
    event=["UPDATE", "UPDATE OF state"],
    row=["NEW.", "OLD."],
)
add(
    "refuses-new",
    function("refuse_new", "RAISE EXCEPTION 'no' USING ERRCODE = 'UT002'"),
    on("<name>", "<when> INSERT", "FOR EACH ROW WHEN (NEW.kind = '<kind>') EXECUTE FUNCTION users.refuse_new()"),
    name=NAMES,
    when=["BEFORE", "AFTER"],
)
add(
    "refuses-ends",
    function("refuse_end", "RAISE EXCEPTION 'no' USING ERRCODE = 'UT003'"),
    on("<name>", "<when> DELETE", "FOR EACH ROW WHEN (OLD.kind = '<kind>') EXECUTE FUNCTION users.refuse_end()"),
    name=NAMES,
    when=["BEFORE", "AFTER"],
)
add(
    "refuses-at-commit",
    function("refuse_late", "RAISE EXCEPTION 'no' USING ERRCODE = 'UT004'"),
    "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON turnstile.job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
    " WHEN (NEW.kind = '<kind>' AND NEW.state = 'running') EXECUTE FUNCTION users.refuse_late()",
)
CANCEL = "CREATE FUNCTION users.cancel() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
add(
    "cancels-new",
    CANCEL,
    on("a_cancel", "BEFORE INSERT", "FOR EACH ROW WHEN (NEW.kind = '<kind>') EXECUTE FUNCTION users.cancel()"),
)
add(
    "cancels-changes",
    CANCEL,
    on("a_cancel", "BEFORE UPDATE", "FOR EACH ROW WHEN (NEW.kind = '<kind>' AND <condition>) EXECUTE FUNCTION users.cancel()"),
    condition=["true", "NEW.state = 'running'", "OLD.state = 'running'"],
)
add(
    "cancels-ends",
    CANCEL,
    on("a_cancel", "BEFORE DELETE", "FOR EACH ROW WHEN (OLD.kind = '<kind>') EXECUTE FUNCTION users.cancel()"),
)
