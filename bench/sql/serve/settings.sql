-- Limits as a busy installation has them: some queues and tenants have their own, one queue is paused, one tenant is full.
SELECT turnstile.set_queue('mail', max_running => 40), turnstile.set_queue('video', max_running => 4),
    turnstile.set_queue('report', paused => true), turnstile.set_queue('webhook', rate => 200, burst => 50),
    turnstile.set_tenant('*', slots => 20), turnstile.set_tenant('tenant-0001', slots => 8),
    turnstile.set_tenant('tenant-0007', slots => 2, weight => 3), turnstile.set_account('tenant-0001', '*', slots => 4),
    turnstile.set_concurrency('key-001', slots => 1), turnstile.set_concurrency('*', slots => 10)
