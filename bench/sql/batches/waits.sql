SELECT EXISTS (SELECT FROM turnstile.job WHERE queue = %(queue)s);
