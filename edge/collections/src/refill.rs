//! Which hosts' entries begin next. A collection has few conversions under way, so that its line, not the queue of the
//! service, is what waits; and it takes them from its hosts in turn, so that one slow host does not hold up the others.

use std::collections::HashMap;

use crate::entry::FILES;

/// Maximum number of entries under way.
pub const UNDER_WAY: usize = 64;
/// Maximum number of those with sources on one host, of which the service converts as many at a time.
pub const ON_ONE_HOST: usize = 16;

/// Returns how many entries of each host begin. `busy` are the numbers of entries under way by host, and `hosts` those
/// with waiting entries, in the order of their turns.
pub fn refill(busy: &HashMap<String, usize>, hosts: &[String]) -> Vec<(String, usize)> {
    let mut free = UNDER_WAY.saturating_sub(busy.values().sum());
    let mut takes = vec![0; hosts.len()];
    let known = |host| busy.get(host).copied().unwrap_or_default();
    while free > 0 {
        let before = free;
        for (host, take) in hosts.iter().zip(&mut takes) {
            let most = if host == FILES { UNDER_WAY } else { ON_ONE_HOST };
            if free > 0 && known(host) + *take < most {
                *take += 1;
                free -= 1;
            }
        }
        if free == before {
            break;
        }
    }
    hosts.iter().cloned().zip(takes).filter(|(_, take)| *take > 0).collect()
}
