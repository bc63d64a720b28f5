TABLE turnstile.metrics;
