WITH gate AS (
    SELECT queues.*, queues.max_running AS slots
    FROM turnstile.queues
), stat AS (
    SELECT stat_queue.*
    FROM turnstile.stat_queue
)
