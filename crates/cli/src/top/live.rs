//! The screen's loop: keys, news and the clock, and after each a new picture.

use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::draw;
use super::feed::{self, Ends};
use super::figures::Subject;
use super::keys;
use super::state::{Effect, State};
use crate::connection::Settings;
use crate::error::Error;

/// So that the seconds since the last answer run on.
const TICK: Duration = Duration::from_millis(500);

pub async fn run(
    settings: Settings,
    subject: Subject,
    filter: String,
    every: Duration,
) -> Result<(), Error> {
    let place = settings.place();
    let state = State::new(subject, filter, every);
    let ends = feed::start(settings, state.view());
    let mut terminal = ratatui::try_init()?;
    let outcome = follow(&mut terminal, state, ends, &place).await;
    ratatui::try_restore()?;
    outcome
}

async fn follow(
    terminal: &mut DefaultTerminal,
    mut state: State,
    mut ends: Ends,
    place: &str,
) -> Result<(), Error> {
    let mut events = events();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut clock = tokio::time::interval(TICK);
    loop {
        terminal.draw(|frame| draw::screen(frame, &mut state, place, Instant::now()))?;
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => if press(&mut state, &ends, event?).await == Effect::Quit { return Ok(()) },
                None => return Ok(()),
            },
            news = ends.news.recv() => match news {
                Some(news) => state.hear(news, Instant::now()),
                None => return Ok(()),
            },
            _ = clock.tick() => {}
            _ = terminate.recv() => return Ok(()),
            _ = hang_up.recv() => return Ok(()),
        }
    }
}

async fn press(state: &mut State, ends: &Ends, event: Event) -> Effect {
    let Event::Key(event) = event else {
        return Effect::None;
    };
    let Some(key) = keys::key(event) else {
        return Effect::None;
    };
    match state.press(key, Instant::now()) {
        Effect::Look => {
            ends.view.send_replace(state.view());
            Effect::None
        }
        Effect::Order(order) => {
            // The feed goes only when the screen does.
            _ = ends.orders.send(order).await;
            Effect::None
        }
        effect => effect,
    }
}

/// Reading the terminal blocks, so that a thread of its own does it. It ends with the process.
fn events() -> mpsc::UnboundedReceiver<std::io::Result<Event>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        loop {
            let event = event::read();
            let is_last = event.is_err();
            if sender.send(event).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}
