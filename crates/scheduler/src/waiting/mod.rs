//! Processes that wait until a queue has work, and clients that listen on a channel of a queue.
//!
//! `wake_ups` says which processes are woken, over the lists in `lists`. `channels` says which notifications are owed to listeners.

pub mod channels;
pub mod lists;
pub mod wake_ups;

pub use channels::{Channels, MAX_CHANNELS, TIME_TO_CLAIM, UnreadSetting};
pub use lists::{MAX_QUEUES, WaitLists, WaitedQueue, Waiter, Waiting};
pub use wake_ups::WAKE_UP_TIMEOUT;
