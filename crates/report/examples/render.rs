//! Renders profiles as a page on the standard output: `render A.json [B.json ...] > report.html`.

use std::io::Write;
use std::path::Path;

use swtch_report::html::{NamedProfile, render};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut profiles = Vec::new();
    for argument in std::env::args().skip(1) {
        let path = Path::new(&argument);
        let name =
            path.file_stem().map_or_else(|| argument.clone(), |stem| stem.to_string_lossy().into_owned());
        profiles.push(NamedProfile { name, document: swtch_profile::file::read(path)? });
    }
    std::io::stdout().write_all(render(&profiles)?.as_bytes())?;
    Ok(())
}
