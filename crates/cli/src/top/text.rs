//! Sheets as plain text, for `--once`.

use super::figures::{Subject, Summary};
use super::format;
use super::sheets::{Heading, Row, Sheet};
use crate::output;

/// The first lines: how much there is altogether.
pub fn summary(summary: &Summary) -> String {
    let totals = &summary.totals;
    let mut text = format!(
        "{} at {}: {} running, {} waiting, {} scheduled, {} retryable, {} blocked; {} started and {} ended in the last minute",
        summary.database,
        summary.clock,
        totals.running,
        totals.waiting,
        totals.scheduled,
        totals.retryable,
        totals.blocked,
        totals.claimed_per_minute,
        totals.finished_per_minute
    );
    if let Some(memory) = &summary.memory {
        text.push_str(&format!(
            "\nmemory: {} of {}, {} lanes, {} outside",
            format::bytes(memory.bytes),
            format::bytes(memory.bytes_limit),
            memory.lanes,
            memory.lanes_outside
        ));
    }
    text
}

pub fn sheet(subject: Subject, sheet: &Sheet) -> String {
    let rows: Vec<Vec<String>> = sheet.rows.iter().map(written).collect();
    let widths: Vec<usize> = (0..sheet.headings.len())
        .map(|at| width(sheet.headings, &rows, at))
        .collect();
    let titles: Vec<String> = sheet
        .headings
        .iter()
        .map(|heading| heading.title.to_owned())
        .collect();
    let mut text = subject.title().to_owned();
    for row in std::iter::once(&titles).chain(&rows) {
        text.push('\n');
        text.push_str(&line(sheet.headings, &widths, row));
    }
    text
}

fn written(row: &Row) -> Vec<String> {
    row.cells
        .iter()
        .map(|cell| output::plain(&cell.written()))
        .collect()
}

fn width(headings: &[Heading], rows: &[Vec<String>], at: usize) -> usize {
    let title = headings.get(at).map_or(0, |heading| heading.title.len());
    rows.iter()
        .filter_map(|row| row.get(at))
        .map(|text| text.chars().count())
        .fold(title, usize::max)
}

fn line(headings: &[Heading], widths: &[usize], row: &[String]) -> String {
    let cells = headings
        .iter()
        .zip(widths)
        .zip(row)
        .map(|((heading, width), text)| {
            if heading.is_right {
                format!("{text:>width$}")
            } else {
                format!("{text:<width$}")
            }
        });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}
