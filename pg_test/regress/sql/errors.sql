-- Each error's SQLSTATE, message, DETAIL and HINT.
TRUNCATE turnstile.job, turnstile.job_history RESTART IDENTITY;
\set VERBOSITY default
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on

-- 22004: NULL where a value is needed
SELECT turnstile.enqueue(NULL);
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', payload => NULL);
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', queue => '*');
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', after_hold => NULL);
\echo :SQLSTATE
SELECT turnstile.enqueue_many(NULL);
\echo :SQLSTATE
SELECT turnstile.enqueue_many('[{"kind": "mail"}, {"queue": "mail"}]');
\echo :SQLSTATE
SELECT turnstile.claim_next(NULL);
\echo :SQLSTATE
SELECT turnstile.claim(NULL);
\echo :SQLSTATE
SELECT turnstile.claim(ARRAY['default'], NULL);
\echo :SQLSTATE
SELECT turnstile.complete(NULL, 1);
\echo :SQLSTATE
SELECT turnstile.complete(1, NULL);
\echo :SQLSTATE
SELECT turnstile.complete_many(NULL, ARRAY[1]);
\echo :SQLSTATE
SELECT turnstile.complete_many(ARRAY[1], NULL);
\echo :SQLSTATE
SELECT turnstile.complete_and_claim_next(NULL, 1);
\echo :SQLSTATE
SELECT turnstile.fail(NULL, 1);
\echo :SQLSTATE
SELECT turnstile.fail(1, 1, discard => NULL);
\echo :SQLSTATE
SELECT turnstile.release(1, NULL);
\echo :SQLSTATE
SELECT turnstile.make_history_partitions(NULL);
\echo :SQLSTATE
-- also inside an array
\set VERBOSITY terse
SELECT turnstile.claim(ARRAY['default', NULL]);
\echo :SQLSTATE
SELECT turnstile.complete_many(ARRAY[1, NULL], ARRAY[1, 1]);
\echo :SQLSTATE
\set VERBOSITY default

-- 22023: a bad value
SELECT turnstile.enqueue('mail', tenant => '');
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', max_attempts => 0);
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', unique_mode => 'sometimes');
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', unique_key => 'once', unique_by => ARRAY['kind']);
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', unique_by => ARRAY[]::text[]);
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', unique_by => ARRAY['colour']);
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', unique_key => 'once', unique_mode => 'until_expired');
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', unique_key => 'once', unique_for => '-1 hour');
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', unique_for => '1 hour');
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', unique_key => 'once', unique_mode => 'while_executing', unique_for => '1 hour');
\echo :SQLSTATE
SELECT turnstile.enqueue_many('[{"kind": "mail"}, {"kind": "mail", "unique_key": "once", "unique_for": "soon"}]');
\echo :SQLSTATE
SELECT turnstile.enqueue_many('[{"kind": "mail"}, {"kind": "mail", "unique_by": ["colour"]}]');
\echo :SQLSTATE
SELECT turnstile.enqueue_many('{"kind": "mail"}');
\echo :SQLSTATE
SELECT turnstile.enqueue_many('["mail"]');
\echo :SQLSTATE
SELECT turnstile.enqueue_many('[{"kind": "mail"}, {"kind": "mail", "sesion": "chat"}]');
\echo :SQLSTATE
SELECT turnstile.enqueue_many('[{"kind": "mail", "priority": 1.5}]');
\echo :SQLSTATE
SELECT turnstile.enqueue_many('[{"kind": ""}]');
\echo :SQLSTATE
SELECT turnstile.claim_next(lease => '0');
\echo :SQLSTATE
SELECT turnstile.claim(ARRAY['default'], -1);
\echo :SQLSTATE
SELECT turnstile.complete_many(ARRAY[1, 2], ARRAY[1]);
\echo :SQLSTATE
SELECT turnstile.fail(1, 1, retry_in => '-1 second');
\echo :SQLSTATE
SELECT turnstile.make_history_partitions(-1);
\echo :SQLSTATE
\set VERBOSITY terse
SELECT turnstile.enqueue('');
\echo :SQLSTATE
SELECT turnstile.claim_next('');
\echo :SQLSTATE
\set VERBOSITY default

-- 54000: too long
SELECT turnstile.enqueue(repeat('x', 256));
\echo :SQLSTATE
SELECT turnstile.enqueue('mail', session => repeat('é', 128));
\echo :SQLSTATE
SELECT turnstile.enqueue_many(jsonb_build_array(jsonb_build_object('kind', repeat('x', 256))));
\echo :SQLSTATE
SET turnstile.max_payload = '1kB';
SELECT turnstile.enqueue('mail', to_jsonb(repeat('x', 2000)));
\echo :SQLSTATE
SELECT turnstile.enqueue_many(jsonb_build_array(jsonb_build_object('kind', 'mail', 'payload', repeat('x', 2000))));
\echo :SQLSTATE
RESET turnstile.max_payload;
SELECT turnstile.enqueue(repeat('x', 255)) IS NOT NULL;

-- P0002: no such job
SELECT turnstile.complete(1000, 1);
\echo :SQLSTATE
SELECT turnstile.complete_and_claim_next(1000, 1);
\echo :SQLSTATE
SELECT turnstile.fail(1000, 1);
\echo :SQLSTATE
SELECT turnstile.release(1000, 1);
\echo :SQLSTATE

-- 55000: the run was superseded, or the job does not run
DELETE FROM turnstile.job;
INSERT INTO turnstile.job (id, kind) VALUES (7, 'mail');
SELECT turnstile.complete(7, 0);
\echo :SQLSTATE
SELECT id, attempt FROM turnstile.claim_next();
SELECT turnstile.complete(7, 2);
\echo :SQLSTATE
SELECT turnstile.release(7, 1);
SELECT id, attempt FROM turnstile.claim_next();
SELECT turnstile.complete(7, 1);
\echo :SQLSTATE
SELECT turnstile.complete_and_claim_next(7, 1);
\echo :SQLSTATE
SELECT turnstile.fail(7, 1);
\echo :SQLSTATE
SELECT turnstile.release(7, 1);
\echo :SQLSTATE
SELECT turnstile.complete_many(ARRAY[7], ARRAY[1]);
SELECT turnstile.complete(7, 2), turnstile.complete(7, 2);
SELECT turnstile.fail(7, 2);
\echo :SQLSTATE
SELECT turnstile.release(7, 2);
\echo :SQLSTATE

-- 0A000: PREPARE TRANSACTION after changing jobs
BEGIN;
SELECT turnstile.enqueue('mail') IS NOT NULL;
PREPARE TRANSACTION 'mail';
\echo :SQLSTATE
BEGIN;
INSERT INTO turnstile.job (kind) VALUES ('mail');
ROLLBACK;
BEGIN;
SELECT count(*) FROM turnstile.claim_next();
PREPARE TRANSACTION 'nothing changed';
ROLLBACK PREPARED 'nothing changed';

-- 25006: where nothing can be written
BEGIN READ ONLY;
SELECT turnstile.enqueue('mail');
\echo :SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT turnstile.claim_next();
\echo :SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT turnstile.complete(7, 2);
\echo :SQLSTATE
ROLLBACK;

-- An empty queue is no error, and neither is an empty list.
SELECT count(*) FROM turnstile.claim_next('nothing here');
SELECT count(*) FROM turnstile.claim(ARRAY[]::text[]);
SELECT count(*) FROM turnstile.claim(ARRAY['default'], 0);
SELECT count(*) FROM turnstile.enqueue_many('[]');
SELECT turnstile.complete_many('{}', '{}');

SELECT count(*) FROM turnstile.job;
SELECT * FROM turnstile.check();
