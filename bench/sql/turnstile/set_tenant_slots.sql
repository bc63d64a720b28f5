INSERT INTO turnstile.tenant (name, slots) VALUES (%(tenant)s, %(slots)s);
