//! The subscribers of a content: the streams that its Durable Object has open, and the events that are sent into them.

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

/// How many subscribers a content may have: each costs the object memory and a write at each change. Other clients
/// poll.
const MOST: usize = 100;
/// A stream ends after this time, and the browser opens it again by itself: so a connection that broke without notice
/// does not stay.
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// Proxies close idle connections, most of them after a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// All subscribers of one content.
#[derive(Default)]
pub struct Subscribers(RefCell<Vec<Subscriber>>);

struct Subscriber {
    addresses: Addresses,
    since: Timestamp,
    sender: UnboundedSender<String>,
}

impl Subscribers {
    /// Adds a subscriber and sends it the content as it is now; `None` when the content has too many.
    pub fn add(
        &self,
        content: &Content,
        addresses: Addresses,
        now: Timestamp,
    ) -> Option<impl Stream<Item = worker::Result<String>> + use<>> {
        let mut subscribers = self.0.borrow_mut();
        subscribers.retain(|subscriber| !subscriber.sender.is_closed() && now - subscriber.since < LONGEST);
        if subscribers.len() >= MOST {
            return None;
        }
        let (sender, receiver) = unbounded();
        let subscriber = Subscriber { addresses, since: now, sender };
        subscriber.send(content, now);
        if !content.is_finished() {
            subscribers.push(subscriber);
        }
        Some(with_heartbeat(receiver))
    }

    /// Sends the content to all subscribers. A finished content ends their streams, and so does one that is removed.
    pub fn publish(&self, content: Option<&Content>, now: Timestamp) {
        let mut subscribers = self.0.borrow_mut();
        let Some(content) = content else { return subscribers.clear() };
        subscribers.retain(|subscriber| subscriber.send(content, now) && now - subscriber.since < LONGEST);
        if content.is_finished() {
            subscribers.clear();
        }
    }
}

impl Subscriber {
    /// Sends the content; `false` when the client has left.
    fn send(&self, content: &Content, now: Timestamp) -> bool {
        self.sender.unbounded_send(events::event(content, &self.addresses, now)).is_ok()
    }
}

/// The received events, with a heartbeat when none came for a while.
fn with_heartbeat(receiver: UnboundedReceiver<String>) -> impl Stream<Item = worker::Result<String>> {
    unfold(receiver, |mut receiver| async move {
        let event = match select(receiver.next(), pin!(Delay::from(HEARTBEAT))).await {
            Either::Left((event, _)) => event?,
            Either::Right(_) => events::HEARTBEAT.to_owned(),
        };
        Some((Ok(event), receiver))
    })
}
