CREATE TABLE turnstile_bench.filtered (
    queue text NOT NULL,
    id bigserial,
    tenant text NOT NULL,
    state text NOT NULL DEFAULT 'available',
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, id)
);

CREATE INDEX filtered_available ON turnstile_bench.filtered (queue, id) WHERE state = 'available';

CREATE TABLE turnstile_bench.full_tenant (tenant text PRIMARY KEY);
