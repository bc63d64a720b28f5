-- What a number stands for: 12 queues, 20 kinds, 1,000 tenants of which the first has a fifth of the jobs, with 5 accounts each, 2,000
-- sessions and 500 keys; and what went wrong, if something did.
CREATE OR REPLACE FUNCTION turnstile_bench.named(first bigint, last bigint)
RETURNS TABLE (
    id bigint, queue text, kind text, tenant text, account text, session text, concurrency_key text, payload jsonb, error text
)
LANGUAGE sql IMMUTABLE
AS $$
SELECT
    number,
    (ARRAY['mail', 'webhook', 'report', 'export', 'import', 'image', 'video', 'search', 'billing', 'sync', 'cleanup', 'default'])
        [1 + number * 31 % 12],
    (ARRAY['send_mail', 'call_webhook', 'make_report', 'export_table', 'import_file', 'resize_image', 'encode_video', 'index_page',
        'charge_card', 'sync_contacts', 'remove_files', 'send_invoice', 'render_pdf', 'fetch_feed', 'warm_cache', 'score_lead',
        'geocode', 'translate', 'notify', 'archive']) [1 + number * 17 % 20],
    CASE
        WHEN number % 5 = 0 THEN 'tenant-0001'
        WHEN number % 50 <> 1 THEN 'tenant-' || lpad((1 + number * 7919 % 1000)::text, 4, '0')
    END,
    CASE WHEN number % 3 = 0 AND number % 50 <> 1 THEN 'account-' || number / 5 % 5 END,
    CASE WHEN number % 40 = 7 THEN 'session-' || number / 40 % 2000 END,
    CASE WHEN number % 25 = 4 THEN 'key-' || lpad((number / 25 % 500)::text, 3, '0') END,
    jsonb_build_object(
        'order', number, 'customer', number % 10007, 'address', 'user-' || number % 10007 || '@example.org', 'large', number % 97 = 0
    ),
    (ARRAY[
        'connection refused', 'timeout after 30 s', E'HTTP 503 Service Unavailable\nRetry-After: 120', 'HTTP 429 Too Many Requests',
        E'KeyError: ''customer''\n  File "worker.py", line 112, in run\n  File "orders.py", line 7, in load',
        E'panicked at src/main.rs:41\nnote: run with a backtrace', 'no such file: /data/in/' || number || '.csv', 'out of memory'
    ]) [1 + number * 13 % 8]
FROM generate_series(first, last) AS number
$$
