SELECT FROM turnstile.pause_queue(name => $1)
