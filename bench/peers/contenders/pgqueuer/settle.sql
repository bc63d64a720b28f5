DELETE FROM pgqueuer WHERE status = 'picked';
