SELECT turnstile.pause_tenant(%(tenant)s);
