//! A page without what all pages have.

use maud::Markup;

pub struct Content {
    pub title: String,
    pub regions: Vec<Region>,
}

pub struct Region {
    pub id: &'static str,
    pub html: Markup,
    /// Whether it is sent again when it has changed.
    pub is_live: bool,
}

impl Content {
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            regions: Vec::new(),
        }
    }

    pub fn live(mut self, id: &'static str, html: Markup) -> Self {
        self.regions.push(Region {
            id,
            html,
            is_live: true,
        });
        self
    }

    /// What a viewer types into must not change under its hands.
    pub fn still(mut self, id: &'static str, html: Markup) -> Self {
        self.regions.push(Region {
            id,
            html,
            is_live: false,
        });
        self
    }
}
