INSERT INTO turnstile_bench.full_tenant (tenant) VALUES (%(tenant)s);
