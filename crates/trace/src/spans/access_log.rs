//! Spans as lines of a web server's access log.
//!
//! The format is the server's own: variables of nginx's `log_format` (<https://nginx.org/en/docs/http/ngx_http_log_module.html>) or
//! directives of Apache's `LogFormat` (<https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>).

use super::{LineError, RawSpan, SpanClock, SpanFile, each_line};
use std::str::FromStr;

/// What a field of a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogField {
    /// Nothing that is used.
    Other,
    /// When the request began, in units of which a second has this many.
    Begin(u32),
    /// When the request ended.
    End(u32),
    /// How long it took.
    Length(u32),
    /// Method, path and protocol.
    Request,
    /// The path.
    Path,
    /// The process.
    Pid,
    /// The thread.
    Tid,
    /// The request's own name.
    Id,
}

/// The format of an access log.
///
/// ```
/// use swtch_trace::spans::LogFormat;
/// assert!(r#"$remote_addr "$request" $msec $request_time $pid"#.parse::<LogFormat>().is_ok());
/// assert!(r#"%h "%r" %{usec}t %D %P"#.parse::<LogFormat>().is_ok());
/// assert!("$remote_addr $status".parse::<LogFormat>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    /// The text before the first field.
    prefix: String,
    /// Each field, and the text that follows it.
    fields: Vec<(LogField, String)>,
}

/// Whole seconds place a request nowhere among others.
const TOO_COARSE: &str =
    "gives times to a second only; add $msec (nginx) or %{usec}t (Apache) to the server's format";

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(format: &str) -> Result<Self, String> {
        let (mut prefix, mut fields): (String, Vec<(LogField, String)>) = Default::default();
        let mut rest = format;
        let mut coarse = None;
        while let Some(sign) = rest.chars().next() {
            let field = match sign {
                '$' => nginx(rest),
                '%' => apache(rest),
                _ => None,
            };
            if let Some((name, field, after)) = field {
                if matches!(name, "$time_local" | "$time_iso8601" | "%t") {
                    coarse = Some(name);
                }
                fields.push((field, String::new()));
                rest = after;
                continue;
            }
            fields.last_mut().map_or(&mut prefix, |(_, text)| text).push(sign);
            rest = &rest[sign.len_utf8()..];
        }
        let format = Self { prefix, fields };
        let has = |wanted: fn(LogField) -> bool| format.fields.iter().any(|(field, _)| wanted(*field));
        let (begin, end) = (has(|f| matches!(f, LogField::Begin(_))), has(|f| matches!(f, LogField::End(_))));
        let length = has(|f| matches!(f, LogField::Length(_)));
        match (begin, end, length) {
            (true, true, _) | (true, _, true) | (_, true, true) => Ok(format),
            (false, false, _) => Err(match coarse {
                Some(name) => format!("{name} {TOO_COARSE}"),
                None => "no field says when a request was; add $msec (nginx) or %{usec}t (Apache)".to_owned(),
            }),
            _ => {
                Err("no field says how long a request took; add $request_time (nginx) or %D (Apache)"
                    .to_owned())
            }
        }
    }
}

/// A variable of nginx at the beginning of a text: its name, what it says, and the text after it.
fn nginx(text: &str) -> Option<(&str, LogField, &str)> {
    let braced = text.starts_with("${");
    let begin = if braced { 2 } else { 1 };
    let length = text[begin..].find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
    let end = length.map_or(text.len(), |length| begin + length);
    let after = if braced { text[end..].strip_prefix('}')? } else { &text[end..] };
    let field = match &text[begin..end] {
        "" => return None,
        "msec" => LogField::End(1),
        "request_time" => LogField::Length(1),
        "request" => LogField::Request,
        "uri" | "request_uri" | "document_uri" => LogField::Path,
        "pid" => LogField::Pid,
        "request_id" => LogField::Id,
        _ => LogField::Other,
    };
    Some((&text[..end], field, after))
}

/// A directive of Apache at the beginning of a text, as [`nginx`].
fn apache(text: &str) -> Option<(&str, LogField, &str)> {
    let plain = text[1..].trim_start_matches(|sign: char| sign.is_ascii_digit() || "<>!,".contains(sign));
    let (argument, rest) = match plain.strip_prefix('{') {
        Some(inner) => inner.split_once('}')?,
        None => ("", plain),
    };
    let letter = rest.chars().next().filter(char::is_ascii_alphabetic)?;
    let after = &rest[1..];
    let field = match (letter, argument) {
        ('t', "msec" | "begin:msec") => LogField::Begin(1_000),
        ('t', "usec" | "begin:usec") => LogField::Begin(1_000_000),
        ('t', "end:msec") => LogField::End(1_000),
        ('t', "end:usec") => LogField::End(1_000_000),
        ('D', _) | ('T', "us") => LogField::Length(1_000_000),
        ('T', "ms") => LogField::Length(1_000),
        ('T', _) => LogField::Length(1),
        ('r', _) => LogField::Request,
        ('U', _) => LogField::Path,
        ('P', "tid") => LogField::Tid,
        ('P', "" | "pid") => LogField::Pid,
        ('L', _) | ('e', "UNIQUE_ID") => LogField::Id,
        _ => LogField::Other,
    };
    Some((&text[..text.len() - after.len()], field, after))
}

impl LogFormat {
    /// Reads the lines of a log.
    pub(super) fn parse_log(&self, text: &str) -> Result<SpanFile, LineError> {
        let mut spans = Vec::new();
        each_line(text, |line| {
            spans.push(self.span(line)?);
            Ok(())
        })?;
        Ok(SpanFile { clock: SpanClock::Wall, spans, unended: 0 })
    }

    fn span(&self, line: &str) -> Result<RawSpan, String> {
        let differs = || "is not of the format that --log-format names".to_owned();
        let mut rest = line.strip_prefix(self.prefix.as_str()).ok_or_else(differs)?;
        let mut span = RawSpan { name: "request".to_owned(), ..RawSpan::default() };
        let (mut begin_ns, mut end_ns, mut length_ns) = (None, None, None);
        for (field, separator) in &self.fields {
            let end = if separator.is_empty() { Some(rest.len()) } else { rest.find(separator.as_str()) };
            let (value, after) = rest.split_at(end.ok_or_else(differs)?);
            rest = &after[separator.len()..];
            let time = |units| time(value, units).map(Some);
            match *field {
                LogField::Other => {}
                LogField::Begin(units) => begin_ns = time(units)?,
                LogField::End(units) => end_ns = time(units)?,
                LogField::Length(units) => length_ns = time(units)?,
                LogField::Request => span.name = request_name(value),
                LogField::Path => span.name = path_name(value),
                LogField::Pid => span.pid = value.parse().ok(),
                LogField::Tid => span.tid = value.parse().ok(),
                LogField::Id => span.id = Some(value.to_owned()),
            }
        }
        let length = || length_ns.unwrap_or(0);
        span.begin_ns = begin_ns.or_else(|| end_ns?.checked_sub(length())).ok_or_else(differs)?;
        span.end_ns = end_ns.unwrap_or_else(|| span.begin_ns.saturating_add(length()));
        super::checked(span.begin_ns, span.end_ns)?;
        Ok(span)
    }
}

/// A decimal number of a unit, in nanoseconds: `1700000000.123` seconds without the error of a floating-point number.
fn time(text: &str, units_per_s: u32) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a time");
    let unit_ns = 1_000_000_000 / u64::from(units_per_s);
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 9 || !is_number(whole) || !is_number(decimals) {
        return Err(wrong());
    }
    let part = decimals.parse::<u64>().unwrap_or(0) * unit_ns / 10_u64.pow(decimals.len() as u32);
    let ns = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(unit_ns));
    ns.and_then(|ns| ns.checked_add(part)).filter(|ns| *ns < 1 << 63).ok_or_else(wrong)
}

/// `GET /cart/*` of `GET /cart/12?now=1 HTTP/1.1`.
fn request_name(request: &str) -> String {
    let mut words = request.split(' ');
    match (words.next(), words.next()) {
        (Some(method), Some(path)) => format!("{method} {}", path_name(path)),
        _ => request.to_owned(),
    }
}

/// A path without its query. Numbers in it are `*`, so that requests of one kind have one name.
fn path_name(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let is_number = |part: &str| {
        let hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        !part.is_empty()
            && (part.bytes().all(|byte| byte.is_ascii_digit()) || part.len() >= 16 && part.bytes().all(hex))
    };
    let parts: Vec<&str> = path.split('/').map(|part| if is_number(part) { "*" } else { part }).collect();
    parts.join("/")
}
