SELECT count(*) FROM turnstile.job WHERE parent = %(parent)s AND state = 'available' AND priority <> 5;
