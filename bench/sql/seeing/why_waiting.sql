SELECT * FROM turnstile.why_waiting(%(job)s::bigint);
