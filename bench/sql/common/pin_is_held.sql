SELECT backend_xmin IS NOT NULL AND backend_xid IS NOT NULL
FROM pg_stat_activity
WHERE pid = %(pid)s;
