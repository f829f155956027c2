//! The Worker's variables and secrets, parsed once for each instance of the Worker.

use std::cell::OnceCell;
use std::rc::Rc;

use worker::{Env, Error, Result};

use crate::config::Config;

thread_local! {
    /// The configuration does not change while an instance of the Worker lives.
    static CONFIG: OnceCell<Rc<Config>> = const { OnceCell::new() };
}

/// The operator's configuration.
pub fn config(env: &Env) -> Result<Rc<Config>> {
    if let Some(config) = CONFIG.with(|cell| cell.get().cloned()) {
        return Ok(config);
    }
    let variable = |name: &str| env.var(name).ok().map(|value| value.to_string());
    let config = Config::read(variable).map_err(|error| Error::RustError(error.to_string()))?;
    Ok(CONFIG.with(|cell| Rc::clone(cell.get_or_init(|| Rc::new(config)))))
}
