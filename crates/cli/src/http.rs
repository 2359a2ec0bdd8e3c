//! A small HTTP server that nobody can stall: one thread, no reading or writing that waits, bounds on everything.
//!
//! It answers GET and HEAD of a few pages, each time on a connection of its own. A client has [`REQUEST`] to send its request and [`ANSWER`] to take
//! the answer, [`REQUEST_BYTES`] for the request, and when there are [`CONNECTIONS`], the one that has been there longest gives way.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Time for a request to arrive.
const REQUEST: Duration = Duration::from_secs(5);
/// Time for an answer to be taken.
const ANSWER: Duration = Duration::from_secs(10);
/// Time for the client to see the end; what it still sends is thrown away, since a connection that is closed before would take the answer with it.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes of a request at most.
const REQUEST_BYTES: usize = 8 << 10;
/// Lines of a request's head at most.
const HEADERS: usize = 64;
/// Connections at once.
const CONNECTIONS: usize = 128;
/// Connections that are taken in one turn, so that a flood leaves time for the others.
const AT_ONCE: usize = 64;
/// How long nobody is let in after the system had no room for another.
const NO_ROOM: Duration = Duration::from_millis(100);

/// A page.
#[derive(Clone)]
pub(crate) struct Page {
    /// `Content-Type`.
    pub(crate) kind: &'static str,
    /// What it holds.
    pub(crate) body: Rc<str>,
}

/// Listens, and answers in turns.
pub(crate) struct Server {
    listener: TcpListener,
    connections: Vec<Connection>,
    closed_until: Option<Instant>,
}

struct Connection {
    stream: TcpStream,
    deadline: Instant,
    state: State,
}

enum State {
    /// The request so far.
    Asking(Vec<u8>),
    /// The head of the answer and its body, and how much has gone.
    Answering { head: Vec<u8>, body: Rc<str>, sent: usize },
    /// Waits for the client to close.
    Leaving,
}

impl Server {
    /// # Errors
    /// When the address cannot be listened on.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, connections: Vec::new(), closed_until: None })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Waits for at most `patience`, or a signal, and does what can be done without waiting. `page` gives the page of a path.
    pub(crate) fn turn(&mut self, patience: Duration, page: &mut dyn FnMut(&str) -> Option<Page>) {
        let now = Instant::now();
        self.connections.retain(|connection| connection.deadline > now);
        if self.closed_until.is_some_and(|until| until <= now) {
            self.closed_until = None;
        }
        let open = self.closed_until.is_none();
        let ready = self.ready(patience, open);
        // From the end, since one that is over is taken out.
        for index in (0..self.connections.len()).rev() {
            if ready.get(index).is_some_and(|ready| *ready) && !self.connections[index].step(page) {
                self.connections.swap_remove(index);
            }
        }
        if open && ready.last().is_some_and(|ready| *ready) {
            self.let_in();
        }
    }

    /// Which connections, and last the listener, have something to do.
    fn ready(&self, patience: Duration, open: bool) -> Vec<bool> {
        let mut fds: Vec<PollFd<'_>> = self
            .connections
            .iter()
            .map(|connection| {
                let answering = matches!(connection.state, State::Answering { .. });
                PollFd::new(&connection.stream, if answering { PollFlags::OUT } else { PollFlags::IN })
            })
            .collect();
        let wanted = if open { PollFlags::IN } else { PollFlags::empty() };
        fds.push(PollFd::new(&self.listener, wanted));
        let timeout =
            Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        // A signal ends it early; the caller looks what it was.
        match poll(&mut fds, Some(&timeout)) {
            Ok(count) if count > 0 => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
            _ => Vec::new(),
        }
    }

    fn let_in(&mut self) {
        for _ in 0..AT_ONCE {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    if self.connections.len() >= CONNECTIONS {
                        self.make_room();
                    }
                    let deadline = Instant::now() + REQUEST;
                    self.connections.push(Connection { stream, deadline, state: State::Asking(Vec::new()) });
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

    /// The one that would be closed first goes; one that is being answered only when all are.
    fn make_room(&mut self) {
        let answering = |connection: &Connection| matches!(connection.state, State::Answering { .. });
        let found = self.connections.iter().enumerate();
        let first = found.min_by_key(|(_, connection)| (answering(connection), connection.deadline));
        if let Some((index, _)) = first {
            self.connections.swap_remove(index);
        }
    }
}

impl Connection {
    /// Goes on as far as it does without waiting; whether there is more to come.
    fn step(&mut self, page: &mut dyn FnMut(&str) -> Option<Page>) -> bool {
        match &mut self.state {
            State::Asking(request) => {
                let mut bytes = [0; 4096];
                match self.stream.read(&mut bytes) {
                    Ok(0) => return false,
                    Ok(count) => request.extend_from_slice(&bytes[..count]),
                    Err(error) => return is_for_later(&error),
                }
                let Some(answer) = answer(request, page) else { return true };
                self.deadline = Instant::now() + ANSWER;
                self.state = State::Answering { head: answer.0, body: answer.1, sent: 0 };
                // It mostly fits at once.
                self.step(page)
            }
            State::Answering { head, body, sent } => {
                loop {
                    let rest = match sent.checked_sub(head.len()) {
                        None => &head[*sent..],
                        Some(of_body) => &body.as_bytes()[of_body..],
                    };
                    if rest.is_empty() {
                        break;
                    }
                    match self.stream.write(rest) {
                        Ok(0) => return false,
                        Ok(count) => *sent += count,
                        Err(error) => return is_for_later(&error),
                    }
                }
                self.state = State::Leaving;
                self.deadline = Instant::now() + FAREWELL;
                self.stream.shutdown(Shutdown::Write).is_ok()
            }
            State::Leaving => {
                let mut bytes = [0; 4096];
                match self.stream.read(&mut bytes) {
                    Ok(count) => count > 0,
                    Err(error) => is_for_later(&error),
                }
            }
        }
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Head and body of the answer, once the request is there or cannot become one any more.
fn answer(request: &[u8], page: &mut dyn FnMut(&str) -> Option<Page>) -> Option<(Vec<u8>, Rc<str>)> {
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
    let path = target.split(['?', '#']).next().unwrap_or_default();
    Some(match (method, page(path)) {
        ("GET", Some(page)) => (head("200 OK", page.kind, page.body.len()), page.body),
        ("HEAD", Some(page)) => (head("200 OK", page.kind, page.body.len()), "".into()),
        ("HEAD", None) => (refusal("404 Not Found").0, "".into()),
        ("GET", None) => refusal("404 Not Found"),
        _ => refusal("405 Method Not Allowed"),
    })
}

fn refusal(status: &str) -> (Vec<u8>, Rc<str>) {
    let body: Rc<str> = format!("{status}\n").into();
    (head(status, "text/plain; charset=utf-8", body.len()), body)
}

fn head(status: &str, kind: &str, length: usize) -> Vec<u8> {
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n{allow}Connection: close\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: &[u8]) -> Option<String> {
        let mut page =
            |path: &str| (path == "/metrics").then(|| Page { kind: "text/plain", body: "figures\n".into() });
        answer(request, &mut page)
            .map(|(head, body)| String::from_utf8(head).unwrap() + &body)
            .map(|text| text.replace('\r', ""))
    }

    #[test]
    fn requests_have_the_answers_that_the_protocol_asks_for() {
        for (request, status, body) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", "figures\n"),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "200 OK", "figures\n"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", ""),
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
    fn a_request_is_waited_for_and_has_an_end() {
        let begun = b"GET /metrics HTTP/1.1\r\nHost: x\r\n";
        assert_eq!(asked(begun), None);
        let long = [begun.as_slice(), b"X: ", &vec![b'x'; REQUEST_BYTES]].concat();
        assert!(asked(&long).unwrap().starts_with("HTTP/1.1 431 "));
        let many = [begun.as_slice(), "X: x\r\n".repeat(HEADERS).as_bytes(), b"\r\n"].concat();
        assert!(asked(&many).unwrap().starts_with("HTTP/1.1 431 "));
    }
}
