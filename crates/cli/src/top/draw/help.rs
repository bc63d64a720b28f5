//! The keys, in a window over the table.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout};
use ratatui::widgets::{Block, Clear, Paragraph};

const TEXT: &str = "\
Tab, 1 2 3 4     queues, tenants, batches, workers
Up Down, j k     select a row; PgUp PgDn Home End as well
/                show only names with a text; Esc shows all again
s S, Right Left  sort by the next or the previous column
i                invert the order
t                times of the last minute, or since statistics began
p r              pause or resume the selected row, after a question
+ -              read half as often, twice as often
q, Control-C     quit

START/MIN END/MIN  runs that began, and ended, in the last minute
OLDEST             how long the first waiting job has been due
WAIT RUN           how long jobs waited and ran, in percentiles
FAILED RESCUED     runs, since the statistics began
LEFT               until the last child has ended, at this pace";

pub fn draw(frame: &mut Frame) {
    let lines = TEXT.lines().count() as u16 + 2;
    let columns = TEXT
        .lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or_default() as u16
        + 4;
    let [middle] = Layout::vertical([Constraint::Length(lines)])
        .flex(Flex::Center)
        .areas(frame.area());
    let [window] = Layout::horizontal([Constraint::Length(columns)])
        .flex(Flex::Center)
        .areas(middle);
    frame.render_widget(Clear, window);
    let block = Block::bordered()
        .title(" Keys ")
        .title_bottom(" any key closes ");
    frame.render_widget(Paragraph::new(TEXT).block(block), window);
}
