-- Whether any backlog has a bound.
SELECT EXISTS (SELECT FROM turnstile.queue WHERE queue.max_waiting > 0)
    OR EXISTS (SELECT FROM turnstile.tenant WHERE tenant.max_waiting > 0)
