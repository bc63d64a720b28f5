SELECT coalesce(sum(pending_events), 0)::bigint FROM pgq.get_consumer_info('bench', 'bench');
