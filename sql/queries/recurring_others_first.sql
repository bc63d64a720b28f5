-- The recurring job $1 has more to make up for, and is due from now on: after those that have been due before.
UPDATE turnstile.recurring
SET retry_at = pg_catalog.clock_timestamp()
WHERE recurring.name = $1
