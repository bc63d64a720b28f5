UPDATE job SET state = 'completed' WHERE state = 'running';
