SELECT FROM turnstile.set_batch(id => $1, paused => $2)
