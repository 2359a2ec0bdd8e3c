//! `swtch book`: the documentation in a browser.

use crate::args::BookArgs;
use crate::output;
use anyhow::{Context, bail};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Where the book is, from the directory of this program: installed, and in the sources' `target/release`.
const PLACES: [&str; 2] = ["../share/doc/swtch/book/index.html", "../book/index.html"];

pub(crate) fn run(args: &BookArgs) -> anyhow::Result<ExitCode> {
    let program = env::current_exe().context("the path of this program cannot be read")?;
    let places = places(program.parent().unwrap_or(Path::new("/")));
    let Some(index) = places.iter().find(|place| place.is_file()) else {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        bail!(
            "cannot open the book: neither {} exists; build it with 'make book' in swtch's source tree",
            places.join(" nor ")
        );
    };
    if args.json.asked() {
        output::json(&args.json, &serde_json::json!({ "schema": "swtch/book/1", "page": index }))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&format!("The book is {}\n", index.display()));
    // Without a screen xdg-open starts a browser of text, which takes the terminal.
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some());
    if has_screen && !args.print {
        let quiet = || Stdio::null();
        let opened =
            Command::new("xdg-open").arg(index).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
        if !opened.is_ok_and(|status| status.success()) {
            output::complain_text("swtch: xdg-open failed; open that file in a browser");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn places(directory: &Path) -> Vec<PathBuf> {
    let whole = |place: &str| {
        let mut path = directory.to_owned();
        for part in Path::new(place) {
            if part == ".." {
                path.pop()
            } else {
                path.push(part);
                true
            };
        }
        path
    };
    PLACES.map(whole).to_vec()
}
