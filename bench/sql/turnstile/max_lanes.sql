SELECT current_setting('turnstile.max_lanes', true)::bigint;
