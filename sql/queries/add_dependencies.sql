-- Has each of the jobs $1 come after the job at the same place in $2, where $3 says whether any end will do, and $4 whether it stays
-- blocked after a wrong end.
INSERT INTO turnstile.dependency (job, predecessor, any_end, holds)
SELECT DISTINCT given.job, given.predecessor, given.any_end, given.holds
FROM unnest($1, $2, $3, $4) AS given (job, predecessor, any_end, holds)
ON CONFLICT DO NOTHING
