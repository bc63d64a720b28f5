SELECT extract(epoch FROM claimed_at - pg_xact_commit_timestamp(maker::xid))::float8 * 1000 FROM turnstile_bench.woken;
