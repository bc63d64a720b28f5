SELECT turnstile.complete(%(id)s, %(attempt)s);
