//! The commands of `tiler admin`: each does what docs/operations/reference.md says, can be repeated, and is in the
//! audit log once. `takedown` tests takedowns under load, and `monitoring` the commands that affect all contents,
//! because it has a system of its own.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use edgezoom_tests::{
    Client, Course, HoldingProxy, Shared, Source, SourceServer, System, eventually, picture,
};
use reqwest::StatusCode;
use serde_json::{Value, json};

const REASON: &str = "It was asked for.";

struct Operator {
    system: Shared,
    client: Client,
    sources: SourceServer,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_admin_command_does_what_it_says_and_can_be_repeated() -> Result<()> {
    let system = System::shared()?;
    let operator = Operator { client: Client::new(system.url())?, sources: SourceServer::start()?, system };
    let retried = operator.retries_what_failed().await?;
    operator.shows_what_is_known(&retried)?;
    operator.takes_down_blocks_and_undoes_both().await?;
    operator.counts()?;
    operator.gets_errors(&retried)
}

impl Operator {
    fn done(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        done(&self.system, arguments)
    }

    /// Returns the audit log of a target, latest entry first.
    fn log(&self, target: &str) -> Result<Vec<[String; 3]>> {
        let entries = self.done(&["audit", "--since", "1h", "--target", target])?;
        let field = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        Ok(entries.iter().map(|entry| ["by", "what", "result"].map(|name| field(entry, name))).collect())
    }

    /// Waits until a list has `count` of our ids, and returns them.
    async fn list(&self, arguments: &[&str], ours: &[String], count: usize) -> Result<Vec<String>> {
        // The index is updated last.
        let complete = eventually("the list", async || {
            let listed = self.done(&[&["list", "--limit", "5000"][..], arguments].concat())?;
            let ids = listed.iter().filter_map(|content| content["id"].as_str().map(str::to_owned));
            let found: Vec<_> = ids.filter(|id| ours.contains(id)).collect();
            Ok(Some(found).filter(|found| found.len() == count))
        });
        complete.await.with_context(|| format!("{arguments:?} with {count} of {ours:?}"))
    }

    /// Tests `list` and `retry` with pages that robots.txt excludes, which no other test has. Pictures then replace
    /// them.
    async fn retries_what_failed(&self) -> Result<Vec<String>> {
        let robots = Source::file("text/plain", "User-agent: *\nDisallow: /\n");
        self.sources.put(&self.sources.url("robots.txt"), robots);
        let (mut urls, mut ids) = (vec![], vec![]);
        for _ in 0..2 {
            let page = Source::file("text/html", "<!doctype html><title>Not for you</title>");
            let url = self.sources.serve("page.html", page);
            let course = self.client.convert(&url).await?;
            assert_eq!(course.failure_code()?, "source-excluded");
            ids.push(course.id()?);
            urls.push(url);
        }
        let ours = ["--failed", "--code", "source-excluded", "--host", "127.0.0.1", "--since", "1h"];
        let latest_first = [ids[1].clone(), ids[0].clone()];
        assert_eq!(self.list(&ours, &ids, 2).await?, latest_first);
        self.list(&["--failed", "--host", "0.0.1"], &ids, 0).await?;
        self.list(&["--ready"], &ids, 0).await?;

        let mut gates = vec![];
        for url in &urls {
            let (file, gate) =
                Source::file("image/jpeg", picture::jpeg(&picture::photograph(300, 200, 77))?).held(1);
            self.sources.put(url, file);
            gates.push(gate);
        }
        let results = |answers: Vec<Value>| -> Vec<_> {
            answers.into_iter().map(|answer| answer["result"].as_str().map(str::to_owned)).collect()
        };
        let retry = [&["--as", "ben", "retry"][..], &ours[..]].concat();
        assert_eq!(results(self.done(&retry)?), [Some("queued".to_owned()), Some("queued".to_owned())]);
        // By URLs on standard input.
        let in_progress = Some("in progress".to_owned());
        let again = lines(with_input(self.system.admin(&["retry", "-", "--json"])?, &urls.join("\n"))?)?;
        assert_eq!(results(again), [in_progress.clone(), in_progress]);
        drop(gates);
        for id in &ids {
            let mut course = Course::default();
            course.see(self.client.content(id).await?)?;
            self.client.follow(&mut course).await?;
            course.ready()?;
            assert_eq!(self.log(id)?, [["operator/ben", "retry", "queued"]]);
        }
        let share_links: Vec<_> = ids.iter().map(|id| format!("{}/{id}", self.system.url())).collect();
        let refused = failed(self.system.admin(&["retry", &share_links[0], &share_links[1]])?)?;
        assert_eq!(refused.matches("Ready contents are not converted again").count(), 2, "{refused}");
        assert_eq!(self.list(&["--ready"], &ids, 2).await?.len(), 2);
        self.list(&["--failed"], &ids, 0).await?;
        Ok(ids)
    }

    /// Tests `show` with every name of a content, as JSON and as text.
    fn shows_what_is_known(&self, ids: &[String]) -> Result<()> {
        let id = ids.first().context("no content")?;
        let all = self.done(&["show", id])?;
        let [shown] = &all[..] else { bail!("one content is shown") };
        let url = shown["conversion"]["url"].as_str().context("no URL")?;
        for name in [url, &format!("{}/{id}", self.system.url())] {
            assert_eq!(&self.done(&["show", name])?[0]["conversion"], &shown["conversion"], "{name}");
        }
        let keys: Vec<_> = shown["objects"].as_array().into_iter().flatten().map(|one| &one["key"]).collect();
        assert_eq!(keys, [&json!(format!("{id}/2.szi"))]);
        assert_eq!(shown["index"]["state"], "ready");
        let history = shown["conversion"]["history"].as_str().unwrap_or_default();
        let states: Vec<_> = history.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
        let expected = ["queued", "claimed 1", "failed source-excluded", "queued", "claimed 2", "ready 2"];
        assert_eq!(states, expected);

        let output = self.system.admin(&["show", id])?.output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        for part in ["state     ready", "ready 2", "2.szi  ", "retry", "ben", &format!("url       {url}")] {
            assert!(said.contains(part), "{part} is not in {said}");
        }
        Ok(())
    }

    /// Tests `takedown` of an unknown URL, `block-host`, `hosts`, `unblock-host`, `lift`, and their effects on lists.
    async fn takes_down_blocks_and_undoes_both(&self) -> Result<()> {
        let url = "http://www.blocked.example:8080/taken.jpg";
        let takedown = self.done(&["takedown", url, "--reason", REASON])?;
        assert_eq!(takedown[0]["state"], "taken-down");
        assert_eq!(self.done(&["takedown", url, "--reason", REASON])?, takedown);
        let ids = [takedown[0]["id"].as_str().context("no id")?.to_owned()];
        self.list(&["--taken-down", "--host", "blocked.example"], &ids, 1).await?;
        assert_eq!(self.client.ask(url).await?.status, StatusCode::GONE);

        let changed = |arguments: &[&str]| -> Result<Vec<Value>> {
            let answers = self.done(arguments)?.into_iter().chain(self.done(arguments)?);
            Ok(answers.map(|mut answer| answer["changed"].take()).collect())
        };
        let reasons = || -> Result<Vec<Value>> {
            let hosts = self.done(&["hosts"])?;
            let ours = hosts.into_iter().filter(|host| host["host"] == "blocked.example");
            Ok(ours.map(|mut host| host["reason"].take()).collect())
        };
        assert_eq!(changed(&["block-host", "*.Blocked.example", "--reason", REASON])?, [true, false]);
        assert_eq!(reasons()?, [REASON]);
        for blocked in [url, "https://blocked.example/new.jpg"] {
            assert_eq!(self.client.ask(blocked).await?.status, StatusCode::BAD_REQUEST, "{blocked}");
        }
        assert_eq!(changed(&["unblock-host", "blocked.example"])?, [true, false]);
        assert!(reasons()?.is_empty());
        assert_eq!(self.client.ask(url).await?.status, StatusCode::GONE);
        let of_host = [["operator", "unblock-host", "done"], ["operator", "block-host", "done"]];
        assert_eq!(self.log("blocked.example")?, of_host);

        let lift = self.done(&["lift", url])?;
        assert_eq!(lift[0]["state"], "lifted");
        assert_eq!(self.done(&["lift", &ids[0]])?, lift);
        self.list(&["--deleted"], &ids, 1).await?;
        self.list(&["--taken-down"], &ids, 0).await?;
        let of_content = [["operator", "lift", "done"], ["operator", "takedown", "done"]];
        assert_eq!(self.log(&ids[0])?, of_content);
        Ok(())
    }

    /// Tests `stats`, and `audit` of everything.
    fn counts(&self) -> Result<()> {
        let all = self.done(&["stats"])?;
        let [stats] = &all[..] else { bail!("one object is printed") };
        let groups = stats["contents"].as_array().context("no groups")?;
        let ready = groups.iter().find(|group| group["state"] == "ready").context("none is ready")?;
        assert!(ready["contents"].as_u64() >= Some(2), "{stats}");
        assert!(ready["pixels"].as_u64() >= Some(2 * 300 * 200), "{stats}");
        assert!(ready["tiles"].as_u64() >= Some(2) && ready["bytes"].as_u64() > Some(1000), "{stats}");
        assert!(stats["queue"]["backlog"]["messages"].is_u64(), "{stats}");
        assert_eq!(self.done(&["audit", "--limit", "3"])?.len(), 3);
        let said = String::from_utf8_lossy(&self.system.admin(&["stats"])?.output()?.stdout).into_owned();
        assert!(said.contains("ready ") && said.contains("blocked hosts: "), "{said}");
        Ok(())
    }

    fn gets_errors(&self, ids: &[String]) -> Result<()> {
        let unknown = "00000000000";
        let wrong: [(&[&str], &str); 8] = [
            (&["show", unknown], "This content does not exist"),
            (&["show", "nonsense"], "Give the id of a content"),
            (&["retry", unknown], "This content does not exist"),
            (&["takedown", &ids[0]], "--reason"),
            (&["takedown", &ids[0], "--reason", " "], "A reason is required"),
            (&["block-host", "a b", "--reason", REASON], "is not a host"),
            (&["list", "--failed", "--host", "a/b"], "is not a host"),
            (&["purge"], "--older-than"),
        ];
        for (arguments, why) in wrong {
            let said = failed(self.system.admin(arguments)?)?;
            assert!(said.contains(why), "{arguments:?}: {said}");
        }
        let mut stranger = self.system.admin(&["stats"])?;
        stranger.env("EDGEZOOM_ADMIN_TOKEN", "of-a-stranger-who-guesses");
        let said = failed(stranger)?;
        assert!(said.contains("The token is wrong"), "{said}");
        assert_eq!(
            self.done(&["show", &ids[0]])?[0]["index"]["state"],
            "ready",
            "failed commands change nothing"
        );
        Ok(())
    }
}

/// Tests `purge` and `reindex` in a system without other tests: counts all ended contents, then deletes them by a
/// command that is killed half-way and repeated. A purged content is converted again on request.
pub async fn purges_what_is_old(system: &System, client: &Client, ready: &Course) -> Result<()> {
    let left = || -> Result<u64> {
        let counted = done(system, &["purge", "--older-than", "0s"])?;
        counted[0]["left"].as_u64().context("no count")
    };
    let all = left()?;
    assert!(all > 5, "{all} contents have ended");
    assert_eq!(client.content(&ready.id()?).await?["ready"], true, "without --yes purge only counts");

    let purge =
        |rate: &str| system.admin(&["purge", "--older-than", "0s", "--yes", "--json", "--rate", rate]);
    let proxy = HoldingProxy::start(system.url(), 2).await?; // passes the count and the first deletion
    let purged = || -> Result<Vec<u64>> {
        let log = done(system, &["audit"])?;
        let purges = log.iter().filter(|entry| entry["what"] == "purge");
        Ok(purges.filter_map(|entry| entry["contents"].as_u64()).collect())
    };
    let mut killed = purge("1")?.env("EDGEZOOM_EDGE_URL", &proxy.url).spawn()?;
    proxy.holds().await?;
    killed.kill()?;
    killed.wait()?;
    assert_eq!((left()?, purged()?), (all - 1, vec![1]), "half-way");
    let whole = lines(purge("50")?.output()?)?;
    assert_eq!(
        (left()?, done(system, &["purge", "--older-than", "0s", "--yes"])?[0]["removed"].as_u64()),
        (0, Some(0))
    );
    assert_eq!(purged()?, [all - 1, 1], "each command is one entry: {whole:?}");
    system.keeps_nothing("").await?;
    assert_eq!(done(system, &["reindex"])?[0]["added"], 0);

    let before = ready.ready()?;
    let again = client.convert(before["url"].as_str().context("no URL")?).await?;
    assert_eq!(again.id()?, ready.id()?);
    assert_ne!(again.ready()?["dzi"]["url"], before["dzi"]["url"]);
    Ok(())
}

/// Runs a command that must succeed and returns its output, one object a line.
fn done(system: &System, arguments: &[&str]) -> Result<Vec<Value>> {
    let output = system.admin(&[arguments, &["--json"]].concat())?.output()?;
    lines(output).with_context(|| format!("{arguments:?}"))
}

fn lines(output: std::process::Output) -> Result<Vec<Value>> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

fn with_input(mut command: Command, input: &str) -> Result<std::process::Output> {
    let mut process = command.stdin(Stdio::piped()).spawn()?;
    process.stdin.take().context("no input")?.write_all(input.as_bytes())?;
    Ok(process.wait_with_output()?)
}

/// Runs a command that must fail and returns its error message.
fn failed(mut command: Command) -> Result<String> {
    let output = command.output()?;
    ensure!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}
