SELECT count(*) FROM pgqueuer WHERE status = 'queued';
