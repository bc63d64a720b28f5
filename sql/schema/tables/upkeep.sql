-- What maintain() remembers. A dump does not carry it.

CREATE TABLE turnstile.history_pass (
    partition regclass NOT NULL,
    policy text NOT NULL,
    looking boolean NOT NULL,
    next_block bigint NOT NULL DEFAULT 0,
    finished boolean NOT NULL DEFAULT false,
    rows_inserted bigint NOT NULL,
    CONSTRAINT history_pass_pkey PRIMARY KEY (partition)
);
COMMENT ON TABLE turnstile.history_pass IS
    'For maintain(): how far it is in partitions that are not dropped as a whole.';
COMMENT ON COLUMN turnstile.history_pass.partition IS 'The partition.';
COMMENT ON COLUMN turnstile.history_pass.policy IS 'Which queues no longer keep their jobs of that day, as a hash.';
COMMENT ON COLUMN turnstile.history_pass.looking IS
    'True: looks whether any job stays. False: one does, and the others are deleted.';
COMMENT ON COLUMN turnstile.history_pass.next_block IS 'The block to go on with.';
COMMENT ON COLUMN turnstile.history_pass.finished IS 'The pass is over.';
COMMENT ON COLUMN turnstile.history_pass.rows_inserted IS
    'The count of inserts when the look began. A later count makes it void.';

CREATE TABLE turnstile.maintain_task (
    name text NOT NULL,
    CONSTRAINT maintain_task_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE turnstile.maintain_task IS
    'The tasks of maintain(). A session that runs a task locks its row; others could take an advisory lock.';
COMMENT ON COLUMN turnstile.maintain_task.name IS 'The task.';
INSERT INTO turnstile.maintain_task (name)
VALUES ('rescue'), ('promote'), ('fire recurring'), ('thin history'), ('prune unique keys'), ('prune batches'), ('make partitions'), ('drop partitions');
