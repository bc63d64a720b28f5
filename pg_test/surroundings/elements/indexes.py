"""Indexes and constraints that are indexes."""

from elements.element import Family

family = Family("index")
add = family.add
ELEMENTS = family.elements

TODAY = "DO $$ BEGIN EXECUTE format('{}', users.today()); END $$"
UNWELCOME = (
    "CREATE FUNCTION users.unwelcome(kind text) RETURNS int LANGUAGE plpgsql IMMUTABLE"
    " AS $$ BEGIN RETURN 1 / (kind <> '<kind>')::int; END $$"
)

add("plain", "CREATE INDEX ON turnstile.job (kind, state)")
add(
    "of-changing-columns",
    "CREATE INDEX ON turnstile.job (<column>)",
    column=["attempt", "claimed_at", "worker", "progress", "errors", "lease_expires_at DESC", "priority, run_at"],
)
add("covering", "CREATE INDEX ON turnstile.job (queue) INCLUDE (state, attempt) WITH (fillfactor = 40)")
add("expression", "CREATE INDEX ON turnstile.job (lower(kind), (payload ->> 'job'))")
add("expression-of-state", "CREATE INDEX ON turnstile.job ((state || coalesce(worker, '')))")
add(
    "partial",
    "CREATE INDEX ON turnstile.job (queue, position) WHERE <condition>",
    condition=["state = 'running'", "state <> 'running'", "attempt > 1", "errors IS NOT NULL"],
)
add(
    "of-another-method",
    "CREATE INDEX ON turnstile.job USING <method>",
    method=["hash (kind)", "gin (payload)", "brin (created_at)", "gin (metadata jsonb_path_ops)", "spgist (kind)"],
)
add(
    "of-own-column",
    "ALTER TABLE turnstile.job ADD COLUMN shop int DEFAULT 1",
    "CREATE INDEX ON turnstile.job (shop, state)",
    by_hand={"produced": "UPDATE turnstile.job SET shop = 2"},
)
add("unique-and-met", "CREATE UNIQUE INDEX ON turnstile.job ((payload ->> 'job'))")
add("unique", "CREATE UNIQUE INDEX ON turnstile.job (kind) WHERE kind = '<kind>' AND queue <> 'old'")
add(
    "unique-while-running",
    "CREATE UNIQUE INDEX ON turnstile.job (queue) WHERE state = 'running' AND queue = '<queue>'",
    queue=["main", "side", "bulk"],
)
add(
    "unique-nulls",
    "CREATE UNIQUE INDEX ON turnstile.job (queue, worker) NULLS <nulls> WHERE queue IN ('main', 'bulk')",
    nulls=["DISTINCT", "NOT DISTINCT"],
)
add("deferrable", "ALTER TABLE turnstile.job ADD UNIQUE (id, kind) DEFERRABLE INITIALLY DEFERRED")
add(
    "deferred-and-broken",
    "ALTER TABLE turnstile.job ADD COLUMN only_one int",
    "ALTER TABLE turnstile.job ADD UNIQUE (only_one) DEFERRABLE INITIALLY DEFERRED",
    "ALTER TABLE turnstile.job ALTER COLUMN only_one SET DEFAULT 1",
)
add("exclusion", "ALTER TABLE turnstile.job ADD EXCLUDE USING btree (kind WITH =) WHERE (kind = '<kind>' AND attempt = 1)")
add(
    "exclusion-of-ranges",
    "ALTER TABLE turnstile.job ADD EXCLUDE USING gist (int4range(attempt, attempt + 1) WITH &&)"
    " WHERE (queue = '<queue>' AND attempt > 0)",
    queue=["main", "side"],
)
add(
    "that-refuses",
    UNWELCOME,
    "CREATE INDEX ON turnstile.job (users.unwelcome(kind)) WHERE queue <> 'old' AND <condition>",
    condition=["state = 'running'", "state = 'available'", "attempt = 0"],
)
add(
    "of-history",
    "CREATE INDEX ON turnstile.job_history (kind, state)",
    "CREATE INDEX ON turnstile.job_history ((payload ->> 'job'))",
)
add("of-history-that-refuses", UNWELCOME, "CREATE INDEX ON turnstile.job_history (users.unwelcome(kind)) WHERE queue <> 'old'")
add("of-today", TODAY.format("CREATE INDEX ON %s (state) WHERE attempt > 0"))
add("unique-of-today", TODAY.format("CREATE UNIQUE INDEX ON %s (id)"))
add("unique-kind-of-today", TODAY.format("CREATE UNIQUE INDEX ON %s (kind) WHERE kind = ''<kind>'' AND queue <> ''old''"))

# ---- The extension's own --------------------------------------------------------------------------

add(
    "own-with-parameters",
    "ALTER INDEX turnstile.job_claim_idx SET (fillfactor = 50)",
    "ALTER INDEX turnstile.job_pkey SET (fillfactor = 100)",
)
add(
    "own-renamed",
    "ALTER INDEX turnstile.<index> RENAME TO renamed_idx",
    index=["job_claim_idx", "job_pkey", "job_due_idx", "job_owner_idx"],
)
add("own-missing", "DROP INDEX turnstile.<index>", index=["job_due_idx", "job_owner_idx"])
add(
    "another-by-an-own-name",
    "DROP INDEX turnstile.job_claim_idx",
    "CREATE INDEX job_claim_idx ON turnstile.job (<columns>)",
    columns=["kind", "position, lane", "lane_group, lane, position", "lower(kind)"],
)
add("claims-missing", "DROP INDEX turnstile.job_claim_idx")
add(
    "own-made-anew",
    "DROP INDEX turnstile.job_claim_idx",
    "CREATE INDEX again_idx ON turnstile.job (lane_group, lane, position) WHERE waits_for IS NULL",
)
add(
    "own-invalid",
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'turnstile.<index>'::regclass",
    index=["job_claim_idx", "job_due_idx", "job_owner_idx"],
)
