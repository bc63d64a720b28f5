//! What stands above a column, and how the column is shown.

pub struct Heading {
    pub title: &'static str,
    pub width: u16,
    /// Numbers are at the right.
    pub is_right: bool,
    /// Who sorts by a number looks for the greatest.
    pub is_down: bool,
    /// Where the screen is narrow, those with the highest go first; 0 never goes.
    pub rank: u8,
}

pub const fn text(title: &'static str, width: u16, rank: u8) -> Heading {
    Heading {
        title,
        width,
        is_right: false,
        is_down: false,
        rank,
    }
}

pub const fn bar(title: &'static str, width: u16, rank: u8) -> Heading {
    Heading {
        title,
        width,
        is_right: false,
        is_down: true,
        rank,
    }
}

pub const fn number(title: &'static str, width: u16, rank: u8) -> Heading {
    Heading {
        title,
        width,
        is_right: true,
        is_down: true,
        rank,
    }
}
