UPDATE job SET state = 'completed' WHERE state = 'running' AND tenant NOT LIKE 'full-%%';
