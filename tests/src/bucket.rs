//! What lies in the store that pyramids are put into, seen through its own interface and not through the Worker.

use anyhow::Result;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};

use crate::System;

/// The keys of all objects that begin with `prefix`, sorted.
///
/// # Errors
/// The store does not answer.
pub async fn keys(system: &System, prefix: &str) -> Result<Vec<String>> {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(format!("{}/cdn-cgi/local/r2/s3/", system.url())) // the SDK adds no slash before the bucket
        .credentials_provider(Credentials::new("local", "local-secret-for-development", None, None, "tests"))
        .region(Region::new("auto"))
        .force_path_style(true)
        .build();
    let client = aws_sdk_s3::Client::from_conf(config);
    let mut pages =
        client.list_objects_v2().bucket("edgezoom-pyramids").prefix(prefix).into_paginator().send();
    let mut keys = vec![];
    while let Some(page) = pages.next().await {
        keys.extend(page?.contents().iter().filter_map(|object| object.key().map(str::to_owned)));
    }
    keys.sort();
    Ok(keys)
}
