//! The subscribers of a content: the open streams of its Durable Object, and the events sent into them.
//!
//! An object with an open stream is billed for all of its time, so a stream is open only while a tiler works. For
//! contents that wait, a stream has one event, and the time after which a browser opens the next one.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use edgezoom_content::Content;
use edgezoom_content::conversion::Timestamp;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{Either, select};
use futures::stream::{Stream, StreamExt, unfold};
use serde::{Deserialize, Serialize};
use worker::Delay;

use crate::config::Addresses;
use crate::platform::isolate::now;
use crate::representation::events;

/// Maximum number of subscribers per content: each costs the object memory, and a write per change. Other clients poll.
const MAX_SUBSCRIBERS: usize = 100;
/// Maximum number of them for one client, who would otherwise take all.
const MAX_OF_CLIENT: usize = 4;
/// Maximum duration of a stream. Browsers reopen it by themselves, and connections that broke without notice end.
const MAX_DURATION: Duration = Duration::from_secs(10 * 60);
/// Interval of heartbeats: most proxies close connections that are idle for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// All subscribers of one content.
#[derive(Default)]
pub struct Subscribers {
    open: RefCell<Vec<Subscriber>>,
    /// Time until which streams may be open, by the content's state.
    until: Rc<Cell<Timestamp>>,
}

/// A client's request for the events of a content.
#[derive(Serialize, Deserialize)]
pub struct Subscription {
    /// Client; empty for the operator.
    pub party: String,
    /// The service's addresses, for the content in the events.
    pub addresses: Addresses,
}

struct Subscriber {
    asked: Subscription,
    since: Timestamp,
    sender: UnboundedSender<String>,
}

impl Subscribers {
    /// Sets the time until which streams may be open: [`Conversion::followed_until`].
    ///
    /// [`Conversion::followed_until`]: edgezoom_content::Conversion::followed_until
    pub fn allow_until(&self, until: Option<Timestamp>) {
        self.until.set(until.unwrap_or_default());
    }

    /// Adds a subscriber and sends it the current content. The stream ends at once if it may not be
    /// open. `None`: the content, or the client, has too many subscribers.
    pub fn add(
        &self,
        content: &Content,
        asked: Subscription,
        now: Timestamp,
    ) -> Option<impl Stream<Item = worker::Result<String>> + use<>> {
        let (sender, receiver) = unbounded();
        let subscriber = Subscriber { asked, since: now, sender };
        subscriber.send(content, now);
        if now < self.until.get() {
            let mut open = self.open.borrow_mut();
            open.retain(|other| !other.sender.is_closed() && now - other.since < MAX_DURATION);
            let own = open.iter().filter(|other| other.asked.party == subscriber.asked.party).count();
            let is_client = !subscriber.asked.party.is_empty();
            if open.len() >= MAX_SUBSCRIBERS || is_client && own >= MAX_OF_CLIENT {
                return None;
            }
            open.push(subscriber);
        }
        Some(with_heartbeat(receiver, Rc::clone(&self.until), now + MAX_DURATION))
    }

    /// Sends the content to all subscribers. Their streams end if they may not be open any longer.
    pub fn publish(&self, content: Option<&Content>, now: Timestamp) {
        let mut open = self.open.borrow_mut();
        let Some(content) = content else { return open.clear() };
        open.retain(|subscriber| subscriber.send(content, now) && now - subscriber.since < MAX_DURATION);
        if now >= self.until.get() {
            open.clear();
        }
    }
}

impl Subscriber {
    /// Sends the content; returns false if the client has left.
    fn send(&self, content: &Content, now: Timestamp) -> bool {
        self.sender.unbounded_send(events::event(content, &self.asked.addresses, now)).is_ok()
    }
}

/// Returns the received events, with heartbeats between distant ones, until `end` or the time that the content's state
/// allows.
fn with_heartbeat(
    receiver: UnboundedReceiver<String>,
    until: Rc<Cell<Timestamp>>,
    end: Timestamp,
) -> impl Stream<Item = worker::Result<String>> {
    unfold((receiver, until), move |(mut receiver, until)| async move {
        let left = || until.get().min(end) - now();
        let event = match select(receiver.next(), pin!(Delay::from(left().min(HEARTBEAT)))).await {
            Either::Left((event, _)) => event?,
            Either::Right(_) if left().is_zero() => return None,
            Either::Right(_) => events::HEARTBEAT.to_owned(),
        };
        Some((Ok(event), (receiver, until)))
    })
}
