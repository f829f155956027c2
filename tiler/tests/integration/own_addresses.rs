//! Tests that sources cannot be at the machine's own addresses or on its links, even if these are global, in a network
//! namespace that has such addresses (network_namespaces(7)).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use edgezoom_content::address::RefusedAddress;
use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_test_support::patience;
use edgezoom_tiler::bot::BotSettings;
use edgezoom_tiler::fetch::{FetchError, Fetched, Fetcher};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::local_networks;

const TILER: &str = env!("CARGO_BIN_EXE_tiler");
/// Environment variable of the process in the namespace.
const NAMESPACE: &str = "EDGEZOOM_TEST_NAMESPACE";

#[test]
fn a_source_at_a_global_address_of_this_machine_or_a_neighbour_is_refused() {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "--"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "own_addresses::attacks_in_a_network_namespace", "--ignored", "--nocapture"]);
    let output = command.env(NAMESPACE, "").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Runs `ip` (iproute2).
fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

/// Starts a server on all addresses. Returns its port and the number of its connections.
fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("[::]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            counter.fetch_add(1, SeqCst);
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\nsecret");
        }
    });
    (port, connections)
}

async fn fetch(policy: &AddressPolicy, url: &str) -> Result<Fetched, FetchError> {
    let folder = std::env::temp_dir();
    let fetcher = Fetcher::new(policy.clone(), Limits::default(), folder, BotSettings::default()).unwrap();
    fetcher.fetch(&SourceUrl::parse(url).unwrap(), |_| ()).await
}

/// Waits until the policy permits an address, or refuses it.
fn wait_until(policy: &AddressPolicy, address: &str, permitted: bool) {
    let address: IpAddr = address.parse().unwrap();
    let deadline = Instant::now() + patience(); // the kernel announces changes of addresses
    while policy.permits(address) != permitted {
        assert!(
            Instant::now() < deadline,
            "{address} is still {}",
            if permitted { "refused" } else { "permitted" }
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs in the namespace, and does nothing by itself: it adds interfaces.
#[tokio::test]
#[ignore = "changes the network"]
async fn attacks_in_a_network_namespace() {
    if std::env::var_os(NAMESPACE).is_none() {
        return;
    }
    ip("link set lo up");
    ip("link add edge type veth peer name other");
    ip("address add 93.184.216.34/24 dev edge");
    ip("address add 2606:4700::22/64 dev edge nodad");
    ip("link set other up");
    ip("link set edge up");
    let (port, connections) = server();
    let local = local_networks::follow(vec![]).unwrap();
    let attacks = [
        format!("http://93.184.216.34:{port}/metrics"),
        format!("http://1572395042:{port}/metrics"),
        format!("http://[::ffff:93.184.216.34]:{port}/metrics"),
        format!("http://[2606:4700::22]:{port}/metrics"),
        "http://93.184.216.99/".to_owned(),
        "http://[2606:4700::99]/".to_owned(),
    ];
    let policy = AddressPolicy::default().refusing_local(local.clone());
    wait_until(&policy, "2606:4700::22", false);
    for url in &attacks {
        let refused = fetch(&policy, url).await.unwrap_err();
        assert!(matches!(refused, FetchError::Refused(RefusedAddress::Network)), "{url}: {refused}");
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(TILER).args(["convert", url, "-o"]).arg(folder.path().join("out")).output();
        let message = String::from_utf8(output.unwrap().stderr).unwrap();
        assert!(message.contains("in a private, reserved or denied network"), "{url}: {message}");
    }
    assert_eq!(connections.load(SeqCst), 0);
    assert!(policy.permits("93.184.217.34".parse().unwrap()), "only this network is refused");

    // The operator's word counts, and without the list the attacks would have been answered.
    let allowing = AddressPolicy::allowing("93.184.216.34/32,2606:4700::/64").unwrap();
    for policy in [allowing.refusing_local(local), AddressPolicy::default()] {
        for url in [&attacks[0], &attacks[3]] {
            assert_eq!(fetch(&policy, url).await.unwrap().length, 6, "{url}");
        }
    }
    assert_eq!(connections.load(SeqCst), 4);

    // Addresses that come and go while the tiler runs.
    wait_until(&policy, "198.35.26.96", true);
    ip("address add 198.35.26.97/28 dev edge");
    wait_until(&policy, "198.35.26.97", false);
    wait_until(&policy, "198.35.26.96", false);
    ip("address del 198.35.26.97/28 dev edge");
    wait_until(&policy, "198.35.26.96", true);

    let doctor = Command::new(TILER).args(["doctor", "--chromium", "/no/browser"]).output().unwrap();
    let text = String::from_utf8(doctor.stdout).unwrap();
    let line = text.lines().find(|line| line.contains(" addresses: ")).unwrap();
    assert!(line.contains("2606:4700::22/128") && line.contains("93.184.216.0/24"), "{line}");
}
