SELECT id, extract(epoch FROM pg_xact_commit_timestamp((payload ->> 'maker')::xid8::xid))::float8
FROM turnstile.job_history;
