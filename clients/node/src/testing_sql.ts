/** The SQL of the test helpers. All that goes to and fro is text, which is the same with any driver. */

const RUN = '$1::text::bigint, $2::text::int'

export const OWN = {
  claim: `SELECT id::text, attempt::text, queue, kind, payload::text, metadata::text, priority::text, tenant, account, session,
    max_attempts::text, attempts_left::text, children::text, (extract(epoch FROM created_at) * 1000)::text AS created_at
    FROM turnstile.claim_own($1::text::text[], 1)`,
  complete: `SELECT turnstile.complete(${RUN}, $3::text::jsonb)`,
  fail: `SELECT turnstile.fail(${RUN}, $3::text, error_class => $4::text, retry_in => $5::text::interval)`,
  discard: `SELECT turnstile.fail(${RUN}, $3::text, error_class => $4::text, discard => true)`,
  snooze: `SELECT turnstile.snooze(${RUN}, $3::text::interval)`,
  release: `SELECT turnstile.release(${RUN})`,
  awaitChildren: `SELECT turnstile.await_children(${RUN}) AS waits`,
  children: `SELECT (pg_catalog.count(*) FILTER (WHERE child.state = 'completed'))::int AS completed,
    (pg_catalog.count(*) FILTER (WHERE child.state = 'discarded'))::int AS discarded,
    (pg_catalog.count(*) FILTER (WHERE child.state = 'cancelled'))::int AS cancelled
    FROM turnstile.batch_results($1::text::bigint) AS child`,
  jobs: `SELECT job.id::text, (extract(epoch FROM job.run_at) * 1000)::text AS run_at, pg_catalog.json_build_object('kind', job.kind,
      'state', job.state, 'queue', job.queue, 'payload', job.payload, 'metadata', job.metadata, 'tenant', job.tenant,
      'account', job.account, 'session', job.session, 'concurrencyKey', job.concurrency_key, 'priority', job.priority,
      'maxAttempts', job.max_attempts, 'uniqueKey', job.unique_key)::text AS job
    FROM turnstile.job
    WHERE job.kind = $1::text AND ($2::text IS NULL OR job.payload @> $2::text::jsonb)
      AND ($3::text IS NULL OR job.metadata @> $3::text::jsonb)
    ORDER BY job.position`,
  known: `SELECT job.kind || ' ' || pg_catalog.left(job.payload::text, 200) AS job FROM turnstile.job ORDER BY job.position LIMIT 20`,
} as const
