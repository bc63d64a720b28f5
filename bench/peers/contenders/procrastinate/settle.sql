SELECT procrastinate_finish_job_v1(id, 'succeeded', false) FROM procrastinate_jobs WHERE status = 'doing';
