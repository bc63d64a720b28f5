TABLE turnstile.workers;
