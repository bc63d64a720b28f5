TABLE turnstile.accounts;
