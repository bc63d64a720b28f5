CREATE TABLE turnstile_bench.kept (
    id bigserial PRIMARY KEY,
    state text NOT NULL DEFAULT 'available',
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX kept_available ON turnstile_bench.kept (id) WHERE state = 'available';
