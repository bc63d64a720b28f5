DELETE FROM pgmq.q_bench WHERE vt > clock_timestamp() AND vt < 'infinity';
