-- $2, $14: JSON as it was given, so that its numbers stay what they are. $9: a time as text. $20, $13: seconds.
SELECT pg_catalog.to_jsonb(turnstile.enqueue(
    kind => $1,
    payload => $2::pg_catalog.jsonb,
    queue => $3,
    tenant => $4,
    account => $5,
    session => $6,
    concurrency_key => $7,
    priority => $8,
    run_at => coalesce(
        $9::pg_catalog.timestamptz,
        pg_catalog.statement_timestamp() + pg_catalog.make_interval(secs => $20)
    ),
    max_attempts => $10,
    unique_key => $11,
    unique_mode => $12,
    unique_for => pg_catalog.make_interval(secs => $13),
    metadata => $14::pg_catalog.jsonb,
    unique_by => $15,
    parent => $16,
    after => $17,
    after_any_end => $18,
    after_hold => $19,
    unique_states => $21
))
