UPDATE pgboss.job SET state = 'completed', completed_on = now()
WHERE state = 'active' AND group_id IS DISTINCT FROM 'full' AND coalesce(group_tier, 'open') = 'open';
