//! Permitted and refused addresses, hosts and ports.

use super::*;

fn permits(policy: &AddressPolicy, address: &str) -> bool {
    policy.permits(address.parse().unwrap())
}

#[test]
fn only_public_addresses_are_permitted_by_default() {
    let policy = AddressPolicy::default();
    for public in
        ["8.8.8.8", "172.15.255.255", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]
    {
        assert!(permits(&policy, public), "{public}");
    }
    for private in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.168.1.1",
        "198.19.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "64:ff9b::7f00:1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
    ] {
        assert!(!permits(&policy, private), "{private}");
    }
}

#[test]
fn the_operator_can_allow_networks() {
    let policy = AddressPolicy::allowing("127.0.0.0/8, fd00::/8,10.0.0.7/32").unwrap();
    for allowed in ["127.0.0.1", "::ffff:127.9.9.9", "fd00::1", "10.0.0.7"] {
        assert!(permits(&policy, allowed), "{allowed}");
    }
    assert!(!permits(&policy, "10.0.0.8"));
    assert!(!permits(&policy, "::1"));
    assert!(permits(&AddressPolicy::allowing("0.0.0.0/0").unwrap(), "10.0.0.8"));
    for (networks, result) in [
        ("", Err(RefusedAddress::Network)),
        ("10.0.0.0/8", Err(RefusedAddress::Network)),
        ("127.0.0.0/8", Ok(())),
        ("::1/128", Ok(())),
    ] {
        let policy = AddressPolicy::allowing(networks).unwrap();
        for url in ["http://localhost:8000/", "http://LOCALHOST./", "http://a.localhost/"] {
            assert_eq!(admit(&policy, url), result, "{url} with {networks:?}");
        }
    }
    for wrong in ["127.0.0.1", "127.0.0.0/33", "localhost/8", "fd00::/129", "/"] {
        let error = AddressPolicy::allowing(wrong).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{wrong}` is not a network")), "{error}");
    }
}

#[test]
fn a_literal_address_is_refused_in_every_notation() {
    let policy = AddressPolicy::default();
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/",
    ] {
        assert_eq!(policy.admit(&SourceUrl::parse(url).unwrap()), Err(RefusedAddress::Network), "{url}");
    }
    for url in ["http://example.com/", "http://8.8.8.8/", "https://[2606:4700::1111]/"] {
        assert_eq!(policy.admit(&SourceUrl::parse(url).unwrap()), Ok(()), "{url}");
    }
}

/// Addresses of services inside clouds, with the document that names them. Those with `None` have no page of the
/// cloud's own that we could read: other programs that deny them name them.
#[rustfmt::skip]
const INSIDE_CLOUDS: &[(&str, &[&str], Option<&str>)] = &[
    ("AWS: metadata", &["169.254.169.254", "fd00:ec2::254"], Some("docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html")),
    ("AWS: credentials of containers", &["169.254.170.2", "169.254.170.23", "fd00:ec2::23"], Some("docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v2.html")),
    ("Azure: the wire server", &["168.63.129.16", "::ffff:168.63.129.16"], Some("learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16")),
    ("Google: metadata", &["169.254.169.254", "fd20:ce::254"], Some("cloud.google.com/compute/docs/metadata/querying-metadata")),
    ("Google: restricted.googleapis.com", &["199.36.153.4", "199.36.153.7", "2600:2d00:2:1000::", "2600:2d00:2:10ff::1"], Some("docs.cloud.google.com/vpc/docs/access-apis-external-ip")),
    ("Google: private.googleapis.com", &["199.36.153.8", "199.36.153.11", "2600:2d00:2:2000::", "2600:2d00:2:20ff:ffff::"], Some("docs.cloud.google.com/vpc/docs/access-apis-external-ip")),
    ("Google: direct connections", &["34.126.0.0", "34.126.63.255", "2001:4860:8040::", "2001:4860:807f:ffff::"], Some("docs.cloud.google.com/vpc/docs/access-apis-external-ip")),
    ("Google: services of a Kubernetes cluster", &["34.118.224.1", "34.118.239.255"], Some("docs.cloud.google.com/kubernetes-engine/docs/concepts/alias-ips")),
    ("Google: the same by IPv6", &["2600:2d00:0:4:f9b7::1"], Some("docs.cloud.google.com/kubernetes-engine/docs/how-to/single-stack-ipv6")),
    ("IBM: name servers", &["161.26.0.10"], Some("cloud.ibm.com/docs/vpc?topic=vpc-service-endpoints-for-vpc")),
    ("IBM: endpoints of services", &["166.8.0.0", "166.9.228.73", "166.11.255.255"], Some("cloud.ibm.com/docs/atracker?topic=atracker-endpoints")),
    ("Oracle: metadata", &["169.254.169.254", "fd00:c1::a9fe:a9fe"], Some("github.com/oracle/oci-python-sdk: src/oci/auth/signers")),
    ("Oracle at a customer's: metadata", &["192.0.0.192"], Some("docs.oracle.com/en/cloud/cloud-at-customer/occ-get-started/retrieve-predefined-instance-metadata.html")),
    ("Alibaba: metadata, name servers", &["100.100.100.200", "100.100.2.136"], Some("www.alibabacloud.com/help/doc-detail/141788.htm")),
    ("DigitalOcean: metadata", &["169.254.169.254"], Some("docs.digitalocean.com/products/droplets/how-to/access-metadata")),
    ("Hetzner: metadata", &["169.254.169.254"], Some("docs.hetzner.cloud/#server-metadata")),
    ("Tencent: metadata", &["169.254.0.23", "100.88.222.5"], None),
    ("Scaleway: metadata", &["169.254.42.42", "fd00:42::42"], None),
    ("Akamai: metadata", &["169.254.169.254", "fd00:a9fe:a9fe::1"], None),
    ("Equinix Metal: metadata", &["192.80.8.124"], None),
    ("OpenStack: metadata", &["169.254.169.254", "fe80::a9fe:a9fe"], Some("docs.openstack.org/nova/latest/user/metadata.html")),
];

#[test]
fn services_inside_clouds_are_refused() {
    let policy = AddressPolicy::default();
    for (service, addresses, document) in INSIDE_CLOUDS {
        for address in *addresses {
            assert!(!permits(&policy, address), "{service}: {address} ({document:?})");
        }
    }
    for outside in [
        "168.63.129.17",
        "199.36.153.3",
        "199.36.153.12",
        "34.125.255.255",
        "34.126.64.0",
        "34.118.223.255",
        "34.118.240.0",
        "161.27.0.1",
        "166.7.255.255",
        "166.12.0.0",
        "192.80.8.123",
        "2600:2d00:2:1100::",
        "2600:2d00:2:2100::",
        "2600:2d00:0:5::",
        "2001:4860:8080::",
        "2001:4860:4860::8888",
    ] {
        assert!(permits(&policy, outside), "{outside}");
    }
    assert!(permits(&AddressPolicy::allowing("168.63.129.16/32").unwrap(), "168.63.129.16"));
}

#[test]
fn the_machines_own_networks_are_refused_unless_they_are_allowed() {
    let local = LocalNetworks::default();
    let policy = AddressPolicy::allowing("2606:4700:0:1::/64").unwrap().refusing_local(local.clone());
    let own = ["93.184.216.34", "::ffff:93.184.216.34", "2606:4700::22"];
    let neighbour = ["93.184.217.255", "2606:4700::1:0:0:1"];
    let others = ["93.184.218.0", "2606:4700:0:2::1", "2606:4700:0:1::1"];
    let all = own.into_iter().chain(neighbour).chain(others);
    assert!(all.clone().all(|address| permits(&policy, address)), "the list is still empty");
    local.replace(Network::list("93.184.216.0/23, 2606:4700::/64, 2606:4700:0:1::/64").unwrap());
    let refused: Vec<_> = all.filter(|address| !permits(&policy, address)).collect();
    assert_eq!(refused, [&own[..], &neighbour].concat());
    assert_eq!(admit(&policy, "http://[2606:4700::22]/metrics"), Err(RefusedAddress::Network));
    local.replace(Vec::new());
    assert!(permits(&policy, own[0]));
}

#[test]
fn denied_networks_are_refused_even_if_they_are_allowed() {
    let policy = AddressPolicy::allowing("10.0.0.0/8").unwrap().denying("10.0.0.1/32, 8.8.8.0/24").unwrap();
    for (address, permitted) in [
        ("10.0.0.2", true),
        ("10.0.0.1", false),
        ("8.8.8.8", false),
        ("::ffff:8.8.8.8", false),
        ("8.8.9.8", true),
    ] {
        assert_eq!(permits(&policy, address), permitted, "{address}");
    }
    assert!(AddressPolicy::default().denying("8.8.8.8").is_err());
}

fn admit(policy: &AddressPolicy, url: &str) -> Result<(), RefusedAddress> {
    policy.admit(&SourceUrl::parse(url).unwrap())
}

#[test]
fn ports_of_other_protocols_are_refused() {
    let policy = AddressPolicy::allowing("127.0.0.0/8").unwrap();
    for port in [0, 1, 21, 22, 25, 111, 389, 445, 1023] {
        for host in ["example.com", "127.0.0.1", "8.8.8.8"] {
            let url = format!("http://{host}:{port}/");
            assert_eq!(admit(&policy, &url), Err(RefusedAddress::Port), "{url}");
        }
    }
    for url in [
        "http://example.com:443/",
        "https://example.com:80/",
        "https://example.com/",
        "http://a.example:1024/",
    ] {
        assert_eq!(admit(&policy, url), Ok(()), "{url}");
    }
}

#[test]
fn denied_hosts_are_refused_with_all_names_below_them() {
    let policy = AddressPolicy::default()
        .denying_hosts("Bad.example, *.worse.example., bücher.example,8.8.8.8")
        .unwrap();
    for url in [
        "http://bad.example/",
        "http://BAD.example./",
        "http://www.bad.example:8080/",
        "http://a.b.worse.example/",
        "http://worse.example/",
        "http://xn--bcher-kva.example/",
        "http://8.8.8.8/",
        "http://[::ffff:8.8.8.8]/",
        "http://0x08080808/",
    ] {
        assert_eq!(admit(&policy, url), Err(RefusedAddress::Host), "{url}");
    }
    for url in ["http://notbad.example/", "http://bad.example.com/", "http://8.8.8.9/"] {
        assert_eq!(admit(&policy, url), Ok(()), "{url}");
    }
}

#[test]
fn a_list_of_allowed_hosts_excludes_all_others() {
    let allow = |hosts| AddressPolicy::default().allowing_hosts(hosts).unwrap();
    let policy =
        allow("museum.example,10.0.0.7,2606:4700::1111").denying_hosts("private.museum.example").unwrap();
    for (url, result) in [
        ("http://museum.example/a.jpg", Ok(())),
        ("http://images.museum.example./a.jpg", Ok(())),
        ("http://[2606:4700::1111]/", Ok(())),
        ("http://private.museum.example/", Err(RefusedAddress::Host)),
        ("http://other.example/", Err(RefusedAddress::Host)),
        ("http://8.8.8.8/", Err(RefusedAddress::Host)),
        ("http://10.0.0.7/", Err(RefusedAddress::Network)), // the list of hosts opens no network
    ] {
        assert_eq!(admit(&policy, url), result, "{url}");
    }
    assert_eq!(admit(&allow(" ,"), "http://other.example/"), Ok(()));
    for wrong in ["http://a.example", "a.example/b", "a.*.example", "a b", "*", "a.example:80"] {
        let error = AddressPolicy::default().allowing_hosts(wrong).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{wrong}` is not a host")), "{error}");
    }
}

#[test]
fn hosts_are_denied_beside_those_of_the_policy() {
    let policy = AddressPolicy::allowing("10.0.0.0/8").unwrap().denying_hosts("a.example").unwrap();
    let policy = policy.denying_also("b.example, no host");
    let admits = |url: &str| policy.admit(&SourceUrl::parse(url).unwrap()).is_ok();
    assert_eq!(
        ["http://a.example/", "http://b.example/", "http://c.example/", "http://10.0.0.1/"].map(admits),
        [false, false, true, true]
    );
}

#[test]
fn a_network_is_printed_as_it_is_written() {
    for text in ["10.0.0.0/8", "2001:db8::/32"] {
        assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
    }
}
