SELECT turnstile.enqueue('bench', jsonb_build_object('maker', pg_current_xact_id()), %(queue)s);
