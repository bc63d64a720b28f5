SELECT pgmq.create_fifo_index('bench');
