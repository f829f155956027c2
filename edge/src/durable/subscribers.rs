//! Who listens to a content: the streams that a Durable Object has open, and what is sent into them.

use std::cell::RefCell;
use std::pin::pin;
use std::time::Duration;

use edgezoom_content::Content;
use edgezoom_content::conversion::Timestamp;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{Either, select};
use futures::stream::{Stream, StreamExt, unfold};
use worker::Delay;

use crate::config::Addresses;
use crate::content::events;

/// How many may listen to one content: each costs the object memory and a write at each change. More poll.
const MOST: usize = 100;
/// After this time a stream is ended, and a browser opens it anew by itself: whatever was lost without a word is gone then.
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// Proxies end connections on which nothing happens, most of them after a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// All who listen to one content.
#[derive(Default)]
pub struct Listeners(RefCell<Vec<Listener>>);

struct Listener {
    addresses: Addresses,
    since: Timestamp,
    sender: UnboundedSender<String>,
}

impl Listeners {
    /// One more, who is told the content as it is; `None` when there are enough.
    pub fn add(
        &self,
        content: &Content,
        addresses: Addresses,
        now: Timestamp,
    ) -> Option<impl Stream<Item = worker::Result<String>> + use<>> {
        let mut listeners = self.0.borrow_mut();
        listeners.retain(|listener| !listener.sender.is_closed() && now - listener.since < LONGEST);
        if listeners.len() >= MOST {
            return None;
        }
        let (sender, receiver) = unbounded();
        let listener = Listener { addresses, since: now, sender };
        listener.tell(content);
        if !content.is_finished() {
            listeners.push(listener);
        }
        Some(beating(receiver))
    }

    /// Tells all what the content is now. After its end there is nothing to listen to.
    pub fn tell(&self, content: &Content, now: Timestamp) {
        let mut listeners = self.0.borrow_mut();
        listeners.retain(|listener| listener.tell(content) && now - listener.since < LONGEST);
        if content.is_finished() {
            listeners.clear();
        }
    }
}

impl Listener {
    /// Whether anybody is there still.
    fn tell(&self, content: &Content) -> bool {
        self.sender.unbounded_send(events::event(content, &self.addresses)).is_ok()
    }
}

/// What is received, and a sign of life where nothing is.
fn beating(receiver: UnboundedReceiver<String>) -> impl Stream<Item = worker::Result<String>> {
    unfold(receiver, |mut receiver| async move {
        let event = match select(receiver.next(), pin!(Delay::from(HEARTBEAT))).await {
            Either::Left((event, _)) => event?,
            Either::Right(_) => events::HEARTBEAT.to_owned(),
        };
        Some((Ok(event), receiver))
    })
}
