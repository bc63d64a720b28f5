SELECT turnstile.set_endpoint('bench', %(url)s, allow_private => true);
