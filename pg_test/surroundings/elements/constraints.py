"""CHECKs and foreign keys, both ways."""

from elements.element import Family
from script import KINDS

family = Family("constraint")
add = family.add
ELEMENTS = family.elements

JOB = "ALTER TABLE turnstile.job ADD"
HISTORY = "ALTER TABLE turnstile.job_history ADD"

# ---- CHECKs ---------------------------------------------------------------------------------------

add("check-met", f"{JOB} CHECK (attempt >= 0 AND kind <> '')", f"{HISTORY} CHECK (finished_at >= created_at)")
add("check-of-new", f"{JOB} CHECK (kind <> '<kind>' OR queue = 'old') NOT VALID")
add(
    "check-of-running",
    f"{JOB} CHECK (NOT (kind = '<kind>' AND state = '<state>' AND queue <> 'old'))",
    state=["running", "retryable", "scheduled", "available"],
)
add("check-of-attempts", f"{JOB} CHECK (attempt < 2 AND uncounted < 2)")
add(
    "check-of-own",
    f"{JOB} COLUMN votes int DEFAULT 1 CHECK (votes > 0)",
    by_hand={"produced": "UPDATE turnstile.job SET votes = 0 WHERE kind = '<kind>'"},
)
add(
    "check-by-function",
    "CREATE FUNCTION users.fits(kind text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN kind <> '<kind>'; END $$",
    f"{JOB} CHECK (users.fits(kind) OR queue = 'old')",
)
add("check-of-table", f"{JOB} CHECK (tableoid = 'turnstile.job'::regclass)", f"{HISTORY} CHECK (tableoid <> 'turnstile.job_history'::regclass)")
add("check-of-history", f"{HISTORY} CHECK (kind <> '<kind>' OR queue = 'old')")
add(
    "check-of-history-state",
    f"{HISTORY} CHECK (state <> '<state>' OR queue = 'old')",
    state=["completed", "cancelled", "discarded"],
)
add(
    "check-of-today",
    "DO $$ BEGIN EXECUTE format('ALTER TABLE %s ADD CHECK (kind <> ''<kind>'' OR queue = ''old'')', users.today()); END $$",
)
add(
    "check-of-history-column",
    f"{HISTORY} COLUMN stars int DEFAULT 5 CHECK (stars > 3)",
    f"{JOB} COLUMN stars int DEFAULT 4",
    by_hand={"produced": "UPDATE turnstile.job SET stars = 1 WHERE kind = '<kind>'"},
)

# ---- Foreign keys ---------------------------------------------------------------------------------

PARENT = "CREATE TABLE users.team (id int PRIMARY KEY, name text); INSERT INTO users.team VALUES (1, 'one'), (2, 'two')"
EACH_KIND = f"SELECT unnest('{{{','.join(KINDS)},move,inner}}'::text[])"
ON_DELETE = ["CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION", "RESTRICT", "NO ACTION DEFERRABLE INITIALLY DEFERRED"]

add(
    "to-a-team",
    PARENT,
    f"{JOB} COLUMN team int DEFAULT 1 REFERENCES users.team ON DELETE <action>",
    by_hand={
        "produced": "UPDATE turnstile.job SET team = 2 WHERE kind IN ('<kind>', 'mail')",
        "claimed": "DELETE FROM users.team WHERE id = 2",
    },
    action=ON_DELETE,
)
add(
    "to-nobody",
    PARENT,
    f"{JOB} COLUMN squad int REFERENCES users.team <when>",
    "ALTER TABLE turnstile.job ALTER COLUMN squad SET DEFAULT 9",
    when=["", "DEFERRABLE INITIALLY DEFERRED"],
)
add(
    "of-tenants",
    "CREATE TABLE users.customer (name text PRIMARY KEY); INSERT INTO users.customer VALUES ('acme')",
    f"{JOB} FOREIGN KEY (tenant) REFERENCES users.customer ON UPDATE CASCADE",
    by_hand={"claimed": "UPDATE users.customer SET name = 'acme & sons'"},
)
add(
    "of-kinds",
    "CREATE TABLE users.kind (name text PRIMARY KEY); INSERT INTO users.kind SELECT kind FROM turnstile.job",
    f"INSERT INTO users.kind {EACH_KIND} ON CONFLICT DO NOTHING",
    f"{JOB} FOREIGN KEY (kind) REFERENCES users.kind NOT VALID",
    "DELETE FROM users.kind WHERE name = '<kind>' AND NOT EXISTS (SELECT FROM turnstile.job WHERE kind = name)",
)
add(
    "history-of-kinds",
    "CREATE TABLE users.sort (name text PRIMARY KEY)",
    f"INSERT INTO users.sort {EACH_KIND}",
    f"{HISTORY} FOREIGN KEY (kind) REFERENCES users.sort",
    "DELETE FROM users.sort WHERE name = '<kind>' AND NOT EXISTS (SELECT FROM turnstile.job_history WHERE kind = name)",
)
add(
    "of-parts",
    "CREATE TABLE users.part (job_id bigint DEFAULT NULL REFERENCES turnstile.job ON DELETE <action>, what text)",
    by_hand={"produced": "INSERT INTO users.part SELECT id, kind FROM turnstile.job WHERE kind IN ('<kind>', 'mail', 'wipe')"},
    action=ON_DELETE,
)
add(
    "to-another-job",
    f"{JOB} COLUMN after_job bigint REFERENCES turnstile.job ON DELETE <action>",
    by_hand={
        "produced": "UPDATE turnstile.job SET after_job = (SELECT min(id) FROM turnstile.job WHERE queue = 'main')"
        " WHERE kind = '<kind>' AND queue <> 'main'"
    },
    # An id, which no two databases have in common once calls were refused.
    volatile="after_job",
    action=ON_DELETE,
)
add(
    "of-history-parts",
    "CREATE TABLE users.bit (job_id bigint REFERENCES turnstile.job DEFERRABLE)",
    "CREATE INDEX ON users.bit (job_id)",
    by_hand={"claimed": "INSERT INTO users.bit SELECT id FROM turnstile.job WHERE state = 'running' AND kind = '<kind>'"},
)
