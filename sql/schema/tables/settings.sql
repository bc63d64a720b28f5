-- Limits and settings. A change applies from the next claim after its commit on.
-- A column that is NULL is inherited from the row *, and there from what is built in: the views *_in_force say what holds. "No limit" is a
-- value of its own, or a name could not be freed from a limit of the row *. For integers it is -1, as in CONNECTION LIMIT; for an interval that
-- keeps, too, as servers before 17 have no infinite one. Pauses are not inherited: a name with a row has its own.

CREATE TABLE turnstile.queue (
    name text NOT NULL,
    paused boolean NOT NULL DEFAULT false,
    max_running int,
    max_waiting int,
    paused_until timestamptz,
    rate int,
    rate_per interval,
    burst int,
    policy text,
    aging interval,
    lease interval,
    max_attempts int,
    retry_base interval,
    retry_cap interval,
    session_on_retry text,
    notify boolean,
    keep_completed interval,
    keep_discarded interval,
    gate bigint NOT NULL,
    rate_since timestamptz,
    durable_claims boolean,
    CONSTRAINT queue_pkey PRIMARY KEY (name),
    CONSTRAINT queue_name_check CHECK (name <> '' AND octet_length(name) <= 255),
    CONSTRAINT queue_max_running_check CHECK (max_running >= -1),
    CONSTRAINT queue_max_waiting_check CHECK (max_waiting >= 1 OR max_waiting = -1),
    CONSTRAINT queue_rate_check CHECK (rate >= 1 OR rate = -1),
    CONSTRAINT queue_rate_per_check CHECK (rate_per > '0' AND rate_per <= '100 years'),
    CONSTRAINT queue_burst_check CHECK (burst >= 1),
    CONSTRAINT queue_policy_check CHECK (policy IN ('fifo', 'fair')),
    CONSTRAINT queue_aging_check CHECK (aging = '0' OR aging >= '1 second' AND aging <= '30 days'),
    CONSTRAINT queue_lease_check CHECK (lease > '0' AND lease <= '100 years'),
    CONSTRAINT queue_max_attempts_check CHECK (max_attempts >= 1),
    CONSTRAINT queue_retry_base_check CHECK (retry_base >= '0'),
    CONSTRAINT queue_retry_cap_check CHECK (retry_cap >= '0'),
    CONSTRAINT queue_session_on_retry_check CHECK (session_on_retry IN ('hold', 'pass')),
    CONSTRAINT queue_keep_completed_check CHECK (keep_completed >= '0' OR keep_completed = '-1 second'),
    CONSTRAINT queue_keep_discarded_check CHECK (keep_discarded >= '0' OR keep_discarded = '-1 second')
);
-- Not unique: when two sessions make the same row at once, an upsert by name would fail on a second unique index.
CREATE INDEX queue_gate_idx ON turnstile.queue (gate);
CREATE INDEX queue_max_waiting_idx ON turnstile.queue (max_waiting) WHERE max_waiting > 0;
COMMENT ON TABLE turnstile.queue IS
    'Settings of queues. A queue needs no row. A column that is NULL is inherited from the row *, and there from the default that is built in; pauses are not inherited. queue_in_force has what holds.';
COMMENT ON COLUMN turnstile.queue.name IS 'The queue, or * for the defaults.';
COMMENT ON COLUMN turnstile.queue.max_running IS 'How many jobs of the queue may run at once. 0: none; -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.queue.max_waiting IS
    'How many live jobs of the queue may wait (available, scheduled or retryable). An enqueue past the bound fails with 53400; from 80 % on it gets a NOTICE. Jobs that come back count, and may pass the bound. -1: no bound. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.queue.policy IS
    'Order at equal priority. fifo: by position. fair: tenants that have work and room share the starts by weight, and each has its own jobs by position. NULL: inherited; built in: fifo.';
COMMENT ON COLUMN turnstile.queue.aging IS
    'A waiting job gains one step of priority for each such interval. All jobs of the queue gain their steps at the same times, multiples of it. From 1 second to 30 days. 0: none. NULL: inherited; built in: 0.';
COMMENT ON COLUMN turnstile.queue.lease IS 'How long a claim holds a job, unless the claim says otherwise. NULL: inherited; built in: 5 minutes.';
COMMENT ON COLUMN turnstile.queue.max_attempts IS 'Counted attempts of a job that is enqueued without max_attempts. NULL: inherited; built in: 25.';
COMMENT ON COLUMN turnstile.queue.retry_base IS 'The wait after counted attempt n is n^4 times this, plus up to 10 %. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.queue.retry_cap IS 'The longest wait for another attempt; 30 years in any case. NULL: inherited; built in: 1 day.';
COMMENT ON COLUMN turnstile.queue.session_on_retry IS
    'hold: while a job of a session waits for another attempt, no other job of the session starts, and it is the next. pass: others may start. NULL: inherited; built in: hold.';
COMMENT ON COLUMN turnstile.queue.notify IS
    'Whether listeners of the channel of the queue are notified. The row * also speaks for the channel of all queues. NULL: inherited; built in: true.';
COMMENT ON COLUMN turnstile.queue.keep_completed IS
    'How long completed jobs stay in history, from the end of their day (UTC). 0: a completion leaves nothing there, unless others have to know of it (children, parents, jobs that others come after, unique keys that are still held). -1 (a second less than none): forever. NULL: inherited; built in: 7 days.';
COMMENT ON COLUMN turnstile.queue.keep_discarded IS
    'How long discarded and cancelled jobs stay in history, from the end of their day (UTC). -1 (a second less than none): forever. NULL: inherited; built in: 7 days.';
COMMENT ON COLUMN turnstile.queue.gate IS 'The key by which the scheduler knows the queue. Set by a trigger.';
COMMENT ON COLUMN turnstile.queue.durable_claims IS
    'Whether a claim waits until it is on disk. false: a claim in a transaction that does nothing else does not, for jobs that were enqueued since; if the server crashes in the next moments, the job is available again, and may run once more beside the worker that still has it, whose end is refused then (55000). NULL: inherited; built in: true.';
COMMENT ON COLUMN turnstile.queue.rate_since IS
    'Since when a rate is in force for it, by any row, as of when this row got one or inherited again: its bucket was full then. NULL: not known, or none. Set by a trigger.';
COMMENT ON COLUMN turnstile.queue.rate IS
    'How many jobs may start within rate_per: a token bucket over all workers. -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.queue.rate_per IS 'The interval that rate is for. More than 0, at most 100 years. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.queue.burst IS
    'How many jobs may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.queue.paused IS 'Nothing of it starts. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.queue.paused_until IS 'Nothing of it starts before this time. The row * pauses the names without a row.';

CREATE TABLE turnstile.tenant (
    name text NOT NULL,
    slots int,
    max_waiting int,
    weight int,
    paused boolean NOT NULL DEFAULT false,
    paused_until timestamptz,
    rate int,
    rate_per interval,
    burst int,
    gate bigint NOT NULL,
    rate_since timestamptz,
    CONSTRAINT tenant_pkey PRIMARY KEY (name),
    CONSTRAINT tenant_name_check CHECK (name <> '' AND octet_length(name) <= 255),
    CONSTRAINT tenant_slots_check CHECK (slots >= -1),
    CONSTRAINT tenant_max_waiting_check CHECK (max_waiting >= 1 OR max_waiting = -1),
    CONSTRAINT tenant_rate_check CHECK (rate >= 1 OR rate = -1),
    CONSTRAINT tenant_rate_per_check CHECK (rate_per > '0' AND rate_per <= '100 years'),
    CONSTRAINT tenant_burst_check CHECK (burst >= 1),
    CONSTRAINT tenant_weight_check CHECK (weight >= 1 AND weight <= 10000)
);
CREATE INDEX tenant_gate_idx ON turnstile.tenant (gate);
CREATE INDEX tenant_max_waiting_idx ON turnstile.tenant (max_waiting) WHERE max_waiting > 0;
COMMENT ON TABLE turnstile.tenant IS
    'Limits of tenants, over all queues. A column that is NULL is inherited from the row *; pauses are not. tenant_in_force has what holds.';
COMMENT ON COLUMN turnstile.tenant.name IS 'The tenant, or * for the defaults.';
COMMENT ON COLUMN turnstile.tenant.max_waiting IS
    'How many live jobs of the tenant may wait (available, scheduled or retryable), in all queues. An enqueue past the bound fails with 53400; from 80 % on it gets a NOTICE. Jobs that come back count, and may pass the bound. -1: no bound. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.tenant.weight IS
    'Starts in fair queues for each start of a tenant of weight 1. From 1 to 10,000. Jobs without a tenant weigh 1 together. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.tenant.gate IS 'The key by which the scheduler knows the tenant. Set by a trigger.';
COMMENT ON COLUMN turnstile.tenant.rate_since IS
    'Since when a rate is in force for it, by any row, as of when this row got one or inherited again: its bucket was full then. NULL: not known, or none. Set by a trigger.';
COMMENT ON COLUMN turnstile.tenant.rate IS
    'How many jobs may start within rate_per: a token bucket over all workers. -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.tenant.rate_per IS 'The interval that rate is for. More than 0, at most 100 years. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.tenant.burst IS
    'How many jobs may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.tenant.paused IS 'Nothing of it starts. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.tenant.paused_until IS 'Nothing of it starts before this time. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.tenant.slots IS 'How many of its jobs may run at once. 0: none; -1: no limit. NULL: inherited; built in: -1.';

CREATE TABLE turnstile.account (
    tenant text NOT NULL,
    name text NOT NULL,
    slots int,
    paused boolean NOT NULL DEFAULT false,
    paused_until timestamptz,
    rate int,
    rate_per interval,
    burst int,
    gate bigint NOT NULL,
    rate_since timestamptz,
    CONSTRAINT account_pkey PRIMARY KEY (tenant, name),
    CONSTRAINT account_tenant_check CHECK (tenant <> '' AND octet_length(tenant) <= 255),
    CONSTRAINT account_name_check CHECK (name <> '' AND octet_length(name) <= 255),
    CONSTRAINT account_rate_check CHECK (rate >= 1 OR rate = -1),
    CONSTRAINT account_rate_per_check CHECK (rate_per > '0' AND rate_per <= '100 years'),
    CONSTRAINT account_burst_check CHECK (burst >= 1),
    CONSTRAINT account_slots_check CHECK (slots >= -1)
);
CREATE INDEX account_gate_idx ON turnstile.account (gate);
COMMENT ON TABLE turnstile.account IS
    'Limits of accounts within a tenant. A column that is NULL is inherited from the row (tenant, *), and there from the row (*, *); pauses are not. account_in_force has what holds.';
COMMENT ON COLUMN turnstile.account.tenant IS 'The tenant, or *.';
COMMENT ON COLUMN turnstile.account.name IS 'The account, or *.';
COMMENT ON COLUMN turnstile.account.gate IS 'The key by which the scheduler knows the account. Set by a trigger.';
COMMENT ON COLUMN turnstile.account.rate_since IS
    'Since when a rate is in force for it, by any row, as of when this row got one or inherited again: its bucket was full then. NULL: not known, or none. Set by a trigger.';
COMMENT ON COLUMN turnstile.account.rate IS
    'How many jobs may start within rate_per: a token bucket over all workers. -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.account.rate_per IS 'The interval that rate is for. More than 0, at most 100 years. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.account.burst IS
    'How many jobs may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.account.paused IS 'Nothing of it starts. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.account.paused_until IS 'Nothing of it starts before this time. The row * pauses the names without a row.';
COMMENT ON COLUMN turnstile.account.slots IS 'How many of its jobs may run at once. 0: none; -1: no limit. NULL: inherited; built in: -1.';

CREATE TABLE turnstile.concurrency (
    key text NOT NULL,
    slots int,
    rate int,
    rate_per interval,
    burst int,
    gate bigint NOT NULL,
    rate_since timestamptz,
    CONSTRAINT concurrency_pkey PRIMARY KEY (key),
    CONSTRAINT concurrency_key_check CHECK (key <> '' AND octet_length(key) <= 255),
    CONSTRAINT concurrency_rate_check CHECK (rate >= 1 OR rate = -1),
    CONSTRAINT concurrency_rate_per_check CHECK (rate_per > '0' AND rate_per <= '100 years'),
    CONSTRAINT concurrency_burst_check CHECK (burst >= 1),
    CONSTRAINT concurrency_slots_check CHECK (slots >= -1)
);
CREATE INDEX concurrency_gate_idx ON turnstile.concurrency (gate);
COMMENT ON TABLE turnstile.concurrency IS
    'Limits of concurrency keys, over all queues and tenants. A column that is NULL is inherited from the row *. concurrency_in_force has what holds.';
COMMENT ON COLUMN turnstile.concurrency.key IS 'The concurrency key, or * for the defaults.';
COMMENT ON COLUMN turnstile.concurrency.gate IS
    'The key by which the scheduler knows the concurrency key. Set by a trigger.';
COMMENT ON COLUMN turnstile.concurrency.rate_since IS
    'Since when a rate is in force for it, by any row, as of when this row got one or inherited again: its bucket was full then. NULL: not known, or none. Set by a trigger.';
COMMENT ON COLUMN turnstile.concurrency.rate IS
    'How many jobs may start within rate_per: a token bucket over all workers. -1: no limit. NULL: inherited; built in: -1.';
COMMENT ON COLUMN turnstile.concurrency.rate_per IS 'The interval that rate is for. More than 0, at most 100 years. NULL: inherited; built in: 1 second.';
COMMENT ON COLUMN turnstile.concurrency.burst IS
    'How many jobs may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: inherited; built in: 1.';
COMMENT ON COLUMN turnstile.concurrency.slots IS 'How many of its jobs may run at once. 0: none; -1: no limit. NULL: inherited; built in: -1.';

CREATE TABLE turnstile.paused_session (
    queue text NOT NULL,
    tenant text,
    session text NOT NULL,
    until timestamptz NOT NULL DEFAULT 'infinity',
    gate bigint NOT NULL,
    CONSTRAINT paused_session_pkey PRIMARY KEY (gate),
    CONSTRAINT paused_session_queue_check CHECK (queue <> '' AND octet_length(queue) <= 255),
    CONSTRAINT paused_session_tenant_check CHECK (tenant <> '' AND octet_length(tenant) <= 255),
    CONSTRAINT paused_session_session_check CHECK (session <> '' AND octet_length(session) <= 255)
);
CREATE INDEX paused_session_until_idx ON turnstile.paused_session (until);
COMMENT ON TABLE turnstile.paused_session IS 'Paused sessions. A row whose time is over pauses nothing.';
COMMENT ON COLUMN turnstile.paused_session.queue IS 'The queue of the session.';
COMMENT ON COLUMN turnstile.paused_session.tenant IS 'Its tenant. NULL: the session of jobs without a tenant.';
COMMENT ON COLUMN turnstile.paused_session.session IS 'The session.';
COMMENT ON COLUMN turnstile.paused_session.until IS 'No job of the session starts before this time.';
COMMENT ON COLUMN turnstile.paused_session.gate IS
    'The key by which the scheduler knows the session. Set by a trigger.';

CREATE TABLE turnstile.batch (
    id bigint NOT NULL,
    slots int,
    rate int,
    rate_per interval NOT NULL DEFAULT '1 second',
    burst int,
    paused boolean NOT NULL DEFAULT false,
    paused_until timestamptz,
    priority int,
    max_failed int,
    on_end text NOT NULL DEFAULT 'run',
    opened_at timestamptz DEFAULT clock_timestamp(),
    stops text,
    gate bigint NOT NULL,
    rate_since timestamptz,
    CONSTRAINT batch_pkey PRIMARY KEY (id),
    CONSTRAINT batch_id_check CHECK (id >= 1),
    CONSTRAINT batch_slots_check CHECK (slots >= 0),
    CONSTRAINT batch_rate_check CHECK (rate >= 1),
    CONSTRAINT batch_rate_per_check CHECK (rate_per > '0' AND rate_per <= '100 years'),
    CONSTRAINT batch_burst_check CHECK (burst >= 1),
    CONSTRAINT batch_max_failed_check CHECK (max_failed >= 0),
    CONSTRAINT batch_on_end_check CHECK (on_end IN ('run', 'run_if_all_completed', 'complete')),
    CONSTRAINT batch_stops_check CHECK (stops IN ('cancelled', 'discarded', 'failed'))
);
CREATE INDEX batch_gate_idx ON turnstile.batch (gate);
COMMENT ON TABLE turnstile.batch IS
    'Batches: settings of the children of a job. A parent whose children have no limits needs no row.';
COMMENT ON COLUMN turnstile.batch.id IS 'The parent.';
COMMENT ON COLUMN turnstile.batch.slots IS 'How many of its children may run at once. NULL: no limit; 0: none.';
COMMENT ON COLUMN turnstile.batch.rate IS
    'How many children may start within rate_per: a token bucket over all workers. NULL: no limit.';
COMMENT ON COLUMN turnstile.batch.rate_per IS 'The interval that rate is for. More than 0, at most 100 years.';
COMMENT ON COLUMN turnstile.batch.burst IS
    'How many children may start at once after a quiet time. Within any t at most burst + rate * t / rate_per start. NULL: 1.';
COMMENT ON COLUMN turnstile.batch.paused IS 'No child starts.';
COMMENT ON COLUMN turnstile.batch.paused_until IS 'No child starts before this time.';
COMMENT ON COLUMN turnstile.batch.priority IS
    'The priority of the children: those that are live get it, in short transactions, and those that come later. NULL: each has its own.';
COMMENT ON COLUMN turnstile.batch.max_failed IS
    'When more children are discarded, no other starts, and the rest is cancelled. NULL: any number.';
COMMENT ON COLUMN turnstile.batch.on_end IS
    'What becomes of the parent when no child is live. run: it becomes available and runs. run_if_all_completed: the same, but it is discarded unless all children completed. complete: it completes without a run.';
COMMENT ON COLUMN turnstile.batch.opened_at IS 'Since when children may start. NULL: the parent waits for its turn.';
COMMENT ON COLUMN turnstile.batch.stops IS
    'Why no child starts any more and the rest is cancelled: the parent is to end as cancelled or discarded, or max_failed was passed (failed). NULL: it goes on.';
COMMENT ON COLUMN turnstile.batch.gate IS 'The key by which the scheduler knows the batch. Set by a trigger.';
COMMENT ON COLUMN turnstile.batch.rate_since IS
    'Since when a rate is in force for it: its bucket was full then. NULL: not known, or none. Set by a trigger.';

-- Not generated columns: the functions of those run with the rights of the role that inserts.
CREATE FUNCTION turnstile_internal.set_gate() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_set_gate';
COMMENT ON FUNCTION turnstile_internal.set_gate() IS
    'Sets the key of the gate of a row of settings, whatever was written there, and since when there is a rate.';
CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.queue
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('queue');
ALTER TABLE turnstile.queue ENABLE ALWAYS TRIGGER set_gate;
CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.tenant
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('tenant');
ALTER TABLE turnstile.tenant ENABLE ALWAYS TRIGGER set_gate;
CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.account
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('account');
ALTER TABLE turnstile.account ENABLE ALWAYS TRIGGER set_gate;
CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.concurrency
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('concurrency');
ALTER TABLE turnstile.concurrency ENABLE ALWAYS TRIGGER set_gate;
CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.paused_session
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('session');
ALTER TABLE turnstile.paused_session ENABLE ALWAYS TRIGGER set_gate;
CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.batch
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('batch');
ALTER TABLE turnstile.batch ENABLE ALWAYS TRIGGER set_gate;

-- A restore brings the default row with what was set in it: pg_dump and pg_restore switch row_security and
-- check_function_bodies off, which no session does by default.
INSERT INTO turnstile.queue (name)
SELECT '*'
WHERE NOT (current_setting('row_security') = 'off' AND current_setting('check_function_bodies') = 'off');

SELECT pg_catalog.pg_extension_config_dump('turnstile.queue', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.tenant', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.account', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.concurrency', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.paused_session', '');
SELECT pg_catalog.pg_extension_config_dump('turnstile.batch', '');

-- The triggers that tell the scheduler of changes; made last, as it need not hear of the row above. ALWAYS: also under
-- session_replication_role = replica.

CREATE FUNCTION turnstile_internal.setting_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_setting_changed';
COMMENT ON FUNCTION turnstile_internal.setting_changed() IS
    'Makes the next claim read a changed limit.';
CREATE FUNCTION turnstile_internal.settings_truncated() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_settings_truncated';
COMMENT ON FUNCTION turnstile_internal.settings_truncated() IS
    'Makes the next claims read all limits of a kind.';
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.queue
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('queue');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.tenant
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('tenant');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.account
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('account');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.concurrency
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('concurrency');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.paused_session
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('session');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.batch
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('batch');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.queue
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('queue');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.tenant
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('tenant');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.account
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('account');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.concurrency
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('concurrency');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.paused_session
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('session');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.batch
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('batch');
ALTER TABLE turnstile.queue ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.tenant ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.account ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.concurrency ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.paused_session ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.batch ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.queue ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.tenant ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.account ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.concurrency ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.paused_session ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.batch ENABLE ALWAYS TRIGGER publish_truncate;
