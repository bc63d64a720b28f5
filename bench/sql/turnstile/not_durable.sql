SELECT turnstile.set_queue(%(queue)s, durable_claims => false);
