SELECT count(*) FROM job WHERE state = 'available';
