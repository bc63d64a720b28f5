CREATE TABLE job (
    id bigserial PRIMARY KEY,
    tenant text NOT NULL DEFAULT 'only',
    state text NOT NULL DEFAULT 'available',
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX job_available ON job (id) INCLUDE (tenant) WHERE state = 'available';
CREATE INDEX job_running ON job (tenant) WHERE state = 'running';
CREATE TABLE tenant (name text PRIMARY KEY, slots int NOT NULL);
INSERT INTO tenant (name, slots) VALUES ('only', 1000);
