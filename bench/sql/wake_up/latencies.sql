SELECT extract(epoch FROM claimed_at - pg_xact_commit_timestamp((payload ->> 'maker')::xid8::xid))::float8 * 1000
FROM turnstile.job_history
WHERE queue = %(queue)s;
