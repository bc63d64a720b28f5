CREATE TABLE job (
    id bigserial PRIMARY KEY,
    state text NOT NULL DEFAULT 'available',
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX job_available ON job (id) WHERE state = 'available';
