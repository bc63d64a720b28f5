-- Nothing is for everybody: an administrator grants EXECUTE to producers and workers.
REVOKE ALL ON SCHEMA turnstile FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA turnstile FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA turnstile FROM PUBLIC;
REVOKE ALL ON ALL ROUTINES IN SCHEMA turnstile FROM PUBLIC;
REVOKE ALL ON TYPE turnstile.claimed_job FROM PUBLIC;
