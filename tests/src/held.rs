//! Holds a command half-way, which would pass too fast to be seen.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::{client, eventually};

/// A proxy in front of the Worker that holds all requests after the first ones.
pub struct HoldingProxy {
    /// Its base URL.
    pub url: String,
    asked: Arc<watch::Sender<usize>>,
    passes: usize,
}

impl HoldingProxy {
    /// Starts a proxy in front of `target` that passes this number of requests.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(target: &str, passes: usize) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(watch::Sender::new(0));
        let (http, target, seen) = (client::http()?, target.to_owned(), Arc::clone(&asked));
        let router = Router::new().fallback(async move |request: Request| {
            let mut number = 0;
            seen.send_modify(|asked| {
                number = *asked;
                *asked += 1;
            });
            if number >= passes {
                std::future::pending::<()>().await;
            }
            pass_on(&http, &target, request)
                .await
                .unwrap_or_else(|error| (StatusCode::BAD_GATEWAY, error.to_string()).into_response())
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, asked, passes })
    }

    /// Waits until a request is held.
    ///
    /// # Errors
    /// None comes.
    pub async fn holds(&self) -> Result<()> {
        eventually("a request to hold", async || Ok((*self.asked.borrow() > self.passes).then_some(()))).await
    }
}

async fn pass_on(http: &reqwest::Client, target: &str, request: Request) -> Result<Response> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await?;
    let request = http.request(head.method, format!("{target}{}", head.uri)).headers(head.headers).body(body);
    let answer = request.send().await?;
    Ok(Response::builder().status(answer.status()).body(Body::from(answer.bytes().await?))?)
}
