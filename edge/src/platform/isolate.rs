//! State that an isolate keeps between requests: the configuration, a copy of the operator's lists, and the clock.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::{AddressPolicy, ContentId};
use worker::{Date, Env, Error, Result};

use crate::config::Config;

thread_local! {
    static CONFIG: OnceCell<Rc<Config>> = const { OnceCell::new() };
    static TAKEN_DOWN: RefCell<Vec<ContentId>> = const { RefCell::new(Vec::new()) };
    static BLOCKING: RefCell<Option<Rc<AddressPolicy>>> = const { RefCell::new(None) };
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

/// Sets the hosts that the operator blocks, separated by commas.
pub fn block_hosts(hosts: &str, config: &Config) {
    let policy = (!hosts.is_empty()).then(|| Rc::new(config.policy.denying_also(hosts)));
    BLOCKING.set(policy);
}

/// Adds contents to the list of removed ones, or takes them out of it. The list makes a removal effective everywhere at
/// once: KV and caches may keep a content longer. `edge/src/admin/lists.js` loads it from the operator's Durable Object.
pub fn list_removed(ids: &str, removed: bool) {
    TAKEN_DOWN.with_borrow_mut(|known| {
        for id in ids.split(',').filter_map(|id| id.parse().ok()) {
            match (known.binary_search(&id), removed) {
                (Err(at), true) => known.insert(at, id),
                (Ok(at), false) => _ = known.remove(at),
                _ => {}
            }
        }
    });
}

/// Returns true if a content is in the list of removed ones, which may be some seconds old.
pub fn is_taken_down(id: ContentId) -> bool {
    TAKEN_DOWN.with_borrow(|ids| ids.binary_search(&id).is_ok())
}

/// Returns the address policy with the blocked hosts, if there are any.
pub fn blocking_policy() -> Option<Rc<AddressPolicy>> {
    BLOCKING.with_borrow(Clone::clone)
}
