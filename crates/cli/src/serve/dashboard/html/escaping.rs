//! Text that users gave is text in every place where it is written.

use maud::{Markup, html};

use super::tone::Tone;
use super::{
    badge, bar, chart, form, json, layout, note, number, parts, stat, table, tabs, timeline,
};

const EVIL: &str = "\"'><script>alert(1)</script>";

fn kept(place: &str, markup: Markup) {
    let text = markup.into_string();
    assert!(!text.contains("<script>alert"), "{place}: {text}");
    assert!(!text.contains(EVIL), "{place}: {text}");
    assert!(
        text.contains("&lt;script&gt;"),
        "{place} does not show its text: {text}"
    );
    // A quote within an attribute would end it.
    assert!(!text.contains("\"\"'"), "{place}: {text}");
}

fn safe() -> Markup {
    html! { "x" }
}

#[test]
fn words() {
    kept("state", badge::state(EVIL));
    kept("large state", badge::state_large(EVIL));
    kept("tone", badge::tone(Tone::Bad, EVIL));
    kept("note", note::note(Tone::Bad, EVIL, "x", None));
    kept("note's text", note::note(Tone::Bad, "x", EVIL, None));
    kept("note's hint", note::note(Tone::Bad, "x", "x", Some(EVIL)));
    kept("empty", note::empty(EVIL));
    kept("link", parts::link("/", EVIL));
    kept("link's address", parts::link(EVIL, "x"));
    kept("job", parts::job(EVIL, 1));
    kept("name", parts::name(EVIL));
    kept("mono", parts::mono(EVIL));
    kept("block", parts::block(EVIL));
    kept("cut", parts::cut(EVIL, 16));
    kept("faint", parts::faint(EVIL));
    kept("unit", number::with_unit("1", EVIL, None));
    kept(
        "unit's title",
        number::with_unit("1", "x", Some(EVIL.to_owned())),
    );
    kept("json", json::folded("x", &format!("\"{EVIL}\"")));
    kept("json's summary", json::folded(EVIL, "1"));
}

#[test]
fn tables_and_tiles() {
    let head = |label, title| table::Head {
        label,
        title,
        ..table::Head::default()
    };
    let row = || vec![vec![safe()]];
    kept("head", table::table(&[head(EVIL, None)], row(), "x", "x"));
    kept(
        "head's title",
        table::table(&[head("x", Some(EVIL))], row(), "x", "x"),
    );
    kept(
        "caption",
        table::table(&[head("x", None)], row(), EVIL, "x"),
    );
    kept(
        "empty",
        table::table(&[head("x", None)], Vec::new(), "x", EVIL),
    );
    let sorted = table::Head::text("x").sorted(EVIL.to_owned(), Some(table::Order::Ascending));
    kept("sort", table::table(&[sorted], row(), "x", "x"));
    kept("pairs", table::pairs(&[(EVIL, safe())]));
    let tile = stat::Tile {
        label: "x",
        ..stat::Tile::default()
    };
    for (place, tile) in [
        (
            "label",
            stat::Tile {
                label: EVIL,
                ..tile.clone()
            },
        ),
        (
            "value",
            stat::Tile {
                value: EVIL.to_owned(),
                ..tile.clone()
            },
        ),
        (
            "unit",
            stat::Tile {
                unit: EVIL,
                ..tile.clone()
            },
        ),
        (
            "note",
            stat::Tile {
                note: Some(EVIL.to_owned()),
                ..tile.clone()
            },
        ),
        (
            "href",
            stat::Tile {
                href: Some(EVIL.to_owned()),
                ..tile.clone()
            },
        ),
    ] {
        kept(place, stat::tiles(&[tile]));
    }
    for step in [
        timeline::Step {
            title: EVIL.to_owned(),
            ..timeline::Step::default()
        },
        timeline::Step {
            detail: EVIL.to_owned(),
            ..timeline::Step::default()
        },
    ] {
        kept("step", timeline::timeline(&[step], 0.0));
    }
    let tab = |label, href: &str| tabs::Tab {
        label,
        href: href.to_owned(),
        icon: None,
        count: Some(1),
        is_here: true,
    };
    kept("tabs", tabs::tabs(EVIL, &[tab("x", "x")]));
    kept("tabs", tabs::tabs("x", &[tab(EVIL, "x")]));
    kept("tabs", tabs::tabs("x", &[tab("x", EVIL)]));
}

#[test]
fn forms() {
    kept("action", form::button(EVIL, "x", &[], Tone::Plain));
    kept("label", form::button("/", EVIL, &[], Tone::Plain));
    kept(
        "hidden",
        form::button("/", "x", &[("x", EVIL)], Tone::Plain),
    );
    kept(
        "hidden's name",
        form::button("/", "x", &[(EVIL, "x")], Tone::Plain),
    );
    kept("link", form::link_button(EVIL, "x", Tone::Plain));
    kept("link", form::link_button("/", EVIL, Tone::Plain));
    kept("post", form::post(EVIL, safe(), &[], "x", Tone::Plain));
    kept("post", form::post("/", safe(), &[], EVIL, Tone::Plain));
    type Field = fn(&str, &str, &str, &str) -> Markup;
    kept("was", form::was("x", Some(EVIL)));
    for field in [form::input as Field, form::search] {
        kept("field's name", field(EVIL, "x", "x", "x"));
        kept("field's label", field("x", EVIL, "x", "x"));
        kept("field's value", field("x", "x", EVIL, "x"));
        kept("field's placeholder", field("x", "x", "x", EVIL));
    }
    kept("number", form::number(EVIL, "x", None, "x"));
    kept("number", form::number("x", EVIL, None, "x"));
    kept("number", form::number("x", "x", None, EVIL));
    kept("select", form::select(EVIL, "x", &[], "x"));
    kept("select", form::select("x", EVIL, &[], "x"));
    kept("option", form::select("x", "x", &[(EVIL, "x")], "x"));
    kept("option", form::select("x", "x", &[("x", EVIL)], "x"));
    kept("filters", form::filters(EVIL, safe(), &[], None));
    kept("filters", form::filters("x", safe(), &[("x", EVIL)], None));
    kept("filters", form::filters("x", safe(), &[], Some(EVIL)));
}

#[test]
fn charts() {
    let points = || vec![(0.0, Some(1.0)), (1.0, Some(2.0))];
    kept("spark", chart::spark(&points(), EVIL));
    let evil = [chart::Series {
        name: EVIL,
        points: points(),
    }];
    let plain = [chart::Series {
        name: "x",
        points: points(),
    }];
    let of = |title, unit, series| {
        chart::lines(chart::Chart {
            title,
            unit,
            series,
            from: 0.0,
            to: 1.0,
            height: 9,
        })
    };
    kept("series", of("x", "x", &evil));
    kept("title", of(EVIL, "x", &plain));
    kept("unit", of("x", EVIL, &plain));
    // Nothing in them comes from users.
    let _ = (
        bar::used(1, None),
        bar::share(1, 2),
        bar::progress(1, 1, 1, 9),
        bar::histogram(&[1], &[1, 2]),
    );
}

#[test]
fn the_frame() {
    let item = layout::NavItem {
        key: "x",
        label: "x",
        href: "x",
    };
    let frame = layout::Frame {
        base: "",
        title: "x",
        here: "x",
        nav: &[],
        who: "x",
        writes: true,
        live_url: None,
        seen: None,
        database: "x",
        notice: None,
        now: 0.0,
    };
    let notice = layout::Notice {
        text: EVIL.to_owned(),
    };
    let label = [layout::NavItem {
        label: EVIL,
        ..item
    }];
    let href = [layout::NavItem { href: EVIL, ..item }];
    for (place, frame) in [
        (
            "base",
            layout::Frame {
                base: EVIL,
                ..frame.clone()
            },
        ),
        (
            "title",
            layout::Frame {
                title: EVIL,
                ..frame.clone()
            },
        ),
        (
            "label",
            layout::Frame {
                nav: &label,
                ..frame.clone()
            },
        ),
        (
            "href",
            layout::Frame {
                nav: &href,
                ..frame.clone()
            },
        ),
        (
            "who",
            layout::Frame {
                who: EVIL,
                ..frame.clone()
            },
        ),
        (
            "live",
            layout::Frame {
                live_url: Some(EVIL),
                seen: Some(EVIL),
                ..frame.clone()
            },
        ),
        (
            "database",
            layout::Frame {
                database: EVIL,
                ..frame.clone()
            },
        ),
        (
            "notice",
            layout::Frame {
                notice: Some(&notice),
                ..frame.clone()
            },
        ),
    ] {
        kept(place, layout::page(frame, safe()));
    }
    kept("trail", layout::trail(&[(EVIL, "x")]));
    kept("trail", layout::trail(&[("x", EVIL)]));
    kept("live", layout::live(EVIL, safe()));
    kept("section", layout::section(EVIL, safe()));
    kept("section", layout::section_with(EVIL, safe(), safe()));
}
