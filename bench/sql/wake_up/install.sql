CREATE TABLE turnstile_bench.woken (
    id bigserial PRIMARY KEY,
    state text NOT NULL DEFAULT 'available',
    maker xid8 NOT NULL DEFAULT pg_current_xact_id(),
    claimed_at timestamptz
);

CREATE INDEX woken_available ON turnstile_bench.woken (id) WHERE state = 'available';
