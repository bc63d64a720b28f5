SELECT turnstile.rebuild();
