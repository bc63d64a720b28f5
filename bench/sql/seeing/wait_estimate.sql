SELECT * FROM turnstile.wait_estimate(%(job)s::bigint);
