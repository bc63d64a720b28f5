SET max_parallel_workers_per_gather = 0;
