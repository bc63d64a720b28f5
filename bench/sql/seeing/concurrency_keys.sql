TABLE turnstile.concurrency_keys;
