INSERT INTO turnstile.queue (name, keep_completed) VALUES ('audit', '-1')
