SELECT task, affected FROM turnstile.maintain()
