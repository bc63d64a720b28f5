-- The data of the reports.
CREATE TABLE sale (
    tenant text NOT NULL,
    day date NOT NULL,
    amount numeric NOT NULL
);
CREATE INDEX ON sale (tenant, day);

INSERT INTO sale
SELECT tenant, day, round((random() * 100)::numeric, 2)
FROM unnest(ARRAY['acme', 'globex']) AS tenant,
    generate_series(date '2025-01-01', date '2025-12-31', interval '1 day') AS day;

-- How the work flows: tenants take turns, and no tenant has more than two jobs at once.
SELECT turnstile.set_queue('reports', policy => 'fair');
SELECT turnstile.set_tenant('*', slots => 2);
