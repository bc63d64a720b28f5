-- The limit behind the first of the gates $1 that has a row; no row: no limit.
SELECT CASE WHEN account.paused THEN 0 ELSE account.slots END
FROM turnstile.account
WHERE account.gate = ANY ($1)
ORDER BY array_position($1, account.gate)
LIMIT 1
