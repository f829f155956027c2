//! What the operator forbids, as this isolate knows it: the contents that are taken down, and hosts of sources. The module
//! `edge/src/admin/lists.js` brings the lists here from the operator's Durable Object, every ten seconds while requests
//! come, so that no request waits for them. They make a takedown hold everywhere at once: KV and caches may have a content
//! for longer.

use std::cell::RefCell;
use std::rc::Rc;

use edgezoom_content::{AddressPolicy, ContentId};

use crate::config::Config;

#[derive(Default)]
struct OperatorLists {
    /// In order.
    taken_down: Vec<ContentId>,
    policy: Option<Rc<AddressPolicy>>,
}

thread_local! {
    static LISTS: RefCell<OperatorLists> = RefCell::default();
}

/// Sets the lists: hosts, separated by commas, and ids in their order, separated by spaces.
pub fn set(hosts: &str, taken_down: &str, config: &Config) {
    let policy = (!hosts.is_empty()).then(|| Rc::new(config.policy.denying_also(hosts)));
    let taken_down = taken_down.split(' ').filter_map(|id| id.parse().ok()).collect();
    LISTS.set(OperatorLists { taken_down, policy });
}

/// Whether the list has a content. One that was taken down a moment ago may be missing, and one that was lifted be there.
pub fn is_taken_down(id: ContentId) -> bool {
    LISTS.with_borrow(|lists| lists.taken_down.binary_search(&id).is_ok())
}

/// The policy of the configuration, with the hosts that the operator has blocked since.
pub fn policy() -> Option<Rc<AddressPolicy>> {
    LISTS.with_borrow(|lists| lists.policy.clone())
}
