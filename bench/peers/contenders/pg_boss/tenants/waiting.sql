SELECT count(*) FROM pgboss.job WHERE state < 'active' AND group_tier = 'open';
