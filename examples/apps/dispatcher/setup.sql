-- The host of a call is its concurrency key. Each host gets four calls at a time, and twenty a second.
SELECT turnstile.set_concurrency('*', slots => 4, rate => 20, rate_per => '1 second', burst => 5);
-- Each account of a customer has two calls at a time, over all hosts.
SELECT turnstile.set_account('*', '*', slots => 2);
-- A host that is away is tried for about a day.
SELECT turnstile.set_queue('calls', max_attempts => 20, retry_base => '1 second', retry_cap => '2 hours');
