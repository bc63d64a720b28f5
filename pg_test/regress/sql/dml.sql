-- The tables as interface: plain DML enqueues, re-ranks, cancels and configures; nonsense is refused with 23514.
TRUNCATE turnstile.job, turnstile.job_history RESTART IDENTITY;

-- INSERT and COPY enqueue
INSERT INTO turnstile.job (kind) VALUES ('inserted');
INSERT INTO turnstile.job (kind, tenant, priority) SELECT 'selected ' || n, 'acme', n FROM generate_series(1, 2) AS n;
COPY turnstile.job (kind, payload, session) FROM STDIN;
copied	{"a": 1}	chat
copied too	{}	chat
\.
INSERT INTO turnstile.job (kind, run_at) VALUES ('ahead', now() + interval '1 hour'), ('overdue', now() - interval '1 hour');
SET session_replication_role = replica;
INSERT INTO turnstile.job (kind) VALUES ('restored');
RESET session_replication_role;
SELECT id, kind, state, priority, attempt, max_attempts FROM turnstile.job ORDER BY id;
SELECT kind, attempt FROM turnstile.claim(ARRAY['default'], 3);

-- UPDATE re-ranks, puts off, calls back
UPDATE turnstile.job SET priority = -1 WHERE kind = 'selected 2';
UPDATE turnstile.job SET state = 'scheduled', run_at = now() + interval '1 hour' WHERE kind = 'restored';
UPDATE turnstile.job SET state = 'available', run_at = now() WHERE kind = 'ahead';
SELECT kind, attempt FROM turnstile.claim(ARRAY['default'], 10);

-- UPDATE of the names moves a job to other limits
INSERT INTO turnstile.tenant (name, slots) VALUES ('closed', 0), ('acme', 3);
INSERT INTO turnstile.job (kind, tenant) VALUES ('moved', 'closed');
SELECT kind FROM turnstile.claim_next();
UPDATE turnstile.job SET tenant = 'acme' WHERE kind = 'moved';
SELECT kind FROM turnstile.claim_next();

-- A run started and ended by hand counts like any other
INSERT INTO turnstile.job (kind, tenant) VALUES ('waits', 'acme'), ('waits too', 'acme');
SELECT kind FROM turnstile.claim_next();
UPDATE turnstile.job SET state = 'available' WHERE kind = 'moved';
SELECT kind FROM turnstile.claim_next();
UPDATE turnstile.job SET state = 'running' WHERE kind = 'waits';
DELETE FROM turnstile.job WHERE kind = 'selected 1';
SELECT kind FROM turnstile.claim_next();
DELETE FROM turnstile.job WHERE kind = 'moved';
SELECT kind FROM turnstile.claim_next();

-- MERGE and ON CONFLICT are DML too
INSERT INTO turnstile.tenant (name, slots) VALUES ('acme', 9) ON CONFLICT (name) DO UPDATE SET slots = excluded.slots;
MERGE INTO turnstile.job USING (VALUES ('waits'), ('merged')) AS wanted (kind) ON job.kind = wanted.kind
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (kind, tenant) VALUES (wanted.kind, 'acme');
SELECT kind FROM turnstile.claim_next();
SELECT * FROM turnstile.check();

-- Nonsense is refused, on the way in
DELETE FROM turnstile.job;
\set VERBOSITY terse
INSERT INTO turnstile.job (kind) VALUES ('');
\echo :SQLSTATE
INSERT INTO turnstile.job (kind) VALUES (repeat('x', 256));
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, queue) VALUES ('mail', '');
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, tenant) VALUES ('mail', '');
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, account) VALUES ('mail', '');
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, session) VALUES ('mail', repeat('x', 256));
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, concurrency_key) VALUES ('mail', '');
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, state) VALUES ('mail', 'completed');
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, attempt) VALUES ('mail', -2);
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, max_attempts) VALUES ('mail', 0);
\echo :SQLSTATE
INSERT INTO turnstile.job (kind, uncounted) VALUES ('mail', -2);
\echo :SQLSTATE
COPY turnstile.job (kind, tenant) FROM STDIN;
mail	acme
mail	
\.
\echo :SQLSTATE
INSERT INTO turnstile.job (kind) VALUES (NULL);
\echo :SQLSTATE
SELECT count(*) FROM turnstile.job;

-- and on the way to becoming it
INSERT INTO turnstile.job (kind) VALUES ('mail');
UPDATE turnstile.job SET kind = '';
\echo :SQLSTATE
UPDATE turnstile.job SET tenant = '';
\echo :SQLSTATE
UPDATE turnstile.job SET session = '';
\echo :SQLSTATE
UPDATE turnstile.job SET state = 'done';
\echo :SQLSTATE
UPDATE turnstile.job SET max_attempts = 0;
\echo :SQLSTATE
UPDATE turnstile.job SET attempt = -1;
\echo :SQLSTATE
UPDATE turnstile.job SET uncounted = -1;
\echo :SQLSTATE
SELECT kind, attempt, max_attempts FROM turnstile.claim_next();

INSERT INTO turnstile.queue (name, max_running) VALUES ('mail', -2);
\echo :SQLSTATE
INSERT INTO turnstile.queue (name, lease) VALUES ('mail', '0');
\echo :SQLSTATE
INSERT INTO turnstile.queue (name, policy) VALUES ('mail', 'random');
\echo :SQLSTATE
INSERT INTO turnstile.queue (name, session_on_retry) VALUES ('mail', 'wait');
\echo :SQLSTATE
INSERT INTO turnstile.tenant (name, slots) VALUES ('acme too', -2);
\echo :SQLSTATE
INSERT INTO turnstile.tenant (name, weight) VALUES ('acme too', 0);
\echo :SQLSTATE
INSERT INTO turnstile.tenant (name) VALUES ('');
\echo :SQLSTATE
INSERT INTO turnstile.account (tenant, name, slots) VALUES ('acme', 'sales', -2);
\echo :SQLSTATE
INSERT INTO turnstile.concurrency (key, slots) VALUES (repeat('x', 256), 1);
\echo :SQLSTATE

TRUNCATE turnstile.tenant;
TRUNCATE turnstile.job;
SELECT * FROM turnstile.check();
