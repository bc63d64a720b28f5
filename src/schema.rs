//! The SQL that `CREATE EXTENSION` runs, in order.

use pgrx::extension_sql_file;

extension_sql_file!("../sql/schema/guard.sql", name = "guard", bootstrap);
extension_sql_file!(
    "../sql/schema/preload.sql",
    name = "preload",
    requires = ["guard"]
);
extension_sql_file!(
    "../sql/schema/keys.sql",
    name = "keys",
    requires = ["preload"]
);
extension_sql_file!(
    "../sql/schema/settings.sql",
    name = "settings",
    requires = ["keys"]
);
extension_sql_file!(
    "../sql/schema/job.sql",
    name = "job",
    requires = ["settings"]
);
extension_sql_file!(
    "../sql/schema/history.sql",
    name = "history",
    requires = ["job"]
);
extension_sql_file!(
    "../sql/schema/triggers.sql",
    name = "triggers",
    requires = ["history"]
);
extension_sql_file!(
    "../sql/schema/shared.sql",
    name = "shared",
    requires = ["triggers"]
);
extension_sql_file!(
    "../sql/schema/unique.sql",
    name = "unique",
    requires = ["shared"]
);
extension_sql_file!(
    "../sql/schema/functions.sql",
    name = "functions",
    requires = ["unique"]
);
extension_sql_file!(
    "../sql/schema/setters.sql",
    name = "setters",
    requires = ["functions"]
);
extension_sql_file!(
    "../sql/schema/routes.sql",
    name = "routes",
    requires = ["setters"]
);
extension_sql_file!(
    "../sql/schema/retention.sql",
    name = "retention",
    requires = ["routes"]
);
extension_sql_file!(
    "../sql/schema/maintain.sql",
    name = "maintain",
    requires = ["retention"]
);
extension_sql_file!(
    "../sql/schema/lifecycle.sql",
    name = "lifecycle",
    requires = ["maintain"]
);
extension_sql_file!(
    "../sql/schema/recurring.sql",
    name = "recurring",
    requires = ["lifecycle"]
);
extension_sql_file!(
    "../sql/schema/pauses.sql",
    name = "pauses",
    requires = ["recurring"]
);
extension_sql_file!(
    "../sql/schema/views.sql",
    name = "views",
    requires = ["pauses"]
);
extension_sql_file!(
    "../sql/schema/waiting.sql",
    name = "waiting",
    requires = ["views"]
);
extension_sql_file!(
    "../sql/schema/permissions.sql",
    name = "permissions",
    requires = ["waiting"]
);
extension_sql_file!(
    "../sql/schema/grants.sql",
    name = "grants",
    requires = ["permissions"],
    finalize
);
