SELECT turnstile.listen_channel(%(queue)s);
