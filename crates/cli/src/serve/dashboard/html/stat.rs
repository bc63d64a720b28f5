//! Figures that are read from afar.

use maud::{Markup, html};

use super::icon::icon;
use super::tone::Tone;

#[derive(Clone, Debug, Default)]
pub struct Tile<'a> {
    pub label: &'a str,
    pub value: String,
    pub unit: &'a str,
    pub note: Option<String>,
    pub tone: Tone,
    /// Where one reads more.
    pub href: Option<String>,
}

pub fn tiles(tiles: &[Tile<'_>]) -> Markup {
    html! {
        dl.tiles {
            @for tile in tiles {
                div class={ "tile " (tile.tone.class()) } {
                    dt {
                        @if !matches!(tile.tone, Tone::Plain | Tone::Info) { (icon(tile.tone.icon())) }
                        @match &tile.href {
                            Some(href) => a href=(href) { (tile.label) },
                            None => (tile.label),
                        }
                    }
                    dd {
                        span.value { (tile.value) }
                        @if !tile.unit.is_empty() { " " span.unit { (tile.unit) } }
                        @if let Some(note) = &tile.note { span.tile-note { (note) } }
                    }
                }
            }
        }
    }
}
