SELECT to_regprocedure('turnstile.rebuild()') IS NOT NULL;
