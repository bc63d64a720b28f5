//! What may be done to jobs.

/// What a row of `turnstile.permission` is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    Enqueue,
    Work,
    Manage,
    See,
}

impl Verb {
    pub const ALL: [Self; 4] = [Self::Enqueue, Self::Work, Self::Manage, Self::See];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Work => "work",
            Self::Manage => "manage",
            Self::See => "see",
        }
    }
}
