//! The SQL that `CREATE EXTENSION` runs, in order: tables, then what produces, works, operates and maintains.

use pgrx::extension_sql_file;

extension_sql_file!("../sql/schema/guard.sql", name = "guard", bootstrap);
extension_sql_file!(
    "../sql/schema/preload.sql",
    name = "preload",
    requires = ["guard"]
);
extension_sql_file!(
    "../sql/schema/version.sql",
    name = "version",
    requires = ["preload"]
);
extension_sql_file!(
    "../sql/schema/tables/keys.sql",
    name = "tables_keys",
    requires = ["version"]
);
extension_sql_file!(
    "../sql/schema/tables/settings.sql",
    name = "tables_settings",
    requires = ["tables_keys"]
);
extension_sql_file!(
    "../sql/schema/tables/endpoint.sql",
    name = "tables_endpoint",
    requires = ["tables_settings"]
);
extension_sql_file!(
    "../sql/schema/tables/retry_curve.sql",
    name = "tables_retry_curve",
    requires = ["tables_endpoint"]
);
extension_sql_file!(
    "../sql/schema/tables/in_force.sql",
    name = "tables_in_force",
    requires = ["tables_retry_curve"]
);
extension_sql_file!(
    "../sql/schema/tables/gate_setting.sql",
    name = "tables_gate_setting",
    requires = ["tables_in_force"]
);
extension_sql_file!(
    "../sql/schema/tables/job.sql",
    name = "tables_job",
    requires = ["tables_gate_setting"]
);
extension_sql_file!(
    "../sql/schema/tables/history.sql",
    name = "tables_history",
    requires = ["tables_job"]
);
extension_sql_file!(
    "../sql/schema/tables/later.sql",
    name = "tables_later",
    requires = ["tables_history"]
);
extension_sql_file!(
    "../sql/schema/tables/lane.sql",
    name = "tables_lane",
    requires = ["tables_later"]
);
extension_sql_file!(
    "../sql/schema/tables/jobs.sql",
    name = "tables_jobs",
    requires = ["tables_lane"]
);
extension_sql_file!(
    "../sql/schema/tables/dependency.sql",
    name = "tables_dependency",
    requires = ["tables_jobs"]
);
extension_sql_file!(
    "../sql/schema/tables/unique.sql",
    name = "tables_unique",
    requires = ["tables_dependency"]
);
extension_sql_file!(
    "../sql/schema/tables/route.sql",
    name = "tables_route",
    requires = ["tables_unique"]
);
extension_sql_file!(
    "../sql/schema/tables/recurring.sql",
    name = "tables_recurring",
    requires = ["tables_route"]
);
extension_sql_file!(
    "../sql/schema/tables/permission.sql",
    name = "tables_permission",
    requires = ["tables_recurring"]
);
extension_sql_file!(
    "../sql/schema/tables/upkeep.sql",
    name = "tables_upkeep",
    requires = ["tables_permission"]
);
extension_sql_file!(
    "../sql/schema/produce/enqueue.sql",
    name = "produce_enqueue",
    requires = ["tables_upkeep"]
);
extension_sql_file!(
    "../sql/schema/produce/batch.sql",
    name = "produce_batch",
    requires = ["produce_enqueue"]
);
extension_sql_file!(
    "../sql/schema/produce/recurring.sql",
    name = "produce_recurring",
    requires = ["produce_batch"]
);
extension_sql_file!(
    "../sql/schema/work/claim.sql",
    name = "work_claim",
    requires = ["produce_recurring"]
);
extension_sql_file!(
    "../sql/schema/work/complete.sql",
    name = "work_complete",
    requires = ["work_claim"]
);
extension_sql_file!(
    "../sql/schema/work/fail.sql",
    name = "work_fail",
    requires = ["work_complete"]
);
extension_sql_file!(
    "../sql/schema/work/put_back.sql",
    name = "work_put_back",
    requires = ["work_fail"]
);
extension_sql_file!(
    "../sql/schema/work/await_children.sql",
    name = "work_await_children",
    requires = ["work_put_back"]
);
extension_sql_file!(
    "../sql/schema/work/alive.sql",
    name = "work_alive",
    requires = ["work_await_children"]
);
extension_sql_file!(
    "../sql/schema/work/wait.sql",
    name = "work_wait",
    requires = ["work_alive"]
);
extension_sql_file!(
    "../sql/schema/operate/arguments.sql",
    name = "operate_arguments",
    requires = ["work_wait"]
);
extension_sql_file!(
    "../sql/schema/operate/cancel.sql",
    name = "operate_cancel",
    requires = ["operate_arguments"]
);
extension_sql_file!(
    "../sql/schema/operate/delete.sql",
    name = "operate_delete",
    requires = ["operate_cancel"]
);
extension_sql_file!(
    "../sql/schema/operate/retry.sql",
    name = "operate_retry",
    requires = ["operate_delete"]
);
extension_sql_file!(
    "../sql/schema/operate/setters.sql",
    name = "operate_setters",
    requires = ["operate_retry"]
);
extension_sql_file!(
    "../sql/schema/operate/pauses.sql",
    name = "operate_pauses",
    requires = ["operate_setters"]
);
extension_sql_file!(
    "../sql/schema/operate/routes.sql",
    name = "operate_routes",
    requires = ["operate_pauses"]
);
extension_sql_file!(
    "../sql/schema/operate/retry_curves.sql",
    name = "operate_retry_curves",
    requires = ["operate_routes"]
);
extension_sql_file!(
    "../sql/schema/operate/endpoints.sql",
    name = "operate_endpoints",
    requires = ["operate_retry_curves"]
);
extension_sql_file!(
    "../sql/schema/operate/permissions.sql",
    name = "operate_permissions",
    requires = ["operate_endpoints"]
);
extension_sql_file!(
    "../sql/schema/operate/views.sql",
    name = "operate_views",
    requires = ["operate_permissions"]
);
extension_sql_file!(
    "../sql/schema/operate/batches.sql",
    name = "operate_batches",
    requires = ["operate_views"]
);
extension_sql_file!(
    "../sql/schema/operate/statistics.sql",
    name = "operate_statistics",
    requires = ["operate_batches"]
);
extension_sql_file!(
    "../sql/schema/operate/workers.sql",
    name = "operate_workers",
    requires = ["operate_statistics"]
);
extension_sql_file!(
    "../sql/schema/operate/metrics.sql",
    name = "operate_metrics",
    requires = ["operate_workers"]
);
extension_sql_file!(
    "../sql/schema/operate/why.sql",
    name = "operate_why",
    requires = ["operate_metrics"]
);
extension_sql_file!(
    "../sql/schema/operate/recent.sql",
    name = "operate_recent",
    requires = ["operate_why"]
);
extension_sql_file!(
    "../sql/schema/operate/running.sql",
    name = "operate_running",
    requires = ["operate_recent"]
);
extension_sql_file!(
    "../sql/schema/maintain/rescue.sql",
    name = "maintain_rescue",
    requires = ["operate_running"]
);
extension_sql_file!(
    "../sql/schema/maintain/partitions.sql",
    name = "maintain_partitions",
    requires = ["maintain_rescue"]
);
extension_sql_file!(
    "../sql/schema/maintain/restore.sql",
    name = "maintain_restore",
    requires = ["maintain_partitions"]
);
extension_sql_file!(
    "../sql/schema/maintain/retention.sql",
    name = "maintain_retention",
    requires = ["maintain_restore"]
);
extension_sql_file!(
    "../sql/schema/maintain/prune.sql",
    name = "maintain_prune",
    requires = ["maintain_retention"]
);
extension_sql_file!(
    "../sql/schema/maintain/maintain.sql",
    name = "maintain_maintain",
    requires = ["maintain_prune"]
);
extension_sql_file!(
    "../sql/schema/maintain/cron_entries.sql",
    name = "maintain_cron_entries",
    requires = ["maintain_maintain"]
);
extension_sql_file!(
    "../sql/schema/maintain/cron.sql",
    name = "maintain_cron",
    requires = ["maintain_cron_entries"]
);
extension_sql_file!(
    "../sql/schema/maintain/check.sql",
    name = "maintain_check",
    requires = ["maintain_cron"]
);
extension_sql_file!(
    "../sql/schema/grants.sql",
    name = "grants",
    requires = ["maintain_check"],
    finalize
);
