SELECT * FROM turnstile.why_waiting_summary() WHERE %(job)s::bigint IS NOT NULL;
