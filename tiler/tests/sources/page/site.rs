//! A web server for one test: answers by path, counts what is asked for, and can hang.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A running server. It serves until the test process ends.
pub struct Site {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<String>>,
}

pub enum Reply {
    /// A page.
    Html(String),
    /// Status, headers as lines, body.
    Raw(u16, String, Vec<u8>),
    /// Headers and the beginning of a page, and then nothing, for a minute.
    Unfinished(String),
    /// The beginning of a page, and then the connection's end.
    CutOff,
    /// Nothing at all, for a minute.
    Silence,
}

impl Reply {
    pub fn redirect(to: &str) -> Self {
        Self::Raw(302, format!("Location: {to}\r\n"), Vec::new())
    }

    pub fn of_type(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Raw(200, format!("Content-Type: {kind}\r\n"), body.into())
    }

    pub fn status(status: u16) -> Self {
        Self::Raw(status, "Content-Type: text/html\r\n".to_owned(), b"<p>no".to_vec())
    }
}

impl Site {
    /// Serves on a free port of `address`.
    pub fn serve(address: &str, answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let address: IpAddr = address.parse().unwrap();
        Self::serve_on(TcpListener::bind((address, 0)).unwrap(), answer)
    }

    pub fn serve_on(listener: TcpListener, answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let site = Self { address, asked: Arc::default(), heads: Arc::default() };
        let (asked, heads, answer) = (Arc::clone(&site.asked), Arc::clone(&site.heads), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, heads, answer) = (Arc::clone(&asked), Arc::clone(&heads), Arc::clone(&answer));
                thread::spawn(move || serve(&stream, &asked, &heads, &*answer));
            }
        });
        site
    }

    /// A site of one page.
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

    /// All that was said in the heads of requests.
    pub fn heads(&self) -> String {
        self.heads.lock().unwrap().clone()
    }

    /// What was asked for so far: paths, and `(connection)` for each that was made.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    stream: &TcpStream,
    seen: &Mutex<Vec<String>>,
    heads: &Mutex<String>,
    answer: &dyn Fn(&str) -> Reply,
) {
    seen.lock().unwrap().push("(connection)".to_owned());
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
        reader.by_ref().take(length).read_to_end(&mut Vec::new()).unwrap();
        line.clear();
        seen.lock().unwrap().push(path.clone());
        if send(stream, answer(&path)).is_err() {
            return;
        }
    }
}

fn send(mut stream: &TcpStream, reply: Reply) -> std::io::Result<()> {
    const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";
    let (status, headers, body) = match reply {
        Reply::Html(html) => (200, HTML.to_owned(), html.into_bytes()),
        Reply::Raw(status, headers, body) => (status, headers, body),
        Reply::Unfinished(html) => {
            write!(stream, "HTTP/1.1 200 OK\r\n{HTML}Content-Length: 1000000\r\n\r\n{html}")?;
            thread::sleep(Duration::from_secs(60));
            return Ok(());
        }
        Reply::CutOff => {
            write!(stream, "HTTP/1.1 200 OK\r\n{HTML}Content-Length: 1000000\r\n\r\n<p>")?;
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        Reply::Silence => {
            thread::sleep(Duration::from_secs(60));
            return Ok(());
        }
    };
    write!(stream, "HTTP/1.1 {status} Status\r\n{headers}Content-Length: {}\r\n\r\n", body.len())?;
    stream.write_all(&body)
}
