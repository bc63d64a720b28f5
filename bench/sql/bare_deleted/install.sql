CREATE TABLE turnstile_bench.deleted (
    id bigserial PRIMARY KEY,
    state text NOT NULL DEFAULT 'available',
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX deleted_available ON turnstile_bench.deleted (id) WHERE state = 'available';
