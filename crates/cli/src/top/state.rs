//! What the screen shows, and what keys and news make of it. It draws nothing and asks nothing.

use std::time::{Duration, Instant};

use super::feed::{News, Reading, View};
use super::figures::{Rows, Subject};
use super::keys::Key;
use super::orders::{self, Verb};
use super::percentiles::{self, Minute};
use super::sheets::{self, Order, Sheet};

const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(3600);
/// For how long the outcome of an order is shown.
const MESSAGE: Duration = Duration::from_secs(8);

pub enum Link {
    /// No answer has come yet.
    New,
    Up,
    Lost {
        error: String,
        since: Instant,
        again_at: Instant,
    },
}

pub enum Mode {
    Browse,
    Filter,
    Confirm(orders::Order),
    Help,
}

pub struct Message {
    pub text: String,
    pub is_bad: bool,
    said_at: Instant,
}

/// What the loop has to do after a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    Look,
    Order(orders::Order),
    Quit,
}

pub struct State {
    pub subject: Subject,
    pub filter: String,
    pub every: Duration,
    pub mode: Mode,
    pub link: Link,
    pub asked_at: Option<Instant>,
    pub reading: Option<Box<Reading>>,
    pub read_at: Option<Instant>,
    pub refusal: Option<String>,
    pub is_since_reset: bool,
    pub sheet: Option<Sheet>,
    pub selected: usize,
    /// How many rows the last screen had room for.
    pub page: usize,
    chosen: [Option<Order>; 4],
    minutes: [Minute; 2],
    message: Option<Message>,
    followed: Option<sheets::Subject>,
}

impl State {
    pub fn new(subject: Subject, filter: String, every: Duration) -> Self {
        State {
            subject,
            filter,
            every,
            mode: Mode::Browse,
            link: Link::New,
            asked_at: None,
            reading: None,
            read_at: None,
            refusal: None,
            is_since_reset: false,
            sheet: None,
            selected: 0,
            page: 1,
            chosen: [None; 4],
            minutes: [Minute::default(), Minute::default()],
            message: None,
            followed: None,
        }
    }

    pub fn view(&self) -> View {
        View {
            subject: self.subject,
            filter: self.filter.clone(),
            every: self.every,
        }
    }

    pub fn message(&self, now: Instant) -> Option<&Message> {
        self.message
            .as_ref()
            .filter(|message| now.duration_since(message.said_at) < MESSAGE)
    }

    /// By which column the sheet is sorted.
    pub fn order(&self) -> Option<Order> {
        let default = self.sheet.as_ref()?.order;
        Some(
            self.chosen
                .get(self.subject as usize)
                .copied()
                .flatten()
                .unwrap_or(default),
        )
    }

    // ---- News -------------------------------------------------------------------------------------

    pub fn hear(&mut self, news: News, now: Instant) {
        match news {
            News::Asked(at) => self.asked_at = Some(at),
            News::Read(reading) => self.take(reading, now),
            News::Refused(error) => {
                self.answered();
                self.refusal = Some(error);
            }
            News::Lost { error, again_at } => {
                self.asked_at = None;
                let since = match self.link {
                    Link::Lost { since, .. } => since,
                    _ => self.read_at.unwrap_or(now),
                };
                self.link = Link::Lost {
                    error,
                    since,
                    again_at,
                };
            }
            News::Told(outcome) => {
                let is_bad = outcome.is_err();
                let text = outcome.unwrap_or_else(|error| error);
                self.message = Some(Message {
                    text,
                    is_bad,
                    said_at: now,
                });
            }
        }
    }

    fn answered(&mut self) {
        self.asked_at = None;
        self.link = Link::Up;
        self.refusal = None;
    }

    fn take(&mut self, reading: Box<Reading>, now: Instant) {
        self.answered();
        self.read_at = Some(now);
        match (&reading.rows, &mut self.minutes) {
            (Rows::Queues(gates), [queues, _]) => queues.keep(now, gates),
            (Rows::Tenants(gates), [_, tenants]) => tenants.keep(now, gates),
            _ => {}
        }
        // What was read for the view before this one is late: the next reading is on its way.
        let is_of_view = reading.view.subject == self.subject && reading.view.filter == self.filter;
        self.reading = Some(reading);
        if is_of_view {
            self.make_sheet();
        }
    }

    fn make_sheet(&mut self) {
        let Some(reading) = &self.reading else { return };
        let bounds = &reading.summary.histogram_bounds_ms;
        let [queues, tenants] = &self.minutes;
        let minute = if self.subject == Subject::Tenants {
            tenants
        } else {
            queues
        };
        let is_since_reset = self.is_since_reset;
        let sheet = sheets::make(&reading.rows, |gate| {
            if is_since_reset {
                percentiles::since_reset(gate)
            } else {
                minute.of(gate, bounds)
            }
        });
        self.sheet = Some(sheet);
        self.sort();
    }

    fn sort(&mut self) {
        let order = self.order();
        if let (Some(sheet), Some(order)) = (&mut self.sheet, order) {
            sheet.sort(order);
        }
        self.follow();
    }

    /// The selection stays with its row, wherever that has gone.
    fn follow(&mut self) {
        let rows = self
            .sheet
            .as_ref()
            .map(|sheet| sheet.rows.as_slice())
            .unwrap_or_default();
        let place = self
            .followed
            .as_ref()
            .and_then(|subject| rows.iter().position(|row| row.subject == *subject));
        self.selected = place
            .unwrap_or(self.selected)
            .min(rows.len().saturating_sub(1));
    }

    fn select(&mut self, at: usize) {
        let rows = self
            .sheet
            .as_ref()
            .map(|sheet| sheet.rows.as_slice())
            .unwrap_or_default();
        self.selected = at.min(rows.len().saturating_sub(1));
        self.followed = rows.get(self.selected).map(|row| row.subject.clone());
    }

    // ---- Keys -------------------------------------------------------------------------------------

    pub fn press(&mut self, key: Key, now: Instant) -> Effect {
        if key == Key::Interrupt {
            return Effect::Quit;
        }
        match std::mem::replace(&mut self.mode, Mode::Browse) {
            Mode::Browse => self.browse(key, now),
            Mode::Filter => self.edit_filter(key),
            Mode::Help => Effect::None,
            Mode::Confirm(order) if matches!(key, Key::Letter('y' | 'Y')) => Effect::Order(order),
            Mode::Confirm(_) => {
                self.message = Some(Message {
                    text: "nothing was done".to_owned(),
                    is_bad: false,
                    said_at: now,
                });
                Effect::None
            }
        }
    }

    fn browse(&mut self, key: Key, now: Instant) -> Effect {
        let last = usize::MAX;
        match key {
            Key::Letter('q') => return Effect::Quit,
            Key::Letter('?' | 'h') => self.mode = Mode::Help,
            Key::Letter('/') => self.mode = Mode::Filter,
            Key::Escape if !self.filter.is_empty() => return self.set_filter(String::new()),
            Key::Tab => return self.show_neighbor(1),
            Key::BackTab => return self.show_neighbor(Subject::ALL.len() - 1),
            Key::Letter(digit @ '1'..='4') => return self.show_numbered(digit),
            Key::Down | Key::Letter('j') => self.select(self.selected.saturating_add(1)),
            Key::Up | Key::Letter('k') => self.select(self.selected.saturating_sub(1)),
            Key::PageDown => self.select(self.selected.saturating_add(self.page)),
            Key::PageUp => self.select(self.selected.saturating_sub(self.page)),
            Key::Home | Key::Letter('g') => self.select(0),
            Key::End | Key::Letter('G') => self.select(last),
            Key::Letter('s') | Key::Right => self.sort_by_neighbor(1),
            Key::Letter('S') | Key::Left => self.sort_by_neighbor(-1),
            Key::Letter('i') => self.invert(),
            Key::Letter('t') => {
                self.is_since_reset = !self.is_since_reset;
                self.make_sheet();
            }
            Key::Letter('+') => return self.set_every(self.every * 2),
            Key::Letter('-') => return self.set_every(self.every / 2),
            Key::Letter('p') => self.ask(Verb::Pause, now),
            Key::Letter('r') => self.ask(Verb::Resume, now),
            _ => {}
        }
        Effect::None
    }

    fn edit_filter(&mut self, key: Key) -> Effect {
        let mut filter = self.filter.clone();
        match key {
            Key::Enter => return Effect::None,
            Key::Escape => return self.set_filter(String::new()),
            Key::Backspace => _ = filter.pop(),
            Key::Letter(letter) => filter.push(letter),
            _ => {}
        }
        self.mode = Mode::Filter;
        self.set_filter(filter)
    }

    fn set_filter(&mut self, filter: String) -> Effect {
        if self.filter == filter {
            return Effect::None;
        }
        self.filter = filter;
        self.select(0);
        Effect::Look
    }

    fn show_neighbor(&mut self, step: usize) -> Effect {
        let at = (self.subject as usize + step) % Subject::ALL.len();
        self.show(Subject::ALL.get(at).copied().unwrap_or(self.subject))
    }

    fn show_numbered(&mut self, digit: char) -> Effect {
        let at = (digit as usize).wrapping_sub('1' as usize);
        self.show(Subject::ALL.get(at).copied().unwrap_or(self.subject))
    }

    fn show(&mut self, subject: Subject) -> Effect {
        if self.subject == subject {
            return Effect::None;
        }
        self.subject = subject;
        self.sheet = None;
        self.refusal = None;
        self.followed = None;
        self.selected = 0;
        Effect::Look
    }

    fn sort_by_neighbor(&mut self, step: isize) {
        let (Some(order), Some(sheet)) = (self.order(), &self.sheet) else {
            return;
        };
        let columns = sheet.headings.len();
        let column = order
            .column
            .checked_add_signed(step)
            .unwrap_or(columns.saturating_sub(1))
            % columns.max(1);
        let is_down = sheet
            .headings
            .get(column)
            .is_some_and(|heading| heading.is_down);
        self.choose(Order { column, is_down });
    }

    fn invert(&mut self) {
        if let Some(order) = self.order() {
            self.choose(Order {
                is_down: !order.is_down,
                ..order
            });
        }
    }

    fn choose(&mut self, order: Order) {
        if let Some(chosen) = self.chosen.get_mut(self.subject as usize) {
            *chosen = Some(order);
        }
        self.sort();
    }

    fn set_every(&mut self, every: Duration) -> Effect {
        self.every = every.clamp(SHORTEST, LONGEST);
        Effect::Look
    }

    fn ask(&mut self, verb: Verb, now: Instant) {
        let row = self
            .sheet
            .as_ref()
            .and_then(|sheet| sheet.rows.get(self.selected));
        let order = row.and_then(|row| orders::Order::new(verb, &row.subject));
        let refusal = match (&self.link, order) {
            (Link::Up, Some(order)) => {
                self.followed = Some(order.subject.clone());
                self.mode = Mode::Confirm(order);
                return;
            }
            (Link::Up, None) => "there is nothing to pause here",
            _ => "there is no server",
        };
        self.message = Some(Message {
            text: refusal.to_owned(),
            is_bad: true,
            said_at: now,
        });
    }
}
