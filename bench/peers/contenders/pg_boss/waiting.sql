SELECT count(*) FROM pgboss.job WHERE state < 'active';
