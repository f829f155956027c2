//! What a process may do by its user and its capabilities, given up: capabilities(7), landlock(7). The filter of system
//! calls allows nothing of it anyway; this is what is left to an attacker who gets past the filter.

use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

/// How far Landlock holds: the kernel may be too old for it, or not have it enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Landlock {
    /// No file can be opened, no connection made, no process outside signalled.
    Full,
    /// Files, and what else this kernel knows.
    Partial,
    /// Not at all.
    Missing,
}

/// Drops all capabilities of the calling thread and the threads that it will start, for good: none can be regained by
/// executing a program either.
///
/// # Errors
/// The kernel refuses it.
pub fn drop_capabilities() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    Ok(())
}

/// Denies the calling thread, and the threads that it will start, all files that are not open yet, all connections and
/// all processes outside, as far as the kernel can.
///
/// # Errors
/// The kernel has Landlock and refuses it.
pub fn deny_files() -> io::Result<Landlock> {
    let abi = ABI::V6;
    let restrict = || {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .restrict_self()
    };
    match restrict().map_err(|error: landlock::RulesetError| io::Error::other(error))?.ruleset {
        RulesetStatus::FullyEnforced => Ok(Landlock::Full),
        RulesetStatus::PartiallyEnforced => Ok(Landlock::Partial),
        RulesetStatus::NotEnforced => Ok(Landlock::Missing),
    }
}
