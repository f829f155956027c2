//! `tiler doctor`: says what protects this machine and what is installed on it, and fails when something is missing that
//! is asked for.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use edgezoom_tiler::doctor::{Check, Places, Subject, examine};
use url::Url;

/// Says what protects this machine from its sources and what is installed to convert them; fails when what is asked for is
/// missing.
#[derive(clap::Args)]
pub struct Args {
    /// What has to be there besides the renderer's sandbox, temporary files and, where there is a browser, its namespaces
    #[arg(long, value_delimiter = ',')]
    require: Vec<Requirement>,
    /// The Chromium for web pages [default: the first of the usual ones that is installed]
    #[arg(long, env = "EDGEZOOM_CHROMIUM")]
    chromium: Option<PathBuf>,
    /// The folder for sources during their conversion [default: the system's folder for temporary files]
    #[arg(long, env = "EDGEZOOM_TMP")]
    tmp: Option<PathBuf>,
    /// The Worker's address: whether it is set up is asked if this is given
    #[arg(long, env = "EDGEZOOM_EDGE_URL")]
    edge_url: Option<Url>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Requirement {
    /// A second lock on the renderer
    Landlock,
    /// A user other than root
    User,
    /// A browser, in namespaces
    Pages,
    /// The library for PDF
    Pdf,
    /// Fonts of the system
    Fonts,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let places = Places {
        browser: args.chromium.clone(),
        temporary: args.tmp.clone().unwrap_or_else(std::env::temp_dir),
        edge: args.edge_url.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let checks = runtime.block_on(examine(&places));
    let has_browser = checks.iter().any(|check| check.subject == Subject::Browser && check.found.is_ok());
    let mut failed = false;
    for check in &checks {
        let is_required = is_required(check.subject, &args.require, has_browser);
        failed |= is_required && check.found.is_err();
        print(check, is_required);
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn is_required(subject: Subject, asked: &[Requirement], has_browser: bool) -> bool {
    let is_asked = |requirement| asked.contains(&requirement);
    match subject {
        Subject::Sandbox | Subject::Temporary | Subject::Edge => true,
        Subject::Landlock => is_asked(Requirement::Landlock),
        Subject::User => is_asked(Requirement::User),
        Subject::Browser => is_asked(Requirement::Pages),
        Subject::Namespaces => is_asked(Requirement::Pages) || has_browser,
        Subject::Pdf => is_asked(Requirement::Pdf),
        Subject::Fonts => is_asked(Requirement::Fonts),
    }
}

fn print(check: &Check, is_required: bool) {
    let name = check.subject.name();
    match &check.found {
        Ok(found) => println!("ok       {name}: {found}"),
        Err(missing) => {
            let mark = if is_required { "MISSING" } else { "missing" };
            println!("{mark}  {name}: {}\n         → {}", missing.what, missing.remedy);
        }
    }
}
