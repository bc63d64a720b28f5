WITH gone AS (
    DELETE FROM graphile_worker._private_jobs WHERE locked_by IS NOT NULL RETURNING job_queue_id
)
UPDATE graphile_worker._private_job_queues SET locked_by = NULL, locked_at = NULL
WHERE id IN (SELECT job_queue_id FROM gone) OR locked_by IS NOT NULL;
