//! Drawings of live pages: what several viewers with the same rights look at is drawn once for all of them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::content::Content;
use super::identity::Identity;
use crate::listener::Problem;

/// A live region.
pub struct Region {
    pub id: &'static str,
    pub html: String,
    /// Changes with the text.
    pub version: u64,
}

pub struct Drawing {
    pub regions: Vec<Region>,
    began: Instant,
    pub took: Duration,
}

/// Who comes while another draws waits for what that draws.
#[derive(Default)]
pub struct Slot {
    last: tokio::sync::Mutex<Option<Arc<Drawing>>>,
}

/// By whose page it is, and its address.
type Key = (Identity, String);

#[derive(Default)]
pub struct Drawings {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
}

impl Drawings {
    /// For as long as the page is open.
    pub fn slot(&self, identity: &Identity, address: String) -> Arc<Slot> {
        let mut slots = self.lock();
        slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        let key = (identity.clone(), address);
        Arc::clone(slots.entry(key).or_default())
    }

    /// How many different pages are live.
    pub fn count(&self) -> u32 {
        let mut slots = self.lock();
        slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        u32::try_from(slots.len()).unwrap_or(u32::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        // A panic leaves a whole map.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// `since`: what was drawn before is too old, and the page is drawn anew.
    pub async fn draw(
        &self,
        since: Instant,
        page: impl Future<Output = Result<Content, Problem>>,
    ) -> Result<Arc<Drawing>, Problem> {
        let mut last = self.last.lock().await;
        if let Some(drawing) = last.as_ref()
            && drawing.began >= since
        {
            return Ok(Arc::clone(drawing));
        }
        let began = Instant::now();
        let content = page.await?;
        let drawing = Arc::new(Drawing {
            regions: regions(content),
            began,
            took: began.elapsed(),
        });
        *last = Some(Arc::clone(&drawing));
        Ok(drawing)
    }
}

fn regions(content: Content) -> Vec<Region> {
    let live = content.regions.into_iter().filter(|region| region.is_live);
    live.map(|region| {
        let html = region.html.into_string();
        Region {
            id: region.id,
            version: version(&html),
            html,
        }
    })
    .collect()
}

pub fn version(html: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    html.hash(&mut hasher);
    hasher.finish()
}
