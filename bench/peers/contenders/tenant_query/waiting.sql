SELECT count(*) FROM job WHERE state = 'available' AND tenant NOT LIKE 'full-%%';
