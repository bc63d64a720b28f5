CREATE TABLE job (
    id bigserial PRIMARY KEY,
    session text NOT NULL,
    state text NOT NULL DEFAULT 'available',
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX job_available ON job (session, id) WHERE state = 'available';
CREATE UNIQUE INDEX job_running ON job (session) WHERE state = 'running';
