TABLE turnstile.queues;
