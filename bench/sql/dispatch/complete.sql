SELECT turnstile.complete_many(%(ids)s, %(attempts)s);
