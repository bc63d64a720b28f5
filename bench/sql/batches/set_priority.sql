UPDATE turnstile.batch SET priority = 5 WHERE id = %(parent)s;
