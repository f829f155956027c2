//! State that an isolate keeps between requests: the configuration, a copy of the operator's lists, and the clock.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::{AddressPolicy, ContentId};
use worker::{Date, Env, Error, Result};

use crate::config::Config;

thread_local! {
    static CONFIG: OnceCell<Rc<Config>> = const { OnceCell::new() };
    static LISTS: RefCell<OperatorLists> = RefCell::default();
}

/// The contents that are taken down or deleted by their uploaders, in order, and the address policy with the hosts that the operator has blocked.
///
/// The lists make a removal effective everywhere at once: KV and caches may keep a content longer.
/// `edge/src/admin/lists.js` refreshes them from the operator's Durable Object.
#[derive(Default)]
struct OperatorLists {
    taken_down: Vec<ContentId>,
    policy: Option<Rc<AddressPolicy>>,
}

/// Returns the time. The runtime's clock stands still between I/O.
pub fn now() -> Timestamp {
    Timestamp(Date::now().as_millis())
}

/// Returns the operator's configuration. It is parsed once: it does not change while an isolate lives.
pub fn config(env: &Env) -> Result<Rc<Config>> {
    if let Some(config) = CONFIG.with(|cell| cell.get().cloned()) {
        return Ok(config);
    }
    let variable = |name: &str| env.var(name).ok().map(|value| value.to_string());
    let config = Config::read(variable).map_err(|error| Error::RustError(error.to_string()))?;
    Ok(CONFIG.with(|cell| Rc::clone(cell.get_or_init(|| Rc::new(config)))))
}

/// Sets the operator's lists: blocked hosts, separated by commas, and sorted ids of taken-down contents, separated by
/// spaces.
pub fn set_operator_lists(hosts: &str, taken_down: &str, config: &Config) {
    let policy = (!hosts.is_empty()).then(|| Rc::new(config.policy.denying_also(hosts)));
    let taken_down = taken_down.split(' ').filter_map(|id| id.parse().ok()).collect();
    LISTS.set(OperatorLists { taken_down, policy });
}

/// Returns true if a content is in the list of removed ones, which may be some seconds old.
pub fn is_taken_down(id: ContentId) -> bool {
    LISTS.with_borrow(|lists| lists.taken_down.binary_search(&id).is_ok())
}

/// Returns the address policy with the blocked hosts, if there are any.
pub fn blocking_policy() -> Option<Rc<AddressPolicy>> {
    LISTS.with_borrow(|lists| lists.policy.clone())
}
