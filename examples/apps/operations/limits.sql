-- How the work flows. Run it after each change; all of it holds from the next claim on, or nothing does.
BEGIN;

-- The mail server takes 100 messages a minute, ten at a time. A customer with much mail does not keep others waiting.
SELECT turnstile.set_queue('mail', max_running => 10, rate => 100, rate_per => '1 minute', burst => 10, policy => 'fair');
-- Whatever customers are up to: five jobs at once and a bounded backlog for each, more for one that pays for it.
SELECT turnstile.set_tenant('*', slots => 5, max_waiting => 10000);
SELECT turnstile.set_tenant('acme', slots => 20, weight => 3);
-- What has failed for good is kept for a month.
SELECT turnstile.set_queue('*', keep_completed => '2 days', keep_discarded => '30 days');

COMMIT;
