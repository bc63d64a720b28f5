-- Who may do what. Run it after each change: what is not here any more is taken back.
BEGIN;

SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['shop_web', 'shop_mailer', 'shop_support', 'shop_operator', 'shop_monitor']) AS name
WHERE to_regrole(name) IS NULL \gexec
SELECT turnstile.disallow(oid) FROM pg_roles WHERE rolname LIKE 'shop\_%';

-- The pages enqueue, and show what has become of it.
SELECT turnstile.allow_producer('shop_web', '{mail,default}');
SELECT turnstile.allow_tenant('shop_web', '{*}');
-- A worker gets at the jobs of its queues only.
SELECT turnstile.allow_worker('shop_mailer', '{mail}');
-- Support sees and manages the jobs of one customer.
SELECT turnstile.allow_tenant('shop_support', '{acme}');
-- Operators change settings, pause and move; they also see errors, to retry by them.
SELECT turnstile.allow_operator('shop_operator');
SELECT turnstile.allow_tenant('shop_operator', '{*}');
-- Figures only.
SELECT turnstile.allow_monitor('shop_monitor');

COMMIT;
