SELECT FROM turnstile.resume_queue(name => $1)
