//! `cargo xtask dev` as a program: its error messages, and that it leaves no process, however it ends.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{Client, Course, Options, Source, SourceServer, System, picture, processes};
use rustix::process::Signal;

#[test]
fn a_taken_port_is_reported() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port();
    let state = tempfile::tempdir()?;
    let output = Options::default().command(state.path(), port)?.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains(&format!("port {port} is taken")) && said.contains("--port"), "{said}");
    Ok(())
}

#[test]
fn a_state_directory_in_use_is_reported() -> Result<()> {
    let system = System::shared()?;
    let output = Options::default().command(system.state().path(), 0)?.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("in use by another") && said.contains("--state"), "{said}");
    Ok(())
}

#[test]
fn an_invalid_setting_is_reported() -> Result<()> {
    let state = tempfile::tempdir()?;
    let options = Options { allow_networks: "127.0.0.1", ..Options::default() };
    let output = options.command(state.path(), 0)?.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("`127.0.0.1` is not a network"), "{said}");
    Ok(())
}

#[test]
fn only_the_owner_can_read_the_token() -> Result<()> {
    let system = System::shared()?;
    let token = std::fs::metadata(system.state().path().join("token"))?;
    assert_eq!(token.permissions().mode() & 0o777, 0o600);
    assert!(system.token()?.len() >= 16);
    Ok(())
}

#[tokio::test]
async fn pages_answer_and_pictures_wait_while_the_tiler_is_built() -> Result<()> {
    let mut system = System::start(Options { building: true, ..Options::default() })?;
    assert!(system.tiler().is_err(), "a tiler runs");
    let client = Client::new(system.url())?;
    assert_eq!(client.get("/").await?.status, 200);
    let sources = SourceServer::start()?;
    let source =
        sources.serve("picture", Source::file("image/png", picture::png(&picture::cutout(300, 200, 5))?));
    let mut course = Course::default();
    course.see(client.ask(&source).await?.json()?)?;
    assert_eq!(course.stages(), ["building"]);
    let page = client.get(&format!("/{}", course.id()?)).await?.text();
    assert!(page.contains(r#""stage":"building""#), "{page}");

    system.complete()?;
    client.follow(&mut course).await?;
    course.ready()?;
    Ok(())
}

#[test]
fn a_tiler_that_cannot_be_built_ends_the_system() -> Result<()> {
    let mut system = System::start(Options { building: true, ..Options::default() })?;
    system.fail_to_build();
    assert!(!system.wait()?.success());
    let log = system.whole_log()?;
    assert!(log.contains("the renderer cannot be built"), "{log}");
    Ok(())
}

#[test]
fn a_system_that_is_interrupted_leaves_no_process() -> Result<()> {
    let mut system = System::start(Options::default())?;
    let state = system.state();
    ensure!(processes::of(state.path())?.len() >= 5, "xtask, watchdog, wrangler, workerd and tiler must run");
    assert!(system.end(Signal::INT)?.success(), "{}", system.log());
    assert_eq!(processes::left(state.path()), [""; 0]);
    Ok(())
}

#[test]
fn a_system_that_is_killed_leaves_no_process() -> Result<()> {
    let mut system = System::start(Options::default())?;
    let state = system.state();
    system.end(Signal::KILL)?;
    assert_eq!(processes::left(state.path()), [""; 0]);
    Ok(())
}

#[test]
fn a_system_whose_watchdog_is_interrupted_too_leaves_no_process() -> Result<()> {
    let mut system = System::start(Options::default())?;
    let state = system.state();
    let watchdog = process(&state, |line| line.ends_with("xtask-tools\0watchdog\0"))?;
    processes::signal(watchdog, Signal::INT)?;
    assert!(system.end(Signal::INT)?.success(), "{}", system.log());
    assert_eq!(processes::left(state.path()), [""; 0]);
    Ok(())
}

#[test]
fn the_system_stops_when_its_edge_dies() -> Result<()> {
    let mut system = System::start(Options::default())?;
    let state = system.state();
    let wrangler = process(&state, |line| line.contains("wrangler") && line.contains("--persist-to"))?;
    processes::signal(wrangler, Signal::KILL)?;
    let status = system.wait()?;
    assert!(!status.success());
    assert_eq!(processes::left(state.path()), [""; 0]);
    let log = system.whole_log()?;
    assert!(log.contains("the edge ended"), "{log}");
    Ok(())
}

/// Returns the first process of a system whose command line, with zero-terminated arguments, satisfies `is_it`.
fn process(state: &tempfile::TempDir, is_it: impl Fn(&str) -> bool) -> Result<u32> {
    let line = |id: &u32| std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let found = processes::of(state.path())?.into_iter().find(|id| is_it(&line(id)));
    found.context("no such process")
}
