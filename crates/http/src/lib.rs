//! A small HTTP server that no client can stall: one thread, no call that blocks, a limit on everything.
//!
//! [`client`] is the other side: it sends a message and reads a short answer.
//!
//! It answers GET and HEAD requests for a few pages and closes the connection after each answer. A client has 5 s to send its request, of at
//! most 8 KiB, and 10 s to take the answer. Beyond 128 connections, the one closest to its deadline is closed. A [`WebConfig`] adds TLS and
//! passwords.
//!
//! Modules: `channel` (a connection's bytes, by TLS or in the clear), `web_config` (the file), `client`.
#![forbid(unsafe_code)]

mod channel;
pub mod client;
mod web_config;

pub use web_config::{WebConfig, WebConfigError};

use channel::Channel;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::time::{Duration, Instant};
use web_config::Verdict;

/// Time for a request to arrive.
const REQUEST: Duration = Duration::from_secs(5);
/// Time for a client to take the answer.
const ANSWER: Duration = Duration::from_secs(10);
/// Time for the client to close. What it still sends is read and dropped: closing with unread data would reset the connection and lose the answer.
const FAREWELL: Duration = Duration::from_secs(1);
/// Most bytes of a request.
const REQUEST_BYTES: usize = 8 << 10;
/// Most header lines of a request.
const HEADERS: usize = 64;
/// Most connections at a time.
const CONNECTIONS: usize = 128;
/// Most connections accepted in one poll, so that a flood leaves time for the others.
const AT_ONCE: usize = 64;
/// A smaller body fits into a packet or two as it is.
const WORTH_PACKING: usize = 1 << 10;
/// How long no connection is accepted after the system ran out of file descriptors or memory.
const NO_ROOM: Duration = Duration::from_millis(100);

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The path, without what follows a question mark.
    pub path: &'a str,
    /// The header `Accept`; empty where there is none.
    pub accept: &'a str,
}

/// The answer for a path.
#[derive(Clone, Debug)]
pub struct Content {
    /// The header `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Rc<str>,
}

/// A listening socket and its connections.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    connections: Vec<Connection>,
    closed_until: Option<Instant>,
    web_config: Option<WebConfig>,
}

#[derive(Debug)]
struct Connection {
    channel: Channel,
    deadline: Instant,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Reads the request: what came so far.
    Request(Vec<u8>),
    /// Writes the head and the body, of which `sent` bytes have gone.
    Response { head: Vec<u8>, body: Rc<[u8]>, sent: usize },
    /// Waits for the client to close.
    Closing,
}

/// Head and body of an answer.
type Answer = (Vec<u8>, Rc<[u8]>);

impl Server {
    /// Listens on `address`, for anyone who can connect or for those whom a configuration lets in.
    ///
    /// # Errors
    /// When the address is in use or is not this machine's.
    pub fn bind(address: SocketAddr, web_config: Option<WebConfig>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, connections: Vec::new(), closed_until: None, web_config })
    }

    /// Reads the configuration again when it changed. What hinders that is returned once.
    pub fn refresh(&mut self) -> Option<WebConfigError> {
        self.web_config.as_mut().and_then(WebConfig::refresh)
    }

    /// The address it listens on, with the port that the system chose for port 0.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whether it speaks TLS.
    pub fn is_tls(&self) -> bool {
        self.web_config.as_ref().is_some_and(|config| config.tls().is_some())
    }

    /// Whether only clients with a password or a certificate see the pages.
    pub fn is_closed(&self) -> bool {
        self.web_config.as_ref().is_some_and(WebConfig::is_closed)
    }

    /// Waits for at most `timeout`, or until a signal, and does all work that does not block. `content` returns what is served, if anything.
    pub fn poll(&mut self, timeout: Duration, content: &mut dyn FnMut(Request<'_>) -> Option<Content>) {
        let now = Instant::now();
        self.connections.retain(|connection| connection.deadline > now);
        if self.closed_until.is_some_and(|until| until <= now) {
            self.closed_until = None;
        }
        let open = self.closed_until.is_none();
        let ready = self.ready(timeout, open);
        // From the end, since one that is over is taken out.
        for index in (0..self.connections.len()).rev() {
            if ready.get(index).is_some_and(|ready| *ready)
                && !self.connections[index].step(self.web_config.as_mut(), content)
            {
                self.connections.swap_remove(index);
            }
        }
        if open && ready.last().is_some_and(|ready| *ready) {
            self.accept();
        }
    }

    /// Which connections, and last the listener, have something to do.
    fn ready(&self, timeout: Duration, open: bool) -> Vec<bool> {
        let mut fds: Vec<PollFd<'_>> = self
            .connections
            .iter()
            .map(|connection| {
                let writes =
                    matches!(connection.phase, Phase::Response { .. }) || connection.channel.must_write();
                PollFd::new(connection.channel.socket(), if writes { PollFlags::OUT } else { PollFlags::IN })
            })
            .collect();
        let wanted = if open { PollFlags::IN } else { PollFlags::empty() };
        fds.push(PollFd::new(&self.listener, wanted));
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        // A signal ends it early; the caller checks which.
        match poll(&mut fds, Some(&timeout)) {
            Ok(count) if count > 0 => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
            _ => Vec::new(),
        }
    }

    fn accept(&mut self) {
        for _ in 0..AT_ONCE {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    if self.connections.len() >= CONNECTIONS {
                        self.make_room();
                    }
                    let tls = self.web_config.as_ref().and_then(WebConfig::tls);
                    let Ok(channel) = Channel::new(stream, tls) else { continue };
                    let deadline = Instant::now() + REQUEST;
                    self.connections.push(Connection {
                        channel,
                        deadline,
                        phase: Phase::Request(Vec::new()),
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.closed_until = Some(Instant::now() + NO_ROOM);
                    return;
                }
            }
        }
    }

    /// Closes the connection closest to its deadline; one that is being answered only when all are.
    fn make_room(&mut self) {
        let is_answered = |connection: &Connection| matches!(connection.phase, Phase::Response { .. });
        let found = self.connections.iter().enumerate();
        let first = found.min_by_key(|(_, connection)| (is_answered(connection), connection.deadline));
        if let Some((index, _)) = first {
            self.connections.swap_remove(index);
        }
    }
}

impl Connection {
    /// Does all work that does not block; returns whether the connection stays open.
    fn step(
        &mut self,
        web_config: Option<&mut WebConfig>,
        content: &mut dyn FnMut(Request<'_>) -> Option<Content>,
    ) -> bool {
        match &mut self.phase {
            Phase::Request(request) => {
                let (head, body) = if request.is_empty() && self.channel.clears_up() {
                    refusal("400 Bad Request: this is a server of HTTPS")
                } else {
                    match read_request(&mut self.channel, request, web_config, content) {
                        Ok(Some(answer)) => answer,
                        Ok(None) => return true,
                        Err(()) => return false,
                    }
                };
                self.deadline = Instant::now() + ANSWER;
                self.phase = Phase::Response { head, body, sent: 0 };
                // Most answers fit into the socket's buffer.
                self.step(None, content)
            }
            Phase::Response { head, body, sent } => {
                loop {
                    let rest = match sent.checked_sub(head.len()) {
                        None => &head[*sent..],
                        Some(of_body) => &body[of_body..],
                    };
                    if rest.is_empty() {
                        break;
                    }
                    match self.channel.write(rest) {
                        Ok(0) => return false,
                        Ok(count) => *sent += count,
                        Err(error) => return would_block(&error),
                    }
                }
                if let Err(error) = self.channel.finish() {
                    return would_block(&error);
                }
                self.phase = Phase::Closing;
                self.deadline = Instant::now() + FAREWELL;
                true
            }
            Phase::Closing => {
                let mut bytes = [0; 4096];
                // Without a look at what it is.
                match Read::read(&mut self.channel.socket(), &mut bytes) {
                    Ok(count) => count > 0,
                    Err(error) => would_block(&error),
                }
            }
        }
    }
}

/// The answer, once the request is there; an error when the connection is over. All that came is read, since what TLS has unpacked makes no socket ready.
fn read_request(
    channel: &mut Channel,
    request: &mut Vec<u8>,
    mut web_config: Option<&mut WebConfig>,
    content: &mut dyn FnMut(Request<'_>) -> Option<Content>,
) -> Result<Option<Answer>, ()> {
    let mut bytes = [0; 4096];
    loop {
        match channel.read(&mut bytes) {
            Ok(0) => return Err(()),
            Ok(count) => request.extend_from_slice(&bytes[..count]),
            Err(error) if would_block(&error) => return Ok(None),
            Err(_) => return Err(()),
        }
        let answer = response(request, web_config.as_deref_mut(), content);
        if answer.is_some() {
            return Ok(answer);
        }
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Head and body of the response, once the request is complete or cannot become valid any more.
fn response(
    request: &[u8],
    web_config: Option<&mut WebConfig>,
    content: &mut dyn FnMut(Request<'_>) -> Option<Content>,
) -> Option<Answer> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let too_large = "431 Request Header Fields Too Large";
    let whole = match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < REQUEST_BYTES => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Some(refusal(too_large));
        }
        Ok(httparse::Status::Complete(length)) => length,
        Err(_) => return Some(refusal("400 Bad Request")),
    };
    if whole > REQUEST_BYTES {
        return Some(refusal(too_large));
    }
    let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
        return Some(refusal("400 Bad Request"));
    };
    let mut added = String::new();
    if let Some(config) = web_config {
        match config.allows(header(parsed.headers, "Authorization")) {
            Verdict::Yes => added += config.headers(),
            Verdict::No => return Some(refusal("401 Unauthorized")),
            Verdict::Later => return Some(refusal("429 Too Many Requests")),
        }
    }
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let accept = header(parsed.headers, "Accept").unwrap_or_default();
    let nothing = || Rc::from([]);
    Some(match (method, content(Request { path, accept })) {
        ("GET" | "HEAD", Some(found)) => {
            let packed = takes_gzip(parsed.headers).then(|| gzip(found.body.as_bytes())).flatten();
            let encoding = if packed.is_some() { "Content-Encoding: gzip\r\n" } else { "" };
            let body = packed.unwrap_or_else(|| found.body.into());
            let more = format!("{encoding}Vary: Accept, Accept-Encoding\r\n{added}");
            let head = head("200 OK", found.content_type, body.len(), &more);
            (head, if method == "GET" { body } else { nothing() })
        }
        ("HEAD", None) => (refusal("404 Not Found").0, nothing()),
        ("GET", None) => refusal("404 Not Found"),
        _ => refusal("405 Method Not Allowed"),
    })
}

/// The value of a header, where it is there and text.
fn header<'a>(headers: &[httparse::Header<'a>], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok()
}

/// Whether the client takes answers packed by gzip (RFC 9110, section 12.5.3).
fn takes_gzip(headers: &[httparse::Header<'_>]) -> bool {
    let mut codings = header(headers, "Accept-Encoding").unwrap_or_default().split(',');
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f64>);
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_ok_and(|weight| weight > 0.0)
    })
}

/// A body packed at the quickest level; nothing for one that is hardly worth it.
fn gzip(body: &[u8]) -> Option<Rc<[u8]>> {
    if body.len() < WORTH_PACKING {
        return None;
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).ok()?;
    Some(encoder.finish().ok()?.into())
}

fn refusal(status: &str) -> Answer {
    let body = format!("{status}\n").into_bytes();
    let more = match &status[..3] {
        "401" => "WWW-Authenticate: Basic realm=\"swtch\"\r\n",
        "405" => "Allow: GET, HEAD\r\n",
        "429" => "Retry-After: 1\r\n",
        _ => "",
    };
    (head(status, "text/plain; charset=utf-8", body.len(), more), body.into())
}

fn head(status: &str, content_type: &str, length: usize, more: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n{more}Connection: close\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: &[u8]) -> Option<String> {
        let mut content = |request: Request<'_>| {
            (request.path == "/metrics" && request.accept != "none")
                .then(|| Content { content_type: "text/plain", body: "figures\n".into() })
        };
        response(request, None, &mut content)
            .map(|(head, body)| String::from_utf8(head).unwrap() + std::str::from_utf8(&body).unwrap())
            .map(|text| text.replace('\r', ""))
    }

    #[test]
    fn requests_get_the_status_of_the_protocol() {
        for (request, status, body) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", "figures\n"),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "200 OK", "figures\n"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", ""),
            ("GET /metrics HTTP/1.1\r\naccept: none\r\n\r\n", "404 Not Found", "404 Not Found\n"),
            ("GET /other HTTP/1.1\r\n\r\n", "404 Not Found", "404 Not Found\n"),
            ("HEAD /other HTTP/1.1\r\n\r\n", "404 Not Found", ""),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "405 Method Not Allowed\n"),
            ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", "400 Bad Request", "400 Bad Request\n"),
        ] {
            let text = asked(request.as_bytes()).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {status}\n")), "{request}: {text}");
            assert!(text.ends_with(&format!("\nConnection: close\n\n{body}")), "{request}: {text}");
        }
        assert!(asked(b"POST / HTTP/1.1\r\n\r\n").unwrap().contains("\nAllow: GET, HEAD\n"));
        assert!(asked(b"HEAD /metrics HTTP/1.1\r\n\r\n").unwrap().contains("\nContent-Length: 8\n"));
    }

    #[test]
    fn a_large_answer_is_packed_for_who_takes_that() {
        let large: Rc<str> = "figures ".repeat(1000).into();
        let mut content = |_: Request<'_>| Some(Content { content_type: "text/plain", body: large.clone() });
        let mut asked = |method: &str, codings: &str| {
            let request = format!("{method} / HTTP/1.1\r\nAccept-Encoding: {codings}\r\n\r\n");
            let (head, body) = response(request.as_bytes(), None, &mut content).unwrap();
            (String::from_utf8(head).unwrap(), body)
        };
        for codings in ["gzip", "br, GZIP;q=0.5", "deflate,gzip;q=1"] {
            let (head, body) = asked("GET", codings);
            assert!(head.contains("\r\nContent-Encoding: gzip\r\n"), "{codings}: {head}");
            assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())) && body.len() < 400);
            let mut unpacked = String::new();
            flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut unpacked).unwrap();
            assert_eq!(unpacked, *large);
            let (same, nothing) = asked("HEAD", codings);
            assert_eq!((same, nothing.len()), (head, 0));
        }
        for codings in ["", "identity", "gzip;q=0", "gzip; q=0.000", "x-gzip-not", "gzip;q=much"] {
            let (head, body) = asked("GET", codings);
            assert!(!head.contains("Content-Encoding") && &*body == large.as_bytes(), "{codings}: {head}");
        }
    }

    #[test]
    fn a_partial_request_is_waited_for_and_is_limited_in_size() {
        let begun = b"GET /metrics HTTP/1.1\r\nHost: x\r\n";
        assert_eq!(asked(begun), None);
        let long = [begun.as_slice(), b"X: ", &vec![b'x'; REQUEST_BYTES]].concat();
        assert!(asked(&long).unwrap().starts_with("HTTP/1.1 431 "));
        let many = [begun.as_slice(), "X: x\r\n".repeat(HEADERS).as_bytes(), b"\r\n"].concat();
        assert!(asked(&many).unwrap().starts_with("HTTP/1.1 431 "));
    }
}
