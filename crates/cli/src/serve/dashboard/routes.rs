//! The table of all that the dashboard answers. The router is made of it, and the tests go through it.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;

use super::content::Content;
use super::fields::Fields;
use super::levers::done::Done;
use super::levers::{self, gate};
use super::pages;
use super::view::View;
use crate::listener::Problem;

pub type Drawn = Pin<Box<dyn Future<Output = Result<Content, Problem>> + Send>>;
pub type Acted = Pin<Box<dyn Future<Output = Result<Done, Problem>> + Send>>;

/// What a viewer must be able to read for a page to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    Nothing,
    Figures,
    Jobs,
}

pub struct Page {
    pub path: &'static str,
    pub needs: Needs,
    /// Where it stands in the navigation.
    pub label: Option<&'static str>,
    pub draw: fn(View) -> Drawn,
}

/// What changes something. It is posted to.
pub struct Lever {
    pub path: &'static str,
    /// The function of the schema that it calls.
    pub function: &'static str,
    pub act: fn(View, Fields) -> Acted,
}

macro_rules! page {
    ($path:literal, $needs:ident, $label:expr, $draw:path) => {
        Page {
            path: $path,
            needs: Needs::$needs,
            label: $label,
            draw: |view| Box::pin($draw(view)),
        }
    };
}

macro_rules! lever {
    ($path:literal, $function:literal, $act:path) => {
        Lever {
            path: $path,
            function: $function,
            act: |view, fields| Box::pin($act(view, fields)),
        }
    };
}

macro_rules! gate_lever {
    ($path:literal, $function:literal, $gate:ident, $act:ident) => {
        Lever {
            path: $path,
            function: $function,
            act: |view, fields| Box::pin(gate::$act(&gate::$gate, view, fields)),
        }
    };
}

pub const PAGES: &[Page] = &[
    page!("/", Nothing, Some("Overview"), pages::overview::draw),
    page!("/queues", Figures, Some("Queues"), pages::queues::draw),
    page!("/queue", Figures, None, pages::queue::draw),
    page!("/tenants", Figures, Some("Tenants"), pages::tenants::draw),
    page!("/tenant", Figures, None, pages::tenant::draw),
    page!("/keys", Figures, Some("Keys"), pages::keys::draw),
    page!("/jobs", Jobs, Some("Jobs"), pages::jobs::draw),
    page!("/jobs/change", Jobs, None, pages::preview::draw),
    page!("/job", Jobs, None, pages::job::draw),
    page!("/batches", Figures, Some("Batches"), pages::batches::draw),
    page!("/batch", Figures, None, pages::batch::draw),
    page!("/failures", Jobs, Some("Failures"), pages::failures::draw),
    page!(
        "/recurring",
        Nothing,
        Some("Recurring"),
        pages::recurring::draw
    ),
    page!("/workers", Figures, Some("Workers"), pages::workers::draw),
    page!("/health", Nothing, Some("Health"), pages::health::draw),
    page!("/change", Jobs, None, pages::change::draw),
];

pub const LEVERS: &[Lever] = &[
    gate_lever!("/queue/pause", "pause_queue", QUEUE, pause),
    gate_lever!("/queue/resume", "resume_queue", QUEUE, resume),
    gate_lever!("/queue/limits", "set_queue", QUEUE, limits),
    gate_lever!("/tenant/pause", "pause_tenant", TENANT, pause),
    gate_lever!("/tenant/resume", "resume_tenant", TENANT, resume),
    gate_lever!("/tenant/limits", "set_tenant", TENANT, limits),
    gate_lever!("/account/pause", "pause_account", ACCOUNT, pause),
    gate_lever!("/account/resume", "resume_account", ACCOUNT, resume),
    gate_lever!("/account/limits", "set_account", ACCOUNT, limits),
    gate_lever!("/key/pause", "pause_concurrency", KEY, pause),
    gate_lever!("/key/resume", "resume_concurrency", KEY, resume),
    gate_lever!("/key/limits", "set_concurrency", KEY, limits),
    lever!("/session/pause", "pause_session", levers::session::pause),
    lever!("/session/resume", "resume_session", levers::session::resume),
    lever!("/batch/limits", "set_batch", levers::batch::limits),
    lever!("/batch/pause", "set_batch", levers::batch::pause),
    lever!("/batch/resume", "set_batch", levers::batch::resume),
    lever!("/job/retry", "retry", levers::job::retry),
    lever!("/job/cancel", "cancel", levers::job::cancel),
    lever!("/job/discard", "discard", levers::job::discard),
    lever!("/job/priority", "reprioritize", levers::job::reprioritize),
    lever!("/jobs/retry", "retry_many", levers::many::retry),
    lever!("/jobs/cancel", "cancel_many", levers::many::cancel),
    lever!("/jobs/discard", "discard_many", levers::many::discard),
    lever!("/change/stop", "", levers::many::stop),
];

impl Page {
    pub fn is_open_to(&self, view: &View) -> bool {
        match self.needs {
            Needs::Nothing => true,
            Needs::Figures => view.can.figures(),
            Needs::Jobs => view.can.jobs(),
        }
    }
}

/// The table as JSON, for the tests.
pub fn listed() -> serde_json::Value {
    let pages = PAGES
        .iter()
        .map(|page| serde_json::json!({"method": "GET", "path": page.path, "needs": page.needs}));
    let levers = LEVERS.iter().map(|lever| {
        serde_json::json!({"method": "POST", "path": lever.path, "function": lever.function})
    });
    pages.chain(levers).collect()
}
