//! The keys, in a window over the table.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout};
use ratatui::widgets::{Block, Clear, Paragraph};

const TEXT: &str = include_str!("../keys.txt");

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
    let block = Block::bordered().title_bottom(" any key closes ");
    frame.render_widget(Paragraph::new(TEXT).block(block), window);
}
