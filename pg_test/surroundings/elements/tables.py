"""What users do to the tables as a whole: partitions, inheritance, policies, publications, rules, storage, defaults."""

from elements.element import Family

family = Family("table")
add = family.add
ELEMENTS = family.elements

# ---- Part of others -------------------------------------------------------------------------------

ALL = "CREATE TABLE users.all_jobs (LIKE turnstile.job INCLUDING DEFAULTS) PARTITION BY {}"
ATTACH = "ALTER TABLE users.all_jobs ATTACH PARTITION turnstile.job"

add("partition-by-default", ALL.format("LIST (queue)"), f"{ATTACH} DEFAULT")
add(
    "partition-by-queue",
    ALL.format("LIST (queue)"),
    f"{ATTACH} FOR VALUES IN ('old', 'main', 'side', 'inner', 'after', 'follow'<more>)",
    more=["", ", 'bulk'", ", 'bulk', 'elsewhere'"],
)
add("partition-by-attempt", ALL.format("RANGE (attempt)"), f"{ATTACH} FOR VALUES FROM (0) TO (2)")
add(
    "partition-by-state",
    ALL.format("LIST (state)"),
    f"{ATTACH} FOR VALUES IN ('available', 'scheduled', 'running'<more>)",
    "ALTER TABLE users.all_jobs ADD CHECK (attempt >= 0)",
    more=[", 'retryable'"],
)
add(
    "partition-by-kind",
    ALL.format("LIST (kind)"),
    "DELETE FROM turnstile.job WHERE kind = '<kind>'",
    "CREATE TABLE users.apart PARTITION OF users.all_jobs FOR VALUES IN ('<kind>')",
    f"{ATTACH} DEFAULT",
)
add(
    "partition-with-triggers",
    ALL.format("LIST (queue)"),
    f"{ATTACH} DEFAULT",
    "CREATE TRIGGER upper <when> <events> ON users.all_jobs FOR EACH ROW EXECUTE FUNCTION users.note()",
    "CREATE INDEX ON users.all_jobs (kind)",
    when=["BEFORE", "AFTER"],
    events=["INSERT", "UPDATE", "DELETE", "INSERT OR UPDATE OR DELETE"],
)
add("child", "CREATE TABLE users.special_job (extra int) INHERITS (turnstile.job)")
add(
    "parent",
    "CREATE TABLE users.base (kind text NOT NULL, priority int NOT NULL)",
    "CREATE INDEX ON users.base (kind)",
    "ALTER TABLE turnstile.job INHERIT users.base",
)

# ---- Policies -------------------------------------------------------------------------------------

# None hides a row from the owner: the extension could not count what it cannot see.
# An owner whom policies concern, and who may do no more than own these.
TO_AN_OWNER = """
    DO $$
    DECLARE
        command text;
    BEGIN
        FOR command IN
            SELECT format('ALTER %s %s OWNER TO surroundings_owner', CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, oid::regclass)
            FROM pg_class WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p', 'v')
            UNION ALL
            SELECT format('ALTER ROUTINE %s OWNER TO surroundings_owner', oid::regprocedure)
            FROM pg_proc WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)
        LOOP
            EXECUTE command;
        END LOOP;
        ALTER SCHEMA turnstile OWNER TO surroundings_owner;
        ALTER SCHEMA turnstile_internal OWNER TO surroundings_owner;
    END $$"""
POLICY = "CREATE POLICY one ON turnstile.job"
FORCED = ["ALTER TABLE turnstile.job ENABLE ROW LEVEL SECURITY", "ALTER TABLE turnstile.job FORCE ROW LEVEL SECURITY"]

add("another-owner", TO_AN_OWNER)
add("policy-passed-by-a-superuser", f"{POLICY} USING (false)", *FORCED)
add("policy-not-forced", TO_AN_OWNER, f"{POLICY} USING (kind <> '<kind>')", FORCED[0])
add("policy-of-all", TO_AN_OWNER, f"{POLICY} USING (true)", *FORCED)
add("policy-of-new", TO_AN_OWNER, f"{POLICY} USING (true) WITH CHECK (kind <> '<kind>')", *FORCED)
add(
    "policy-of-running",
    TO_AN_OWNER,
    f"{POLICY} USING (true) WITH CHECK (kind <> '<kind>' OR state <> '<state>')",
    *FORCED,
    state=["running", "retryable", "scheduled"],
)
add(
    "policy-of-history",
    TO_AN_OWNER,
    "CREATE POLICY one ON turnstile.job_history USING (true) WITH CHECK (kind <> '<kind>')",
    "ALTER TABLE turnstile.job_history ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE turnstile.job_history FORCE ROW LEVEL SECURITY",
)

# ---- Publications ---------------------------------------------------------------------------------

add("published-with-all", "CREATE PUBLICATION everything FOR ALL TABLES")
add(
    "published",
    "CREATE PUBLICATION jobs FOR TABLE <tables>",
    tables=[
        "turnstile.job",
        "turnstile.job_history",
        "turnstile.job, turnstile.job_history",
        "turnstile.job (id, kind, state)",
        "turnstile.job WHERE (id > 0)",
    ],
)
add(
    "published-by-rows", "CREATE PUBLICATION jobs_of_kind FOR TABLE turnstile.job WHERE (kind <> '<kind>')", of_statements="42P10"
)
add(
    "published-without-identity",
    "ALTER TABLE turnstile.job REPLICA IDENTITY NOTHING",
    "CREATE PUBLICATION of_jobs FOR TABLE turnstile.job WITH (publish = '<events>')",
    of_statements="55000",
    events=["insert", "update, delete", "insert, update, delete"],
)
add(
    "replica-identity",
    "ALTER TABLE turnstile.job REPLICA IDENTITY <identity>",
    identity=["FULL", "NOTHING", "USING INDEX job_pkey"],
)

# Rules are not among them: where there are some PostgreSQL allows neither data-modifying WITH nor ON CONFLICT (0A000), and several
# calls are such statements. docs/operations.md says so.

# ---- Storage, defaults and the rest ---------------------------------------------------------------

add(
    "fillfactor",
    "ALTER TABLE turnstile.job SET (fillfactor = <factor>)",
    "DO $$ BEGIN EXECUTE format('ALTER TABLE %s SET (fillfactor = 20)', users.today()); END $$",
    factor=["10", "50", "100"],
)
add(
    "storage",
    "ALTER TABLE turnstile.job ALTER COLUMN payload SET STORAGE <storage>",
    "ALTER TABLE turnstile.job_history ALTER COLUMN payload SET STORAGE PLAIN",
    storage=["EXTERNAL", "MAIN"],
)
add(
    "toast-target",
    "ALTER TABLE turnstile.job SET (toast_tuple_target = 256)",
    "ALTER TABLE turnstile.job ALTER COLUMN metadata SET COMPRESSION pglz",
)
add("unlogged", "ALTER TABLE turnstile.job SET UNLOGGED")
add(
    "rewritten",
    "ALTER TABLE turnstile.job SET UNLOGGED",
    "ALTER TABLE turnstile.job SET LOGGED",
    "CLUSTER turnstile.job USING job_pkey",
    "VACUUM FULL turnstile.job_history",
)
add("statistics", "CREATE STATISTICS users.of_jobs ON queue, kind, lower(state) FROM turnstile.job", "ANALYZE turnstile.job")
add(
    "other-defaults",
    "ALTER TABLE turnstile.job ALTER COLUMN <change>",
    change=[
        "priority SET DEFAULT 7",
        "max_attempts SET DEFAULT 1",
        'payload SET DEFAULT \'{"job": "by default"}\'',
        "metadata SET DEFAULT '{}'",
        "tenant SET DEFAULT 'acme'",
        "uncounted SET DEFAULT 0",
    ],
)
add(
    "comment-and-rights",
    "COMMENT ON TABLE turnstile.job IS 'ours'",
    "GRANT SELECT ON turnstile.job TO PUBLIC",
    "REVOKE ALL ON turnstile.job_history FROM PUBLIC",
)
add(
    "view-with-check",
    "CREATE VIEW users.waiting AS SELECT * FROM turnstile.job WHERE state <> 'running' WITH CHECK OPTION",
)

# ---- Settings -------------------------------------------------------------------------------------

add("bounded-queues", "UPDATE turnstile.queue SET max_waiting = <most>", most=["1", "3", "6"])
add("bounded-tenant", "UPDATE turnstile.tenant SET max_waiting = <most>", most=["1", "2"])
