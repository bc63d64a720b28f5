SELECT FROM turnstile.pause_tenant(name => $1)
