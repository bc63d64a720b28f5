//! Reads figures again and again in a task of its own, so that a slow or lost server never stops the keys; and carries out orders.
//!
//! It reads what the screen shows. However long a reading takes, nine tenths of the time the session rests.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_postgres::Client;

use super::figures::{self, Rows, Subject, Summary};
use super::orders::Order;
use crate::connection::{Session, Settings};
use crate::error::Error;

const REST: u32 = 9;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What the screen wants to show.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub subject: Subject,
    pub filter: String,
    pub every: Duration,
}

pub struct Reading {
    pub summary: Summary,
    pub rows: Rows,
    /// For which view the rows were read.
    pub view: View,
}

pub enum News {
    Asked(Instant),
    Read(Box<Reading>),
    /// The server answers, but not with figures.
    Refused(String),
    Lost {
        error: String,
        again_at: Instant,
    },
    Told(Result<String, String>),
}

pub struct Feed {
    settings: Settings,
    view: watch::Receiver<View>,
    orders: mpsc::Receiver<Order>,
    news: mpsc::UnboundedSender<News>,
}

/// The screen's ends of it.
pub struct Ends {
    pub view: watch::Sender<View>,
    pub orders: mpsc::Sender<Order>,
    pub news: mpsc::UnboundedReceiver<News>,
}

/// Begins to read; it ends with the receiver of its news.
pub fn start(settings: Settings, view: View) -> Ends {
    let (view_sender, view) = watch::channel(view);
    let (order_sender, orders) = mpsc::channel(8);
    let (news, news_receiver) = mpsc::unbounded_channel();
    tokio::spawn(
        Feed {
            settings,
            view,
            orders,
            news,
        }
        .run(),
    );
    Ends {
        view: view_sender,
        orders: order_sender,
        news: news_receiver,
    }
}

impl Feed {
    async fn run(mut self) {
        let mut wait = FIRST_WAIT;
        while !self.news.is_closed() {
            self.tell(News::Asked(Instant::now()));
            let error = match self.settings.connect().await {
                Ok(session) => {
                    wait = FIRST_WAIT;
                    self.serve(session).await
                }
                Err(error) => error,
            };
            self.tell(News::Lost {
                error: error.to_string(),
                again_at: Instant::now() + wait,
            });
            self.rest(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Without a session nothing is carried out, not even later: who has confirmed an order counts on its being done now.
    async fn rest(&mut self, wait: Duration) {
        let end = tokio::time::sleep(wait);
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => return,
                order = self.orders.recv() => match order {
                    Some(_) => self.tell(News::Told(Err("nothing was done, as there is no server".to_owned()))),
                    None => return,
                },
            }
        }
    }

    /// Until the session is lost.
    async fn serve(&mut self, session: Session) -> Error {
        loop {
            let began = Instant::now();
            self.tell(News::Asked(began));
            let view = self.view.borrow_and_update().clone();
            let every = view.every;
            match session.answered(read(&session.client, view)).await {
                Ok(reading) => self.tell(News::Read(Box::new(reading))),
                Err(error) if error.has_lost(&session.client) => return error,
                Err(error) => self.tell(News::Refused(error.to_string())),
            }
            let taken = began.elapsed();
            if let Err(error) = self
                .wait_for_next(
                    &session,
                    began + taken + every.saturating_sub(taken).max(taken * REST),
                )
                .await
            {
                return error;
            }
        }
    }

    /// Until the time has come, or the screen wants to show something else.
    async fn wait_for_next(&mut self, session: &Session, next: Instant) -> Result<(), Error> {
        tokio::select! {
            () = tokio::time::sleep_until(next.into()) => Ok(()),
            changed = self.view.changed() => changed.map_err(|_| Error::closed()),
            order = self.orders.recv() => match order {
                Some(order) => self.carry_out(session, &order).await,
                None => Err(Error::closed()),
            },
        }
    }

    async fn carry_out(&self, session: &Session, order: &Order) -> Result<(), Error> {
        self.tell(News::Asked(Instant::now()));
        match session.answered(order.carry_out(&session.client)).await {
            Ok(()) => self.tell(News::Told(Ok(order.done()))),
            Err(error) if error.has_lost(&session.client) => {
                self.tell(News::Told(Err(
                    "the server was lost: look whether it was done".to_owned(),
                )));
                return Err(error);
            }
            Err(error) => self.tell(News::Told(Err(error.to_string()))),
        }
        Ok(())
    }

    fn tell(&self, news: News) {
        // Where nobody listens any more the program ends.
        _ = self.news.send(news);
    }
}

async fn read(client: &Client, view: View) -> Result<Reading, Error> {
    let summary = figures::summary(client).await?;
    let rows = figures::rows(client, view.subject, &view.filter).await?;
    Ok(Reading {
        summary,
        rows,
        view,
    })
}
