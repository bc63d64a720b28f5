-- The main path: enqueue, limits, claim, finish, retry, history.
TRUNCATE turnstile.job, turnstile.job_history RESTART IDENTITY;

-- A producer enqueues; all arguments but the kind have a default.
SELECT turnstile.enqueue('welcome mail', '{"to": "ada"}', tenant => 'acme');
SELECT turnstile.enqueue('answer', tenant => 'acme', session => 'chat 1');
SELECT turnstile.enqueue('answer again', tenant => 'acme', session => 'chat 1');
SELECT turnstile.enqueue('invoice', tenant => 'globex', priority => -1);
SELECT turnstile.enqueue('newsletter', run_at => now() + interval '1 day');
SELECT * FROM turnstile.enqueue_many('[
    {"kind": "thumbnail", "queue": "images", "payload": {"size": 64}},
    {"kind": "thumbnail", "queue": "images", "concurrency_key": "gpu"}
]');

-- A job whose transaction rolls back never was.
BEGIN;
SELECT turnstile.enqueue('never') IS NOT NULL AS enqueued;
ROLLBACK;

-- Limits are rows.
INSERT INTO turnstile.tenant (name, slots) VALUES ('acme', 2);
INSERT INTO turnstile.concurrency (key, slots) VALUES ('gpu', 0);

-- Least priority first, then the order of enqueueing; a session's second job waits, so does what has no slot.
SELECT id, attempt, kind, payload, priority, tenant, session, max_attempts FROM turnstile.claim_next(worker => 'w1');
SELECT id, attempt, kind, payload, tenant FROM turnstile.claim_next(worker => 'w1');
SELECT id, attempt, kind, session FROM turnstile.claim(ARRAY['default', 'images'], 10, 'w2', '1 minute');
SELECT id, kind, state, worker, lease_expires_at > clock_timestamp() AS leased
FROM turnstile.job
WHERE state = 'running'
ORDER BY id;

-- A slot that gets free goes to the next; the session stays strict.
SELECT turnstile.complete(1, 1, '{"sent": true}');
SELECT turnstile.complete(1, 1, '{"sent": true}');
SELECT count(*) FROM turnstile.claim_next();
SELECT id, attempt, kind, session FROM turnstile.complete_and_claim_next(2, 1, worker => 'w2');

-- A failed job is tried again, later.
SELECT turnstile.fail(4, 1, 'no paper', retry_in => '0');
SELECT id, attempt, kind FROM turnstile.claim_next();
SELECT turnstile.fail(4, 2, 'still no paper');
SELECT state, attempt, run_at > clock_timestamp() AS waits FROM turnstile.job WHERE id = 4;
SELECT error ->> 'attempt' AS attempt, error ->> 'error' AS error
FROM turnstile.job, jsonb_array_elements(errors) AS error
WHERE id = 4;

-- A run that was not begun after all is given back; its attempt does not count.
SELECT turnstile.release(3, 1);
SELECT id, attempt, kind, max_attempts FROM turnstile.claim_next();
SELECT turnstile.fail(3, 2, 'unreadable', discard => true);

SELECT turnstile.complete_many(ARRAY[6, 7], ARRAY[1, 1]);
UPDATE turnstile.concurrency SET slots = 1 WHERE key = 'gpu';
SELECT id, attempt, kind FROM turnstile.claim_next('images');

SELECT id, queue, kind, tenant, state, attempt, result, finished_at IS NOT NULL AS finished
FROM turnstile.jobs
ORDER BY id;
SELECT * FROM turnstile.check();

DELETE FROM turnstile.tenant;
DELETE FROM turnstile.concurrency;
DELETE FROM turnstile.job;
