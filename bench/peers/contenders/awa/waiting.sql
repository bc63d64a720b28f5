SELECT coalesce(sum(greatest(awa.sequence_next_value(enqueued.seq_name) - awa.sequence_next_value(claimed.seq_name), 0)), 0)::bigint
FROM awa.queue_enqueue_heads AS enqueued
JOIN awa.queue_claim_heads AS claimed USING (queue, priority, enqueue_shard);
