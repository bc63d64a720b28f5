-- The triggers that connect the tables with the scheduler. ALWAYS: also under session_replication_role = replica.

CREATE FUNCTION turnstile.job_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_job_changed';
COMMENT ON FUNCTION turnstile.job_changed() IS
    'Notes a changed job for the scheduler, which is told after the commit.';
CREATE FUNCTION turnstile.job_truncated() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_job_truncated';
COMMENT ON FUNCTION turnstile.job_truncated() IS
    'Makes the scheduler rebuild its memory after TRUNCATE.';
CREATE FUNCTION turnstile.setting_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_setting_changed';
COMMENT ON FUNCTION turnstile.setting_changed() IS
    'Makes the next claim read a changed limit.';
CREATE FUNCTION turnstile.settings_truncated() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_settings_truncated';
COMMENT ON FUNCTION turnstile.settings_truncated() IS
    'Makes the next claims read all limits of a kind.';

CREATE FUNCTION turnstile.place_job() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_place_job';
COMMENT ON FUNCTION turnstile.place_job() IS
    'Puts a job into its lane. A job that is available with run_at ahead becomes scheduled.';

-- Not on every UPDATE: a claim changes none of these.
CREATE TRIGGER place_job BEFORE INSERT OR UPDATE OF
    lane, priority, run_at, holds_session, queue, tenant, account, session, concurrency_key, unique_key, unique_mode
    ON turnstile.job
    FOR EACH ROW EXECUTE FUNCTION turnstile.place_job();
CREATE TRIGGER publish_change AFTER INSERT OR UPDATE OR DELETE ON turnstile.job
    FOR EACH ROW EXECUTE FUNCTION turnstile.job_changed();
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.job
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.job_truncated();
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER place_job;
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER publish_change;
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER publish_truncate;

CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.queue
    FOR EACH ROW EXECUTE FUNCTION turnstile.setting_changed('queue');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.tenant
    FOR EACH ROW EXECUTE FUNCTION turnstile.setting_changed('tenant');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.account
    FOR EACH ROW EXECUTE FUNCTION turnstile.setting_changed('account');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.concurrency
    FOR EACH ROW EXECUTE FUNCTION turnstile.setting_changed('concurrency');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.paused_session
    FOR EACH ROW EXECUTE FUNCTION turnstile.setting_changed('session');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.queue
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.settings_truncated('queue');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.tenant
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.settings_truncated('tenant');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.account
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.settings_truncated('account');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.concurrency
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.settings_truncated('concurrency');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.paused_session
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.settings_truncated('session');
ALTER TABLE turnstile.queue ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.tenant ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.account ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.concurrency ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.paused_session ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.queue ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.tenant ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.account ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.concurrency ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.paused_session ENABLE ALWAYS TRIGGER publish_truncate;
