//! TLS and passwords: the web configuration file of Prometheus's exporters (prometheus/exporter-toolkit, docs/web-configuration.md).
//!
//! The file and the certificates are read again when they change. While they cannot be read, what was read before counts.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often it is looked whether a file changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A password's check takes some 50 ms of the only thread, so after a wrong one the next check has to wait.
const AFTER_WRONG: Duration = Duration::from_millis(250);
/// Passwords that were right, so that each scrape does not check them anew.
const KNOWN: usize = 64;
/// A hash that no password has, for users that there are not: their refusal must take as long.
const NOBODY: &str = "$2b$10$5WQRlHqwmHqO8s8Uv7yy8uLsy9Q1vSpEk4bDDjzdXnxsxzKWMHSSm";

/// Why a web configuration cannot be used, in a line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebConfigError {
    /// A file that cannot be read.
    #[error("{path} cannot be read ({source}); check the path and its permissions")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of another form.
    #[error("{path} is not a web configuration: {why}; its fields are those of Prometheus's exporters")]
    Form {
        /// The file.
        path: PathBuf,
        /// Why, with the place.
        why: String,
    },
    /// Something in it that cannot be done.
    #[error("{path}: {field} {why}")]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, with those around it.
        field: String,
        /// Why, and what to do.
        why: String,
    },
}

/// What the file holds.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    tls_server_config: Option<Tls>,
    http_server_config: Http,
    basic_auth_users: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tls {
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    client_auth_type: Option<String>,
    client_ca_file: Option<PathBuf>,
    min_version: Option<String>,
    max_version: Option<String>,
    prefer_server_cipher_suites: Option<bool>,
    // Known, so that they can be refused by name.
    cert: Option<String>,
    key: Option<String>,
    client_ca: Option<String>,
    client_allowed_sans: Option<Vec<String>>,
    cipher_suites: Option<Vec<String>>,
    curve_preferences: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Http {
    // Always HTTP/1.1 here, which clients of HTTP/2 speak too.
    http2: Option<bool>,
    headers: BTreeMap<String, String>,
}

/// Headers that a file may add to answers, as the toolkit has them.
const HEADERS: [&str; 5] = [
    "Content-Security-Policy",
    "X-Frame-Options",
    "X-Content-Type-Options",
    "X-XSS-Protection",
    "Strict-Transport-Security",
];

/// A web configuration that can be used.
#[derive(Debug)]
pub struct WebConfig {
    path: PathBuf,
    current: Current,
    looked: Instant,
    /// The last complaint: each is made once.
    complained: Option<String>,
    known: HashMap<String, String>,
    next_check: Option<Instant>,
}

#[derive(Debug)]
struct Current {
    tls: Option<Arc<ServerConfig>>,
    asks_for_certificates: bool,
    users: BTreeMap<String, String>,
    headers: String,
    /// The files that this is from, and how they were.
    files: Vec<(PathBuf, Stamp)>,
}

/// When a file was written, and its size.
type Stamp = Option<(SystemTime, u64)>;

/// Whether a client may see the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Yes,
    /// Its name or its password is missing or wrong.
    No,
    /// Wrong ones came just before.
    Later,
}

impl WebConfig {
    /// Reads the file, and the certificates that it names.
    ///
    /// # Errors
    /// When one of them cannot be read, or asks for what is not done here.
    pub fn read(path: &Path) -> Result<Self, WebConfigError> {
        Ok(Self {
            path: path.to_owned(),
            current: Current::read(path)?,
            looked: Instant::now(),
            complained: None,
            known: HashMap::new(),
            next_check: None,
        })
    }

    /// Reads the files again when they changed. What hinders that is returned once.
    pub fn refresh(&mut self) -> Option<WebConfigError> {
        if self.looked.elapsed() < LOOK_EVERY {
            return None;
        }
        self.looked = Instant::now();
        if self.current.files.iter().all(|(path, was)| stamp(path) == *was) {
            return None;
        }
        match Current::read(&self.path) {
            Ok(current) => {
                self.current = current;
                self.known.clear();
                self.complained = None;
                None
            }
            Err(error) => {
                let said = error.to_string();
                (self.complained.replace(said.clone()).as_ref() != Some(&said)).then_some(error)
            }
        }
    }

    /// The certificate and what goes with it; `None` for connections in the clear.
    pub fn tls(&self) -> Option<&Arc<ServerConfig>> {
        self.current.tls.as_ref()
    }

    /// Whether only some may see the pages: those with a password or a certificate.
    pub fn is_closed(&self) -> bool {
        !self.current.users.is_empty() || self.current.asks_for_certificates
    }

    /// Lines that each answer has besides.
    pub(crate) fn headers(&self) -> &str {
        &self.current.headers
    }

    /// Whether a client with this header `Authorization` may see the pages.
    pub(crate) fn allows(&mut self, authorization: Option<&str>) -> Verdict {
        if self.current.users.is_empty() {
            return Verdict::Yes;
        }
        let Some((name, password)) = authorization.and_then(name_and_password) else { return Verdict::No };
        if self.known.get(&name) == Some(&password) {
            return Verdict::Yes;
        }
        if self.next_check.is_some_and(|at| at > Instant::now()) {
            return Verdict::Later;
        }
        let hash = self.current.users.get(&name);
        let is_right = bcrypt::verify(&password, hash.map_or(NOBODY, String::as_str)).unwrap_or(false);
        if !is_right || hash.is_none() {
            self.next_check = Some(Instant::now() + AFTER_WRONG);
            return Verdict::No;
        }
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        self.known.insert(name, password);
        Verdict::Yes
    }
}

/// Of `Basic` (RFC 7617).
fn name_and_password(authorization: &str) -> Option<(String, String)> {
    let (scheme, given) = authorization.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let text = String::from_utf8(BASE64_STANDARD.decode(given.trim()).ok()?).ok()?;
    text.split_once(':').map(|(name, password)| (name.to_owned(), password.to_owned()))
}

fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

impl Current {
    fn read(path: &Path) -> Result<Self, WebConfigError> {
        let mut files = vec![(path.to_owned(), stamp(path))];
        let text = fs::read_to_string(path)
            .map_err(|source| WebConfigError::Read { path: path.to_owned(), source })?;
        let form = |why: String| WebConfigError::Form { path: path.to_owned(), why };
        let file = if text.trim().is_empty() {
            File::default()
        } else {
            serde_norway::from_str(&text).map_err(|error| form(error.to_string()))?
        };
        let reader = Reader { path };
        for (user, hash) in &file.basic_auth_users {
            if hash.parse::<bcrypt::HashParts>().is_err() {
                let field = format!("basic_auth_users.{user}");
                return Err(
                    reader.field(&field, "is not a hash by bcrypt; `htpasswd -nBC 10 NAME` makes one")
                );
            }
        }
        let headers = reader.headers(&file.http_server_config)?;
        let (mut tls, mut asks_for_certificates) = (None, false);
        if let Some(given) = &file.tls_server_config {
            let (found, asks) = reader.tls(given, &mut files)?;
            (tls, asks_for_certificates) = (Some(found), asks);
        }
        Ok(Self { tls, asks_for_certificates, users: file.basic_auth_users, headers, files })
    }
}

struct Reader<'a> {
    path: &'a Path,
}

impl Reader<'_> {
    fn field(&self, field: &str, why: impl Display) -> WebConfigError {
        WebConfigError::Field { path: self.path.to_owned(), field: field.to_owned(), why: why.to_string() }
    }

    fn headers(&self, http: &Http) -> Result<String, WebConfigError> {
        let mut lines = String::new();
        for (name, value) in &http.headers {
            let field = format!("http_server_config.headers.{name}");
            let Some(known) = HEADERS.iter().find(|known| known.eq_ignore_ascii_case(name)) else {
                return Err(self.field(&field, format!("is not one of {}", HEADERS.join(", "))));
            };
            if value.chars().any(char::is_control) {
                return Err(self.field(&field, "has a line's end or another control character"));
            }
            // That one is always there.
            if *known != "X-Content-Type-Options" {
                lines += &format!("{known}: {value}\r\n");
            }
        }
        Ok(lines)
    }

    /// And whether it asks for certificates of clients.
    fn tls(
        &self,
        given: &Tls,
        files: &mut Vec<(PathBuf, Stamp)>,
    ) -> Result<(Arc<ServerConfig>, bool), WebConfigError> {
        let refused = [
            ("cert", given.cert.is_some(), "stands in the file; give cert_file"),
            ("key", given.key.is_some(), "stands in the file; give key_file"),
            ("client_ca", given.client_ca.is_some(), "stands in the file; give client_ca_file"),
            (
                "client_allowed_sans",
                given.client_allowed_sans.is_some(),
                "is not checked by swtch; leave it out",
            ),
            (
                "cipher_suites",
                given.cipher_suites.is_some(),
                "cannot be chosen; swtch takes the safe ones of TLS 1.2 and 1.3; leave it out",
            ),
            ("curve_preferences", given.curve_preferences.is_some(), "cannot be chosen; leave it out"),
        ];
        if let Some((field, _, why)) = refused.into_iter().find(|(_, is_given, _)| *is_given) {
            return Err(self.field(&format!("tls_server_config.{field}"), why));
        }
        // The server's order counts in any case.
        let _ = given.prefer_server_cipher_suites;
        let mut place = |field: &str, name: &Option<PathBuf>| match name {
            Some(name) => {
                // As the toolkit has it: from the file's own directory.
                let place = self.path.parent().unwrap_or(Path::new("")).join(name);
                files.push((place.clone(), stamp(&place)));
                Ok(place)
            }
            None => Err(self.field(&format!("tls_server_config.{field}"), "is missing")),
        };
        let certificates_at = place("cert_file", &given.cert_file)?;
        let key_at = place("key_file", &given.key_file)?;
        let certificates = certificates(&certificates_at)?;
        let key = PrivateKeyDer::from_pem_file(&key_at).map_err(|error| pem_error(&key_at, error))?;
        let asks = given.client_auth_type.as_deref().unwrap_or("NoClientCert");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&self.versions(given)?)
            .map_err(|error| self.field("tls_server_config", error))?;
        let builder = match asks {
            "NoClientCert" => builder.with_no_client_auth(),
            "VerifyClientCertIfGiven" | "RequireAndVerifyClientCert" => {
                let of_clients = place("client_ca_file", &given.client_ca_file)?;
                let mut roots = RootCertStore::empty();
                for one in self::certificates(&of_clients)? {
                    roots.add(one).map_err(|error| self.field("tls_server_config.client_ca_file", error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier =
                    if asks.starts_with("Verify") { verifier.allow_unauthenticated() } else { verifier };
                let verifier = verifier
                    .build()
                    .map_err(|error| self.field("tls_server_config.client_ca_file", error))?;
                builder.with_client_cert_verifier(verifier)
            }
            _ => {
                let why = format!(
                    "is {asks:?}; swtch knows NoClientCert, VerifyClientCertIfGiven and RequireAndVerifyClientCert"
                );
                return Err(self.field("tls_server_config.client_auth_type", why));
            }
        };
        let mut config = builder.with_single_cert(certificates, key).map_err(|error| {
            self.field("tls_server_config", format!("has a certificate and a key that do not fit: {error}"))
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok((Arc::new(config), asks == "RequireAndVerifyClientCert"))
    }

    /// The newer first. Older ones than TLS 1.2 are not spoken, whatever is allowed.
    fn versions(&self, given: &Tls) -> Result<Vec<&'static SupportedProtocolVersion>, WebConfigError> {
        let number = |field: &str, name: &Option<String>, otherwise: u32| match name.as_deref() {
            None => Ok(otherwise),
            Some("TLS10") => Ok(10),
            Some("TLS11") => Ok(11),
            Some("TLS12") => Ok(12),
            Some("TLS13") => Ok(13),
            Some(other) => Err(self
                .field(&format!("tls_server_config.{field}"), format!("is {other:?}; it is TLS12 or TLS13"))),
        };
        let least = number("min_version", &given.min_version, 12)?;
        let most = number("max_version", &given.max_version, 13)?;
        let found: Vec<_> = [(13, &TLS13), (12, &TLS12)]
            .into_iter()
            .filter(|(version, _)| (least..=most).contains(version))
            .map(|(_, version)| version)
            .collect();
        if found.is_empty() {
            return Err(self.field("tls_server_config.max_version", "leaves neither TLS 1.2 nor TLS 1.3"));
        }
        Ok(found)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, WebConfigError> {
    let found = CertificateDer::pem_file_iter(path).map_err(|error| pem_error(path, error))?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(|error| pem_error(path, error))?;
    if found.is_empty() {
        return Err(pem_error(path, pem::Error::NoItemsFound));
    }
    Ok(found)
}

fn pem_error(path: &Path, error: pem::Error) -> WebConfigError {
    match error {
        pem::Error::Io(source) => WebConfigError::Read { path: path.to_owned(), source },
        other => WebConfigError::Form {
            path: path.to_owned(),
            why: format!("it has no certificate or key ({other})"),
        },
    }
}
