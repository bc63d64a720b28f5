-- A device that is away is tried again and again, once a minute in the end. Its other commands wait meanwhile: they are in order.
SELECT turnstile.set_queue('devices', max_attempts => 1000, retry_base => '1 second', retry_cap => '1 minute');
