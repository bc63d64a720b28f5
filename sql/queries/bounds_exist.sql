-- Whether any backlog has a bound.
SELECT EXISTS (SELECT FROM turnstile.queue WHERE queue.max_waiting IS NOT NULL)
    OR EXISTS (SELECT FROM turnstile.tenant WHERE tenant.max_waiting IS NOT NULL)
