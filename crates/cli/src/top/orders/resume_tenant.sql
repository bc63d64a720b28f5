SELECT FROM turnstile.resume_tenant(name => $1)
