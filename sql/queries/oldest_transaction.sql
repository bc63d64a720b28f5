-- When the first of the open transactions of this database began. Where a session does not tell, it may have been at any time.
SELECT CASE
    WHEN bool_or(
        activity.state = 'disabled' OR activity.state IS NULL AND coalesce(activity.backend_type, 'client backend') = 'client backend'
    ) THEN '-infinity'
    ELSE min(activity.xact_start)
END
FROM pg_stat_get_activity(NULL) AS activity
JOIN pg_database ON pg_database.oid = activity.datid
WHERE pg_database.datname = current_database()
