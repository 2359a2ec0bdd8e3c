//! The function as a program: on AWS Lambda a custom runtime, with `PORT` a server as platforms start an image, else a server on loopback.
#![forbid(unsafe_code)]

mod answer;
mod clock;
mod host;
mod request;
mod spin;
mod switching;

use answer::answer;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use std::env::var;
use std::io::{BufRead, Read, Write, stdin, stdout};
use std::sync::LazyLock;

/// Of a request.
const MOST_BYTES: u64 = 1 << 20;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    LazyLock::force(&answer::STARTED);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let host = var("HOST").unwrap_or("0.0.0.0".to_owned());
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match (&words[..], var("AWS_LAMBDA_RUNTIME_API"), var("PORT")) {
        (["--lines"], ..) => lines(),
        (["--listen", address], ..) => serve(address, "local"),
        ([], Ok(api), _) => lambda(&api),
        ([] | ["knative" | "openfaas"], _, Ok(port)) => serve(&format!("{host}:{port}"), words.first().unwrap_or(&"gcf")),
        ([], ..) => serve("127.0.0.1:0", "local"),
        _ => Err("usage: swtch-function [--lines | --listen ADDRESS:PORT | knative | openfaas], the last two with PORT set".into()),
    }
}

/// A line in, a line out: what `swtch faas` runs. That work is done is a line of its own before the answer.
fn lines() -> Result<(), Failure> {
    let say = |line: &Value| writeln!(stdout(), "{line}").and_then(|()| stdout().flush());
    say(&json!({ "ready": true }))?;
    for line in stdin().lock().lines() {
        let worked = || drop(say(&json!({ "status": 200, "document": {}, "more": true })));
        let (status, document) = answer(&line?, "", "local", None, worked);
        say(&json!({ "status": status, "document": document }))?;
    }
    Ok(())
}

/// Answers POST /, and GET at the places where platforms ask whether it is well.
fn serve(address: &str, platform: &str) -> Result<(), Failure> {
    let server = tiny_http::Server::http(address)?;
    println!("{}", json!({ "listening": server.server_addr().to_string(), "pid": std::process::id() }));
    for mut asked in server.incoming_requests() {
        let url = asked.url().to_owned();
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let (status, text) = match (asked.method().as_str(), path) {
            ("GET", "/healthz" | "/_/health" | "/_/ready") => (200, "ok\n".to_owned()),
            ("POST", "/") => {
                let mut body = Vec::new();
                let read = asked.as_reader().take(MOST_BYTES).read_to_end(&mut body);
                let text = read.map(|_| String::from_utf8_lossy(&body)).unwrap_or_default();
                let (status, document) = answer(&text, query, platform, None, || ());
                (status, document.to_string())
            }
            _ => (404, json!({ "schema": "swtch/faas-error/1", "error": "there is nothing here but POST / and GET /healthz" }).to_string()),
        };
        let header = tiny_http::Header::from_bytes("Content-Type", "application/json").map_err(|()| "a header")?;
        // The client may have gone.
        let _ = asked.respond(tiny_http::Response::from_string(text).with_status_code(status).with_header(header));
    }
    Ok(())
}

/// A custom runtime: asks the Runtime API for events, one after the other (AWS Lambda's guide, "Using the Lambda runtime API").
fn lambda(api: &str) -> Result<(), Failure> {
    let at = format!("http://{api}/2018-06-01/runtime/invocation");
    loop {
        let mut event = ureq::get(format!("{at}/next")).call()?;
        let id = event.headers().get("Lambda-Runtime-Aws-Request-Id").and_then(|id| id.to_str().ok()).unwrap_or("").to_owned();
        let event: Value = serde_json::from_str(&event.body_mut().read_to_string()?)?;
        // A function URL or an API gateway wraps the request; a direct call is the request.
        let over_http = event.get("requestContext").is_some();
        let said = event["body"].as_str().unwrap_or("");
        let decoded = (event["isBase64Encoded"] == true).then(|| BASE64_STANDARD.decode(said).ok()).flatten();
        let body = decoded.map_or(said.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned());
        let body = if over_http { body } else { event.to_string() };
        let query = event["rawQueryString"].as_str().filter(|_| over_http).unwrap_or("");
        let (status, document) = answer(&body, query, "lambda", Some(&id), || ());
        let (end, text) = match over_http {
            true => {
                let headers = json!({ "content-type": "application/json" });
                ("response", json!({ "statusCode": status, "headers": headers, "body": document.to_string() }))
            }
            false if status == 200 => ("response", document),
            false => ("error", json!({ "errorType": "BadRequest", "errorMessage": document["error"] })),
        };
        ureq::post(format!("{at}/{id}/{end}")).send(text.to_string())?;
    }
}
