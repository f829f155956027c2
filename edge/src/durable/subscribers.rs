//! The subscribers of a content: the open streams of its Durable Object, and the events sent into them.

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
use crate::representation::events;

/// Maximum number of subscribers per content: each costs the object memory, and a write per change. Other clients poll.
const MAX_SUBSCRIBERS: usize = 100;
/// Maximum duration of a stream. Browsers reopen it by themselves, and connections that broke without notice end.
const MAX_DURATION: Duration = Duration::from_secs(10 * 60);
/// Interval of heartbeats: most proxies close connections that are idle for a minute.
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
    /// Adds a subscriber and sends it the current content; `None` if the content has too many subscribers.
    pub fn add(
        &self,
        content: &Content,
        addresses: Addresses,
        now: Timestamp,
    ) -> Option<impl Stream<Item = worker::Result<String>> + use<>> {
        let mut subscribers = self.0.borrow_mut();
        subscribers
            .retain(|subscriber| !subscriber.sender.is_closed() && now - subscriber.since < MAX_DURATION);
        if subscribers.len() >= MAX_SUBSCRIBERS {
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

    /// Sends the content to all subscribers. Their streams end if the content is finished or removed.
    pub fn publish(&self, content: Option<&Content>, now: Timestamp) {
        let mut subscribers = self.0.borrow_mut();
        let Some(content) = content else { return subscribers.clear() };
        subscribers
            .retain(|subscriber| subscriber.send(content, now) && now - subscriber.since < MAX_DURATION);
        if content.is_finished() {
            subscribers.clear();
        }
    }
}

impl Subscriber {
    /// Sends the content; returns false if the client has left.
    fn send(&self, content: &Content, now: Timestamp) -> bool {
        self.sender.unbounded_send(events::event(content, &self.addresses, now)).is_ok()
    }
}

/// Returns the received events, with heartbeats between distant ones.
fn with_heartbeat(receiver: UnboundedReceiver<String>) -> impl Stream<Item = worker::Result<String>> {
    unfold(receiver, |mut receiver| async move {
        let event = match select(receiver.next(), pin!(Delay::from(HEARTBEAT))).await {
            Either::Left((event, _)) => event?,
            Either::Right(_) => events::HEARTBEAT.to_owned(),
        };
        Some((Ok(event), receiver))
    })
}
