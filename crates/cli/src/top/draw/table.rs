//! The table, in the columns for which the screen has room.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell as Widget, Paragraph, Row as WidgetRow, Table, TableState, Wrap};

use super::style::{bad, color, faint, strong, tone};
use crate::top::figures::MOST_ROWS;
use crate::top::sheets::{Cell, Heading, Order, Row, Sheet};
use crate::top::state::{Link, State};

const GAP: u16 = 1;

pub fn draw(frame: &mut Frame, state: &mut State, area: Rect) {
    // The heading takes a line.
    state.page = usize::from(area.height.saturating_sub(1)).max(1);
    let order = state.order();
    match (&state.sheet, &state.refusal, order) {
        (_, Some(refusal), _) => {
            frame.render_widget(
                Paragraph::new(refusal.clone())
                    .style(bad())
                    .wrap(Wrap { trim: false }),
                area,
            );
        }
        (Some(sheet), None, Some(order)) if !sheet.rows.is_empty() => {
            sheet_of(frame, state, sheet, order, area)
        }
        (Some(_), ..) => frame.render_widget(Paragraph::new(nothing(state)).style(faint()), area),
        _ => {}
    }
}

fn nothing(state: &State) -> String {
    let what = state.subject.title().to_lowercase();
    if state.filter.is_empty() {
        format!("There are no {what}.")
    } else {
        format!("No {what} have {:?} in their names.", state.filter)
    }
}

fn sheet_of(frame: &mut Frame, state: &State, sheet: &Sheet, order: Order, area: Rect) {
    let columns = columns(sheet.headings, area.width);
    let widths = widths(sheet, &columns, area.width);
    let rows = sheet
        .rows
        .iter()
        .map(|row| widget_row(row, &columns, &widths));
    let head = WidgetRow::new(
        columns
            .iter()
            .map(|(at, heading)| title(heading, (*at == order.column).then_some(order.is_down))),
    );
    let mut table = Table::new(rows, widths.iter().map(|width| Constraint::Length(*width)))
        .header(head.style(strong()))
        .column_spacing(GAP)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    if matches!(state.link, Link::Lost { .. }) {
        // What is shown is old.
        table = table.style(faint());
    }
    frame.render_stateful_widget(
        table,
        area,
        &mut TableState::new()
            .with_selected(state.selected)
            .with_offset(offset(state)),
    );
    if sheet.rows.len() >= MOST_ROWS {
        let line = Rect {
            y: area.bottom().saturating_sub(1),
            height: 1,
            ..area
        };
        let text = format!("the first {MOST_ROWS}; a filter (/) finds others");
        frame.render_widget(
            Paragraph::new(text)
                .style(faint())
                .alignment(Alignment::Right),
            line,
        );
    }
}

/// Rows move by themselves, so that the selected one is kept in the middle rather than where it was.
fn offset(state: &State) -> usize {
    state.selected.saturating_sub(state.page / 2)
}

// ---- Columns --------------------------------------------------------------------------------------

/// Those that fit; the ones with the highest rank go first.
fn columns(headings: &'static [Heading], width: u16) -> Vec<(usize, &'static Heading)> {
    let all: Vec<_> = headings.iter().enumerate().collect();
    let highest = headings
        .iter()
        .map(|heading| heading.rank)
        .max()
        .unwrap_or_default();
    (0..=highest)
        .rev()
        .map(|most| {
            all.iter()
                .copied()
                .filter(|(_, heading)| heading.rank <= most)
                .collect::<Vec<_>>()
        })
        .find(|columns| needed(columns) <= width)
        .unwrap_or_else(|| {
            all.iter()
                .copied()
                .filter(|(_, heading)| heading.rank == 0)
                .collect()
        })
}

fn needed(columns: &[(usize, &Heading)]) -> u16 {
    columns
        .iter()
        .map(|(_, heading)| heading.width + GAP)
        .sum::<u16>()
        .saturating_sub(GAP)
}

/// Names take what is left, as far as they need it.
fn widths(sheet: &Sheet, columns: &[(usize, &'static Heading)], width: u16) -> Vec<u16> {
    let mut left = width.saturating_sub(needed(columns));
    let widths = columns.iter().map(|(at, heading)| {
        let is_name = !heading.is_right && heading.width >= 12;
        let longest = sheet
            .rows
            .iter()
            .filter_map(|row| row.cells.get(*at))
            .filter(|cell| cell.filled().is_none());
        let longest = longest
            .map(|cell| cell.written().chars().count())
            .max()
            .unwrap_or_default() as u16;
        let more = if is_name {
            longest.saturating_sub(heading.width).min(left)
        } else {
            0
        };
        left -= more;
        heading.width + more
    });
    widths.collect()
}

fn title(heading: &Heading, is_down: Option<bool>) -> Widget<'static> {
    let mark = match is_down {
        Some(true) => "▼",
        Some(false) => "▲",
        None => "",
    };
    let style = if is_down.is_some() {
        color(Color::Cyan)
    } else {
        Style::new()
    };
    let room = usize::from(heading.width).saturating_sub(mark.chars().count());
    let text: String = heading.title.chars().take(room).collect();
    let alignment = if heading.is_right {
        Alignment::Right
    } else {
        Alignment::Left
    };
    Widget::from(Text::from(format!("{text}{mark}")).alignment(alignment)).style(style)
}

// ---- Cells ----------------------------------------------------------------------------------------

fn widget_row(
    row: &Row,
    columns: &[(usize, &'static Heading)],
    widths: &[u16],
) -> WidgetRow<'static> {
    let cells = columns
        .iter()
        .zip(widths)
        .map(|((at, heading), width)| match row.cells.get(*at) {
            Some(cell) => widget(cell, heading, *width),
            None => Widget::default(),
        });
    WidgetRow::new(cells.collect::<Vec<_>>())
}

fn widget(cell: &Cell, heading: &Heading, width: u16) -> Widget<'static> {
    match cell.filled() {
        Some((good, lost)) => Widget::from(bar(&cell.written(), good, lost, width)),
        None => {
            let alignment = if heading.is_right {
                Alignment::Right
            } else {
                Alignment::Left
            };
            Widget::from(Text::from(cell.written()).alignment(alignment)).style(tone(cell.tone()))
        }
    }
}

/// `[||||||     12/20]`: the bar is under the text, which stays readable.
fn bar(text: &str, good: f64, lost: f64, width: u16) -> Line<'static> {
    let inner = usize::from(width.saturating_sub(2));
    let text: String = text.chars().take(inner).collect();
    let blank = inner.saturating_sub(text.chars().count());
    let full = (inner as f64 * good).round() as usize;
    let broken = (inner as f64 * (good + lost)).round() as usize;
    let under = "|".repeat(blank);
    let spans = under
        .chars()
        .chain(text.chars())
        .enumerate()
        .map(|(at, character)| {
            let style = match at {
                at if at < full => color(Color::Green),
                at if at < broken => bad(),
                _ => faint(),
            };
            let is_empty = at >= broken && at < blank;
            Span::styled(if is_empty { ' ' } else { character }.to_string(), style)
        });
    Line::from(
        [Span::raw("[")]
            .into_iter()
            .chain(spans)
            .chain([Span::raw("]")])
            .collect::<Vec<_>>(),
    )
}
