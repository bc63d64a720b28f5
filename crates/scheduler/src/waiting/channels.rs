//! The channels of queues: which notifications are owed to the clients that listen on them.
//!
//! The rule: where a queue has work and its channel is armed, a notification is owed and the notifier process is on its
//! way. A claim that finds nothing arms the channel. Work disarms it and makes a notification owed. So one
//! notification is sent for each time that a claim found nothing, and none while no claim does. What is owed stays
//! owed until a notification of it has been committed, whichever process dies meanwhile.

use crate::memory::lane::EVERY_QUEUE;
use crate::testing::faults::{Seeded, armed};
use crate::times::NEVER;
use crate::waiting::wake_ups::WAKE_UP_TIMEOUT;

/// Channels of a database. That of all queues together counts as one.
pub const MAX_CHANNELS: usize = 64;

/// How long a channel waits for the first claim from its queue, in microseconds. After that it may be replaced by
/// another. Any client may ask for any name.
pub const TIME_TO_CLAIM: i64 = 10_000_000;

const NOBODY: u32 = 0;

/// What the settings of the queue say about notifications.
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
struct Channel {
    queue: u64,
    asked_at: i64,
    /// A client claims from the queue itself.
    is_used: bool,
    setting: Setting,
    /// A claim found the queue empty, and nothing was owed since.
    is_armed: bool,
    /// A notification has to be sent.
    is_owed: bool,
    /// The notifier is sending one.
    is_sending: bool,
}

/// All zero: no client has ever listened.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Channels {
    channels: [Channel; MAX_CHANNELS],
    count: u32,
    armed: u32,
    /// The number of the process that sends notifications.
    notifier: u32,
    /// When the notifier will look without being called; the least time while it is awake.
    alarm: i64,
    /// When it last told all listeners to look, because an event was due.
    all_told_at: i64,
    /// Changes with the settings of queues.
    version: u64,
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            channels: [Channel::default(); MAX_CHANNELS],
            count: 0,
            armed: 0,
            notifier: NOBODY,
            alarm: 0,
            all_told_at: 0,
            version: 0,
        }
    }
}

/// A queue whose setting has to be read before its channel can be armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadSetting {
    pub queue: u64,
    /// To be handed back with the setting.
    pub version: u64,
}

impl Channels {
    fn listened(&self) -> impl Iterator<Item = &Channel> {
        self.channels.iter().take(self.count as usize)
    }

    fn listened_mut(&mut self) -> impl Iterator<Item = &mut Channel> {
        self.channels.iter_mut().take(self.count as usize)
    }

    /// A client may listen from now on. Returns false if there is no room for another channel.
    pub fn listen(&mut self, queue: u64, now: i64) -> bool {
        if self.listened().any(|channel| channel.queue == queue) {
            return true;
        }
        let new = Channel {
            queue,
            asked_at: now,
            ..Channel::default()
        };
        if let Some(channel) = self.channels.get_mut(self.count as usize) {
            *channel = new;
            self.count += 1;
            return true;
        }
        let idle = self
            .channels
            .iter_mut()
            .filter(|channel| channel.is_idle(now));
        let Some(channel) = idle.min_by_key(|channel| channel.asked_at) else {
            return false;
        };
        let before = std::mem::replace(channel, new);
        self.armed = self.armed.saturating_sub(u32::from(before.is_armed));
        true
    }

    /// The memory belongs to another database from now on.
    pub fn clear(&mut self) {
        (self.count, self.armed) = (0, 0);
    }

    /// Notes a claim from the queue. Returns whether there is a channel to arm if the claim finds nothing.
    pub fn note_claim(&mut self, queue: u64) -> bool {
        let mut is_listened_to = false;
        for channel in self.listened_mut().filter(|channel| channel.is_for(queue)) {
            is_listened_to = true;
            channel.is_used |= channel.queue == queue;
        }
        is_listened_to
    }

    /// Whether a client has listened since the memory belongs to its database.
    pub fn is_any_listened_to(&self) -> bool {
        self.count > 0
    }

    pub fn is_any_armed(&self) -> bool {
        self.armed > 0
    }

    /// The queues whose listeners have to be told of the next work.
    pub fn armed_for(&self) -> impl Iterator<Item = u64> + '_ {
        let armed = self.listened().filter(|channel| channel.is_armed);
        armed.map(|channel| channel.queue)
    }

    /// A claim has found nothing in the queue. Returns a setting that has to be read, one in each call.
    pub fn arm(&mut self, queue: u64) -> Option<UnreadSetting> {
        let version = self.version;
        let mut unread = None;
        let mut newly = 0;
        for channel in self.listened_mut().filter(|channel| channel.is_for(queue)) {
            match channel.setting {
                Setting::Unknown => {
                    let queue = channel.queue;
                    unread = Some(UnreadSetting { queue, version });
                }
                Setting::On => newly += u32::from(!std::mem::replace(&mut channel.is_armed, true)),
                Setting::Off => {}
            }
        }
        self.armed += newly;
        unread
    }

    /// Stores a setting that was read, unless it may have changed since.
    pub fn store_setting(&mut self, unread: UnreadSetting, is_on: bool) {
        if unread.version != self.version {
            return;
        }
        for channel in self
            .listened_mut()
            .filter(|channel| channel.queue == unread.queue)
        {
            channel.setting = match is_on {
                true => Setting::On,
                false => Setting::Off,
            };
        }
    }

    /// The settings of queues have changed. What is armed stays armed: one notification too many does no harm.
    pub fn forget_settings(&mut self) {
        self.version += 1;
        for channel in self.listened_mut() {
            channel.setting = Setting::Unknown;
        }
    }

    /// Applies the rule, and tells the notifier of `next_event`, of which no commit will tell it, and of the time at which
    /// one of the queues next has work.
    pub fn notify_as_needed(
        &mut self,
        next_event: i64,
        next_time: i64,
        has_work: impl Fn(u64) -> bool,
        set_latch: impl FnOnce(u32),
    ) {
        if !self.is_any_armed() {
            return;
        }
        let owes = self.mark_owed(|channel| has_work(channel.queue));
        let event = self.event_at(next_event).min(next_time);
        if owes || event < self.alarm {
            self.call_notifier(event, set_latch);
        }
    }

    /// Memory cannot tell which queues have work, so all listeners are told to look.
    pub fn notify_all(&mut self, set_latch: impl FnOnce(u32)) {
        if self.mark_owed(|_| true) {
            self.call_notifier(NEVER, set_latch);
        }
    }

    fn call_notifier(&mut self, event: i64, set_latch: impl FnOnce(u32)) {
        self.alarm = self.alarm.min(event);
        if self.notifier != NOBODY {
            set_latch(self.notifier);
        }
    }

    fn mark_owed(&mut self, is_wanted: impl Fn(&Channel) -> bool) -> bool {
        let mut owed = 0;
        for channel in self.listened_mut() {
            if channel.is_armed && is_wanted(channel) {
                (channel.is_armed, channel.is_owed) = (false, true);
                owed += 1;
            }
        }
        self.armed = self.armed.saturating_sub(owed);
        owed > 0
    }

    /// An event that is still due, although all listeners were told to look, waits for a while.
    fn event_at(&self, event: i64) -> i64 {
        match event <= self.all_told_at {
            true => self.all_told_at.saturating_add(WAKE_UP_TIMEOUT),
            false => event,
        }
    }

    // ---- The notifier's side -------------------------------------------------------------------------

    pub fn has_notifier(&self) -> bool {
        self.notifier != NOBODY
    }

    /// The number of the notifier, if there is one.
    pub fn notifier(&self) -> Option<u32> {
        self.has_notifier().then_some(self.notifier)
    }

    /// A notifier starts. What the one before it had not finished sending is still owed.
    pub fn start_notifier(&mut self, who: u32) {
        self.notifier = who;
        self.alarm = 0;
        if !armed(Seeded::ForgetUnsent) {
            for channel in self.listened_mut() {
                channel.is_owed |= std::mem::take(&mut channel.is_sending);
            }
        }
    }

    pub fn stop_notifier(&mut self, who: u32) {
        if self.notifier == who {
            self.notifier = NOBODY;
        }
    }

    /// The notifier is awake: it need not be called until it has looked.
    pub fn clear_alarm(&mut self) {
        self.alarm = 0;
    }

    /// Takes what is owed, after the rule was applied. Returns when to look again even if the notifier is not called. An
    /// event needs a claim to handle it, and it is not known of which queue. So all listeners are told to claim.
    pub fn take_owed(
        &mut self,
        now: i64,
        next_event: i64,
        next_time: i64,
        mut send: impl FnMut(u64),
    ) -> i64 {
        if self.event_at(next_event) <= now && self.mark_owed(|_| true) {
            self.all_told_at = now;
        }
        for channel in self.listened_mut().filter(|channel| channel.is_owed) {
            (channel.is_owed, channel.is_sending) = (false, true);
            send(channel.queue);
        }
        let is_timed = self.is_any_armed() && !armed(Seeded::ListenPastEvents);
        self.alarm = if is_timed {
            self.event_at(next_event).min(next_time)
        } else {
            NEVER
        };
        self.alarm
    }

    /// What was taken has been committed. A claim that found a queue empty meanwhile may have been told before that.
    pub fn mark_sent(&mut self) {
        let disarms = armed(Seeded::DisarmWhenSent);
        for channel in self.listened_mut() {
            channel.is_armed &= !(std::mem::take(&mut channel.is_sending) && disarms);
        }
    }
}

impl Channel {
    /// A claim from all queues that finds nothing has found each of them empty.
    fn is_for(&self, queue: u64) -> bool {
        queue == EVERY_QUEUE || self.queue == queue
    }

    /// No client claims from its queue, as listeners would.
    fn is_idle(&self, now: i64) -> bool {
        !self.is_used && self.asked_at.saturating_add(TIME_TO_CLAIM) <= now
    }
}
