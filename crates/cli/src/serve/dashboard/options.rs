//! What the dashboard is told when it is started.

pub struct Options {
    /// Without the slash at its end.
    pub base: String,
    pub allow_writes: bool,
    /// Names besides those of this machine under which browsers may reach pages that ask for no login.
    pub hosts: Vec<String>,
}
