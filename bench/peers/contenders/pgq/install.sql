CREATE EXTENSION pgq;
SELECT pgq.create_queue('bench');
-- The ticker does not notice the very first event of a queue.
SELECT pgq.insert_event('bench', 'first', '{}');
SELECT pgq.register_consumer('bench', 'bench');
