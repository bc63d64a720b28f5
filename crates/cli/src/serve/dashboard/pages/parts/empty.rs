//! Notes in the place of what is not there.

use maud::{Markup, html};

use crate::serve::dashboard::html::note;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::view::View;

/// The database lacks the extension.
pub fn not_installed(view: &View) -> Markup {
    let text = format!(
        "The database {} does not have the extension turnstile.",
        view.can.database
    );
    note::with(
        Tone::Bad,
        "Turnstile is not installed here",
        &text,
        Some("Connect to another database, or install it in this one:"),
        html! { pre { "CREATE EXTENSION turnstile;" } },
    )
}

/// The role may see nothing of it.
pub fn no_rights(view: &View) -> Markup {
    let role = &view.can.role;
    note::with(
        Tone::Info,
        &format!("The role {role} may see nothing here"),
        "What a viewer sees and changes is decided by the rights of its role in the database.",
        Some(
            "The owner of the extension can allow figures, or figures and levers, or the jobs of some tenants:",
        ),
        html! {
            pre {
                "SELECT turnstile.allow_monitor('…');\n"
                "SELECT turnstile.allow_operator('…');\n"
                "SELECT turnstile.allow_tenant('…', '{tenant}');"
            }
        },
    )
}
