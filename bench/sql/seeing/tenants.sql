TABLE turnstile.tenants;
