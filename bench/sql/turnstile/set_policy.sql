SELECT turnstile.set_queue(%(queue)s, policy => %(policy)s);
