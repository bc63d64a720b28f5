SELECT * FROM turnstile.why_waiting_summary();
