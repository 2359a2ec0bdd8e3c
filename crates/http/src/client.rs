//! Sends a message to a server by HTTP/1.1 and reads its short answer: a connection for each, and a limit on everything.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Most bytes of an answer; what is longer is cut off.
const ANSWER_BYTES: usize = 64 << 10;
/// Most header lines of an answer.
const HEADERS: usize = 64;

/// Where messages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Name or address, and the port.
    authority: String,
    host: String,
    port: u16,
    path: String,
}

impl Url {
    /// Reads `http://HOST[:PORT][/PATH]`. `None` for anything else.
    ///
    /// ```
    /// let url = swtch_http::client::Url::parse("http://[::1]:4318/v1/metrics").unwrap();
    /// assert_eq!(url.to_string(), "http://[::1]:4318/v1/metrics");
    /// assert!(swtch_http::client::Url::parse("https://collector").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, rest) = v6.split_once(']')?;
                (host, rest.strip_prefix(':'))
            }
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Some(80), |port| port.parse().ok())?;
        let allowed = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'@');
        if host.is_empty() || !allowed(authority) || !allowed(path) {
            return None;
        }
        let path = if path.is_empty() { "/" } else { path };
        Some(Self { authority: authority.to_owned(), host: host.to_owned(), port, path: path.to_owned() })
    }

    /// The same server with this path, if none but the root was given.
    #[must_use]
    pub fn or_path(mut self, path: &str) -> Self {
        if self.path == "/" {
            path.clone_into(&mut self.path);
        }
        self
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

/// What a server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status, such as 200.
    pub status: u16,
    /// For how long to wait before trying again, where it says so in seconds.
    pub retry_after: Option<Duration>,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends `body` by POST; returns the answer.
///
/// # Errors
/// When there is no connection, no answer in time, or one that is not HTTP.
pub fn post(url: &Url, headers: &[(String, String)], body: &[u8], timeout: Duration) -> io::Result<Answer> {
    let until = Instant::now() + timeout;
    let mut stream = connect(url, until)?;
    let mut request = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
        url.path,
        url.authority,
        body.len()
    );
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    request += "\r\n";
    stream.set_write_timeout(Some(left(until)?))?;
    stream.write_all(request.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        let count = match stream.read(&mut bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // A server that has said everything may reset the connection.
            Err(error) if answer.is_empty() => return Err(error),
            Err(_) => 0,
        };
        answer.extend_from_slice(&bytes[..count]);
        if let Some(parsed) = parsed(&answer, count == 0)? {
            return Ok(parsed);
        }
    }
}

fn connect(url: &Url, until: Instant) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// The answer once it is whole, or has ended.
fn parsed(bytes: &[u8], ended: bool) -> io::Result<Option<Answer>> {
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if ended => {
            return Err(wrong("the connection ended before the answer"));
        }
        Ok(httparse::Status::Partial) if bytes.len() < ANSWER_BYTES => return Ok(None),
        _ => return Err(wrong("the answer is not HTTP")),
    };
    let number = |name: &str| crate::header(response.headers, name)?.trim().parse::<u64>().ok();
    let body = &bytes[head..];
    let whole = number("Content-Length").is_some_and(|length| body.len() as u64 >= length);
    if !(whole || ended || body.len() >= ANSWER_BYTES) {
        return Ok(None);
    }
    Ok(Some(Answer {
        status: response.code.unwrap_or_default(),
        retry_after: number("Retry-After").map(Duration::from_secs),
        body: body.to_vec(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        let read = |text: &str| Url::parse(text).map(|url| (url.host, url.port, url.path));
        let of = |host: &str, port, path: &str| Some((host.to_owned(), port, path.to_owned()));
        assert_eq!(read("http://localhost:4318"), of("localhost", 4318, "/"));
        assert_eq!(read("http://collector/a/b"), of("collector", 80, "/a/b"));
        assert_eq!(read("http://[::1]:4318/v1/metrics"), of("::1", 4318, "/v1/metrics"));
        for wrong in [
            "",
            "localhost:4318",
            "https://a",
            "http://",
            "http://a:b",
            "http://a b",
            "http://u@a",
            "http://a:99999",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let given = Url::parse("http://a/own").unwrap().or_path("/v1/metrics");
        assert_eq!(given.path, "/own");
    }

    #[test]
    fn answers_are_whole_or_waited_for() {
        let whole = b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno";
        let answer = parsed(whole, false).unwrap().unwrap();
        assert_eq!(
            (answer.status, answer.retry_after, &*answer.body),
            (503, Some(Duration::from_secs(7)), &b"no"[..])
        );
        assert_eq!(parsed(&whole[..whole.len() - 1], false).unwrap(), None);
        assert_eq!(parsed(b"HTTP/1.1 200 OK\r\n\r\n", true).unwrap().unwrap().status, 200);
        assert!(parsed(b"", true).is_err() && parsed(b"SSH-2.0-x\r\n\r\n", false).is_err());
    }
}
