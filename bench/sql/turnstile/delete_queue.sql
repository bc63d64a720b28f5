DELETE FROM turnstile.job WHERE queue = %(queue)s;
