-- What blocked jobs come after. A row goes when it is met.

CREATE TABLE turnstile.dependency (
    predecessor bigint NOT NULL,
    job bigint NOT NULL,
    any_end boolean NOT NULL DEFAULT false,
    holds boolean NOT NULL DEFAULT false,
    is_told boolean NOT NULL DEFAULT false,
    CONSTRAINT dependency_pkey PRIMARY KEY (predecessor, job)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX dependency_job_idx ON turnstile.dependency (job);
CREATE INDEX dependency_untold_idx ON turnstile.dependency (job) WHERE NOT is_told;
CREATE INDEX dependency_untold_predecessor_idx ON turnstile.dependency (predecessor) WHERE NOT is_told;
COMMENT ON TABLE turnstile.dependency IS
    'What blocked jobs come after. A row goes when its predecessor has ended as it should; without any a job is blocked no more.';
COMMENT ON COLUMN turnstile.dependency.predecessor IS 'The job that must end first.';
COMMENT ON COLUMN turnstile.dependency.job IS 'The job that comes after it.';
COMMENT ON COLUMN turnstile.dependency.any_end IS
    'Any end of the predecessor will do. Otherwise it must complete, and another end discards the job.';
COMMENT ON COLUMN turnstile.dependency.holds IS
    'Where the predecessor ends otherwise than it should, the job stays blocked until it is brought back and completes.';
COMMENT ON COLUMN turnstile.dependency.is_told IS 'The predecessor was marked: its end leads to this row.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.dependency', '');
