//! A web server for one test. It responds by path, records requests, and can stop responding.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A running server. It serves until the test process ends.
pub struct Site {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<String>>,
}

pub enum Reply {
    /// HTML with status 200.
    Html(String),
    /// Status, headers as lines, body.
    Raw(u16, String, Vec<u8>),
    /// Headers and the start of a page, and then nothing.
    Unfinished(String),
    /// The start of a page, after which the connection is closed.
    Truncated,
    /// No response.
    Silence,
}

impl Reply {
    pub fn redirect(to: &str) -> Self {
        Self::Raw(302, format!("Location: {to}\r\n"), Vec::new())
    }

    pub fn of_type(media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Raw(200, format!("Content-Type: {media_type}\r\n"), body.into())
    }

    pub fn status(status: u16) -> Self {
        Self::Raw(status, "Content-Type: text/html\r\n".to_owned(), b"<p>no".to_vec())
    }
}

impl Site {
    /// Serves on a free port of `address`.
    pub fn serve(address: &str, reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let address: IpAddr = address.parse().unwrap();
        Self::serve_on(TcpListener::bind((address, 0)).unwrap(), reply)
    }

    pub fn serve_on(listener: TcpListener, reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let site = Self { address, requests: Arc::default(), heads: Arc::default() };
        let (requests, heads, reply) = (Arc::clone(&site.requests), Arc::clone(&site.heads), Arc::new(reply));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Recorded before the thread starts, so that connections are in order.
                requests.lock().unwrap().push("(connection)".to_owned());
                let (requests, heads, reply) =
                    (Arc::clone(&requests), Arc::clone(&heads), Arc::clone(&reply));
                thread::spawn(move || serve(&stream, &requests, &heads, &*reply));
            }
        });
        site
    }

    /// Serves one page.
    pub fn page(html: &str) -> Self {
        let html = html.to_owned();
        Self::serve("127.0.0.2", move |path| match path {
            "/" => Reply::Html(html.clone()),
            _ => Reply::status(404),
        })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the header fields of all requests.
    pub fn heads(&self) -> String {
        self.heads.lock().unwrap().clone()
    }

    /// Returns the requests so far: their paths, and `(connection)` for each connection. A body is `(body)`, a space and
    /// the number of its bytes that came.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    stream: &TcpStream,
    requests: &Mutex<Vec<String>>,
    heads: &Mutex<String>,
    reply: &dyn Fn(&str) -> Reply,
) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            line.clear();
            if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
                break;
            }
            heads.lock().unwrap().push_str(&line);
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = Vec::new();
        let _ = reader.by_ref().take(length).read_to_end(&mut body); // the client may close the connection
        if length > 0 {
            requests.lock().unwrap().push(format!("(body) {}", body.len()));
        }
        line.clear();
        requests.lock().unwrap().push(path.clone());
        if send(stream, reply(&path)).is_err() {
            return;
        }
    }
}

/// Leaves a connection open until the tests end.
fn wait_for_ever() -> ! {
    loop {
        thread::park();
    }
}

fn send(mut stream: &TcpStream, reply: Reply) -> std::io::Result<()> {
    const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";
    let (status, headers, body) = match reply {
        Reply::Html(html) => (200, HTML.to_owned(), html.into_bytes()),
        Reply::Raw(status, headers, body) => (status, headers, body),
        Reply::Unfinished(html) => {
            write!(stream, "HTTP/1.1 200 OK\r\n{HTML}Content-Length: 1000000\r\n\r\n{html}")?;
            wait_for_ever()
        }
        Reply::Truncated => {
            write!(stream, "HTTP/1.1 200 OK\r\n{HTML}Content-Length: 1000000\r\n\r\n<p>")?;
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        Reply::Silence => wait_for_ever(),
    };
    write!(stream, "HTTP/1.1 {status} Status\r\n{headers}Content-Length: {}\r\n\r\n", body.len())?;
    stream.write_all(&body)
}
