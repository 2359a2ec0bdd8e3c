//! TLS and passwords, between a server in one thread and a client in another.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use swtch_http::{Content, Server, WebConfig};

/// Of "open sesame" by `htpasswd -nbBC 4`.
const HASH: &str = "$2y$04$AFVFW5MC64d2im4Ndc2ewuNEI/Tklzs1IBhcVSraVS/pLmf9VzaXK";
/// `alice:open sesame`, `alice:open barley` and `bob:open sesame`.
const ALICE: &str = "YWxpY2U6b3BlbiBzZXNhbWU=";
const WRONG: &str = "YWxpY2U6b3BlbiBiYXJsZXk=";
const BOB: &str = "Ym9iOm9wZW4gc2VzYW1l";
/// More than fits into the sockets' buffers.
const LINE: &str = "figures of a machine\n";
const LINES: usize = 300_000;

/// Makes certificates for this machine that sign themselves, as `NAME.pem` and `NAME.key`; whether openssl is here for that.
fn certificates(test: &str, folder: &Path, names: &[&str]) -> bool {
    let made = names.iter().all(|name| {
        let place = |end: &str| folder.join(format!("{name}.{end}"));
        let output = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
            .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
            .args([place("key"), "-out".into(), place("pem")])
            .output();
        output.is_ok_and(|output| output.status.success())
    });
    if !made {
        eprintln!("SKIP {test}: openssl cannot make a certificate here");
    }
    made
}

/// A server in a thread of its own until it is dropped.
struct Serving {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    fn with(config: &Path) -> Self {
        let config = WebConfig::read(config).unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let (say, heard) = mpsc::channel();
        let until = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let mut server = Server::bind("127.0.0.1:0".parse().unwrap(), Some(config)).unwrap();
            say.send(server.address().unwrap()).unwrap();
            while !until.load(Ordering::Relaxed) {
                server.refresh();
                server.poll(Duration::from_millis(20), &mut |request| {
                    let page = || Content { content_type: "text/plain", body: LINE.repeat(LINES).into() };
                    (request.path == "/metrics").then(page)
                });
            }
        });
        Self { address: heard.recv().unwrap(), ended, thread: Some(thread) }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What a client of TLS is answered: head, and bytes of the body. It trusts one certificate, and may show another.
fn ask(serving: &Serving, trusted: &Path, own: Option<&Path>, user: &str) -> Result<(String, usize), String> {
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_file_iter(trusted).unwrap() {
        roots.add(one.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.unwrap().with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let certificates = CertificateDer::pem_file_iter(own).unwrap().map(Result::unwrap).collect();
            let key = PrivateKeyDer::from_pem_file(own.with_extension("key")).unwrap();
            builder.with_client_auth_cert(certificates, key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    let socket = TcpStream::connect(serving.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut stream = StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket);
    let authorization =
        if user.is_empty() { String::new() } else { format!("Authorization: Basic {user}\r\n") };
    let request = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\n{authorization}\r\n");
    // In two parts: a request that is not whole is waited for.
    let (first, second) = request.as_bytes().split_at(10);
    let mut answer = String::new();
    let done = [first, second].into_iter().try_for_each(|part| {
        stream.write_all(part)?;
        stream.flush()
    });
    done.and_then(|()| stream.read_to_string(&mut answer)).map_err(|error| error.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no head")?;
    Ok((head.to_owned(), body.len()))
}

fn status(answer: &Result<(String, usize), String>) -> &str {
    answer.as_ref().map_or("", |(head, _)| head.split("\r\n").next().unwrap_or_default())
}

#[test]
fn a_client_with_the_password_gets_the_page_by_tls() {
    let folder = tempfile::tempdir().unwrap();
    if !certificates("a_client_with_the_password_gets_the_page_by_tls", folder.path(), &["server"]) {
        return;
    }
    let config = folder.path().join("web.yml");
    let text = format!(
        "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n  min_version: TLS12\n\
         http_server_config:\n  headers:\n    X-Frame-Options: deny\nbasic_auth_users:\n  alice: {HASH}\n"
    );
    fs::write(&config, text).unwrap();
    let serving = Serving::with(&config);
    let trusted = folder.path().join("server.pem");
    let asked = |user: &str| ask(&serving, &trusted, None, user);
    for _ in 0..3 {
        let (head, body) = asked(ALICE).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("\r\nX-Frame-Options: deny\r\n"), "{head}");
        assert_eq!(body, LINE.len() * LINES, "all of it");
    }
    let without = asked("");
    assert_eq!(status(&without), "HTTP/1.1 401 Unauthorized");
    assert!(without.unwrap().0.contains("\r\nWWW-Authenticate: Basic realm=\"swtch\""));
    assert_eq!(status(&asked(WRONG)), "HTTP/1.1 401 Unauthorized");
    // Guessing is slow, and clients that are known do not notice.
    assert_eq!(status(&asked(BOB)), "HTTP/1.1 429 Too Many Requests");
    assert_eq!(status(&asked(ALICE)), "HTTP/1.1 200 OK");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(status(&asked(BOB)), "HTTP/1.1 401 Unauthorized");
    // A client without TLS learns why.
    let mut clear = TcpStream::connect(serving.address).unwrap();
    clear.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    clear.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request: this is a server of HTTPS\r\n"), "{answer}");
}

#[test]
fn clients_show_certificates_and_a_new_one_of_the_server_counts_soon() {
    let folder = tempfile::tempdir().unwrap();
    if !certificates(
        "clients_show_certificates_and_a_new_one_of_the_server_counts_soon",
        folder.path(),
        &["server", "client", "other"],
    ) {
        return;
    }
    let place = |name: &str| folder.path().join(name);
    let text = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n  client_ca_file: client.pem\n\
        \x20 client_auth_type: RequireAndVerifyClientCert\n  min_version: TLS10\n";
    fs::write(place("web.yml"), text).unwrap();
    fs::copy(place("server.pem"), place("before.pem")).unwrap();
    let serving = Serving::with(&place("web.yml"));
    let asked =
        |trusted: &str, own: Option<&str>| ask(&serving, &place(trusted), own.map(place).as_deref(), "");
    assert_eq!(status(&asked("before.pem", Some("client.pem"))), "HTTP/1.1 200 OK");
    assert!(asked("before.pem", None).is_err());
    assert!(asked("before.pem", Some("other.pem")).is_err());
    // One that cannot be read changes nothing.
    fs::write(place("server.pem"), "no certificate").unwrap();
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(status(&asked("before.pem", Some("client.pem"))), "HTTP/1.1 200 OK");
    fs::copy(place("other.key"), place("server.key")).unwrap();
    fs::copy(place("other.pem"), place("server.pem")).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while asked("other.pem", Some("client.pem")).is_err() {
        assert!(Instant::now() < end, "the new certificate does not count");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_cannot_be_done_is_named_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    if !certificates("what_cannot_be_done_is_named_in_a_line", folder.path(), &["server"]) {
        return;
    }
    let config = folder.path().join("web.yml");
    let tls = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";
    let of_tls = |line: &str| format!("{tls}  {line}\n");
    for (text, said) in [
        (
            "tls_server_config:\n  cert_file: none.pem\n  key_file: server.key\n".to_owned(),
            "none.pem cannot be read",
        ),
        ("tls_server_config:\n  key_file: server.key\n".to_owned(), "tls_server_config.cert_file is missing"),
        (tls.replace("server.pem", "server.key"), "has no certificate or key"),
        (of_tls("cipher_suites: [TLS_AES_128_GCM_SHA256]"), "cipher_suites cannot be chosen"),
        (of_tls("client_auth_type: RequestClientCert"), "client_auth_type is \"RequestClientCert\""),
        (of_tls("client_auth_type: RequireAndVerifyClientCert"), "client_ca_file is missing"),
        (of_tls("min_version: SSL30"), "min_version is \"SSL30\"; it is TLS12 or TLS13"),
        (of_tls("max_version: TLS11"), "leaves neither TLS 1.2 nor TLS 1.3"),
        (
            "basic_auth_users:\n  alice: sesame\n".to_owned(),
            "alice is not a hash by bcrypt; `htpasswd -nBC 10 NAME`",
        ),
        ("http_server_config:\n  headers:\n    Server: x\n".to_owned(), "headers.Server is not one of"),
        ("basic_auth: {}\n".to_owned(), "unknown field `basic_auth`"),
        ("- no\n- file\n".to_owned(), "is not a web configuration"),
    ] {
        fs::write(&config, &text).unwrap();
        let error = WebConfig::read(&config).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{text}: {error}");
    }
    fs::write(&config, "").unwrap();
    let open = WebConfig::read(&config).unwrap();
    assert!(open.tls().is_none() && !open.is_closed());
    let absent = WebConfig::read(&folder.path().join("absent.yml")).unwrap_err();
    assert!(absent.to_string().contains("absent.yml cannot be read"), "{absent}");
}
