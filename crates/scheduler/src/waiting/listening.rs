//! Which queues listeners were told are empty, and whom to tell that they are not.
//!
//! The rule: where a queue has work and its bell is armed, the bell is owed, and the notifier is on his way. A
//! claim that finds nothing arms the bell; work makes it owed and takes the arming back, so that one
//! notification is sent for each time that somebody found nothing, and none while nobody does. What is owed
//! stays so until a notification of it has been committed, whoever dies meanwhile.

use crate::memory::lane::EVERY_QUEUE;
use crate::testing::faults::{Seeded, armed};
use crate::waiting::{NEVER, PATIENCE};

/// Queues of a database that can be listened to; all of them at once count as one.
pub const MOST_BELLS: usize = 64;

/// How long who has asked for a channel has until the first claim from its queue, in microseconds; after that it may
/// give way to another. Anybody may ask for any name.
pub const TO_CLAIM: i64 = 10_000_000;

const NOBODY: u32 = 0;

/// What the queue's settings say of notifications.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Setting {
    #[default]
    Unknown,
    On,
    Off,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Bell {
    queue: u64,
    asked_at: i64,
    /// Somebody claims from the queue itself.
    is_used: bool,
    setting: Setting,
    /// Somebody found the queue empty, and nothing was owed to him since.
    is_armed: bool,
    /// A notification has to be sent.
    is_owed: bool,
    /// The notifier is sending one.
    is_ringing: bool,
}

/// All zero: nobody has ever listened.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bells {
    bells: [Bell; MOST_BELLS],
    count: u32,
    armed: u32,
    /// The place of the process that sends notifications, in the array of processes.
    notifier: u32,
    /// When the notifier will look by himself; the least time while he is awake.
    alarm: i64,
    /// When he last had everybody look after an event.
    rang_at: i64,
    /// Changes with the settings of queues.
    version: u64,
}

impl Default for Bells {
    fn default() -> Self {
        Self {
            bells: [Bell::default(); MOST_BELLS],
            count: 0,
            armed: 0,
            notifier: NOBODY,
            alarm: 0,
            rang_at: 0,
            version: 0,
        }
    }
}

/// A queue whose setting has to be read before its bell can be armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread {
    pub queue: u64,
    /// To be handed back with the setting.
    pub version: u64,
}

impl Bells {
    fn used(&self) -> impl Iterator<Item = &Bell> {
        self.bells.iter().take(self.count as usize)
    }

    fn used_mut(&mut self) -> impl Iterator<Item = &mut Bell> {
        self.bells.iter_mut().take(self.count as usize)
    }

    /// From now on somebody may listen; false: there is no room for another queue.
    pub fn listen(&mut self, queue: u64, now: i64) -> bool {
        if self.used().any(|bell| bell.queue == queue) {
            return true;
        }
        let new = Bell {
            queue,
            asked_at: now,
            ..Bell::default()
        };
        if let Some(bell) = self.bells.get_mut(self.count as usize) {
            *bell = new;
            self.count += 1;
            return true;
        }
        let idle = self.bells.iter_mut().filter(|bell| bell.is_idle(now));
        let Some(bell) = idle.min_by_key(|bell| bell.asked_at) else {
            return false;
        };
        let before = std::mem::replace(bell, new);
        self.armed = self.armed.saturating_sub(u32::from(before.is_armed));
        true
    }

    /// The memory is another database's from now on.
    pub fn forget_listeners(&mut self) {
        (self.count, self.armed) = (0, 0);
    }

    /// A claim from the queue: whether it has a bell to arm if it finds nothing.
    pub fn note_claim(&mut self, queue: u64) -> bool {
        let mut is_listened_to = false;
        for bell in self.used_mut().filter(|bell| bell.is_of(queue)) {
            is_listened_to = true;
            bell.is_used |= bell.queue == queue;
        }
        is_listened_to
    }

    pub fn is_any_armed(&self) -> bool {
        self.armed > 0
    }

    /// A claim has found nothing in the queue. Settings that have to be read come back one by one.
    pub fn arm(&mut self, queue: u64) -> Option<Unread> {
        let version = self.version;
        let mut unread = None;
        let mut newly = 0;
        for bell in self.used_mut().filter(|bell| bell.is_of(queue)) {
            match bell.setting {
                Setting::Unknown => {
                    let queue = bell.queue;
                    unread = Some(Unread { queue, version });
                }
                Setting::On => newly += u32::from(!std::mem::replace(&mut bell.is_armed, true)),
                Setting::Off => {}
            }
        }
        self.armed += newly;
        unread
    }

    /// What was read of a setting, unless it may have changed since.
    pub fn set(&mut self, unread: Unread, is_on: bool) {
        if unread.version != self.version {
            return;
        }
        for bell in self.used_mut().filter(|bell| bell.queue == unread.queue) {
            bell.setting = match is_on {
                true => Setting::On,
                false => Setting::Off,
            };
        }
    }

    /// The settings of queues have changed. What is armed stays so: one notification too many does no harm.
    pub fn forget_settings(&mut self) {
        self.version += 1;
        for bell in self.used_mut() {
            bell.setting = Setting::Unknown;
        }
    }

    /// Keeps the rule, and has the notifier know of `next_event`, which no commit will tell him of.
    pub fn tend(
        &mut self,
        next_event: i64,
        has_work: impl Fn(u64) -> bool,
        ring: impl FnOnce(u32),
    ) {
        if !self.is_any_armed() {
            return;
        }
        let owes = self.owe(|bell| has_work(bell.queue));
        let event = self.event_at(next_event);
        if owes || event < self.alarm {
            self.call(event, ring);
        }
    }

    /// Memory cannot say who has work: everybody is to look.
    pub fn tend_blindly(&mut self, ring: impl FnOnce(u32)) {
        if self.owe(|_| true) {
            self.call(NEVER, ring);
        }
    }

    fn call(&mut self, event: i64, ring: impl FnOnce(u32)) {
        self.alarm = self.alarm.min(event);
        if self.notifier != NOBODY {
            ring(self.notifier);
        }
    }

    fn owe(&mut self, is_wanted: impl Fn(&Bell) -> bool) -> bool {
        let mut owed = 0;
        for bell in self.used_mut() {
            if bell.is_armed && is_wanted(bell) {
                (bell.is_armed, bell.is_owed) = (false, true);
                owed += 1;
            }
        }
        self.armed = self.armed.saturating_sub(owed);
        owed > 0
    }

    /// Events to which nobody has seen, although everybody was told to look, wait for a while.
    fn event_at(&self, event: i64) -> i64 {
        match event <= self.rang_at {
            true => self.rang_at.saturating_add(PATIENCE),
            false => event,
        }
    }

    // ---- The notifier's side -------------------------------------------------------------------------

    pub fn has_notifier(&self) -> bool {
        self.notifier != NOBODY
    }

    /// He begins: what another one before him had not finished sending is owed still.
    pub fn begin(&mut self, who: u32) {
        self.notifier = who;
        self.alarm = 0;
        if !armed(Seeded::ForgetUnsent) {
            for bell in self.used_mut() {
                bell.is_owed |= std::mem::take(&mut bell.is_ringing);
            }
        }
    }

    pub fn leave(&mut self, who: u32) {
        if self.notifier == who {
            self.notifier = NOBODY;
        }
    }

    /// He is awake; whoever tends next need not call him.
    pub fn stop_alarm(&mut self) {
        self.alarm = 0;
    }

    /// Takes what is owed, after the rule was looked at; returns when to look again though nobody calls. What
    /// is due needs a claim to see to it, and nobody knows of which queue: so all who wait are told to claim.
    pub fn take(&mut self, now: i64, next_event: i64, mut send: impl FnMut(u64)) -> i64 {
        if self.event_at(next_event) <= now && self.owe(|_| true) {
            self.rang_at = now;
        }
        for bell in self.used_mut().filter(|bell| bell.is_owed) {
            (bell.is_owed, bell.is_ringing) = (false, true);
            send(bell.queue);
        }
        let is_timed = self.is_any_armed() && !armed(Seeded::ListenPastEvents);
        self.alarm = if is_timed {
            self.event_at(next_event)
        } else {
            NEVER
        };
        self.alarm
    }

    /// What was taken has been committed. Who has found a queue empty meanwhile may have been told before he did.
    pub fn sent(&mut self) {
        let disarms = armed(Seeded::DisarmWhenSent);
        for bell in self.used_mut() {
            bell.is_armed &= !(std::mem::take(&mut bell.is_ringing) && disarms);
        }
    }
}

impl Bell {
    /// Whoever claims from all queues and finds nothing has found each of them empty.
    fn is_of(&self, queue: u64) -> bool {
        queue == EVERY_QUEUE || self.queue == queue
    }

    /// Whoever has asked for it does not do what listeners do.
    fn is_idle(&self, now: i64) -> bool {
        !self.is_used && self.asked_at.saturating_add(TO_CLAIM) <= now
    }
}
