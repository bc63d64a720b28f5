CALL turnstile.wait_for_job(ARRAY[%(queue)s], '1 minute');
