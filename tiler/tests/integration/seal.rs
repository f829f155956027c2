//! Tests of `tiler seal` as a program: what it prints opens with the service's key, and no message shows a secret.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::process::{Command, Output};

use edgezoom_content::SourceUrl;
use edgezoom_tiler::credentials::{Access, Fields, SealError, SealKey};

const KEY: &str = "the key that the tilers of a service share";

/// Runs `tiler seal` for a page of `https://museum.example` with a key and other arguments.
fn seal(key: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.args(["seal", "--for", "https://museum.example/login"]).args(arguments);
    command.env_remove("EDGEZOOM_SEAL_KEY").envs(key.map(|key| ("EDGEZOOM_SEAL_KEY", key)));
    command.output().unwrap()
}

#[test]
fn a_sealed_text_opens_with_the_key_for_its_site_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("headers");
    std::fs::write(&file, "X-Api-Key: from a file\n\nAccept-Language: de\n").unwrap();
    let arguments =
        ["--header", &format!("@{}", file.display()), "--header", "Authorization: Basic c2VjcmV0"];
    let output = seal(Some(KEY), &[&arguments[..], &["--cookie", "session=12345"]].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();

    let open = |url: &str, key: &str| {
        let options = format!("web-sealed={}", text.strip_suffix('\n').unwrap());
        let source = SourceUrl::parse(url).unwrap().with_options(&options).unwrap();
        let key = Some(SealKey::of(&key.parse().unwrap()).unwrap());
        Access { key, fields: Fields::default() }.to(&source)
    };
    let opened = open("https://museum.example/plan.pdf", KEY).unwrap().unwrap();
    let expected = [
        ("x-api-key", "from a file"),
        ("accept-language", "de"),
        ("authorization", "Basic c2VjcmV0"),
        ("cookie", "session=12345"),
    ];
    assert_eq!(opened.headers(None), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(open("https://other.example/plan.pdf", KEY), Err(SealError::Unopened));
    let other = KEY.to_uppercase();
    assert_eq!(open("https://museum.example/plan.pdf", &other), Err(SealError::Unopened));
}

#[test]
fn what_cannot_be_sealed_is_refused_without_showing_it() {
    let header = ["--header", "Authorization: secret"];
    let long = format!("session={}secret", "x".repeat(4000));
    for (key, arguments, message) in [
        (None, &header[..], "EDGEZOOM_SEAL_KEY is not set"),
        (Some("a short secret"), &header, "fewer than 32 characters"),
        (Some(KEY), &[], "at least one --header or --cookie"),
        (Some(KEY), &["--header", "Host: secret"], "the header host cannot be set"),
        (Some(KEY), &["--header", "secret"], "not of the form Name: value"),
        (Some(KEY), &["--cookie", "secret"], "not of the form name=value"),
        (Some(KEY), &["--cookie", &long], "too long"),
        (Some(KEY), &["--header", "@/no/such/file"], "/no/such/file"),
    ] {
        let output = seal(key, arguments);
        let shown = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        assert!(shown.contains(message) && !shown.contains("secret"), "{arguments:?}: {shown}");
    }
}
