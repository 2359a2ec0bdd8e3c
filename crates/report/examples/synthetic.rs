//! Writes the invented profile of the tests as JSON into a directory: `synthetic fixtures/profiles`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name the directory to write to")?);
    std::fs::create_dir_all(&folder)?;
    let mut json = serde_json::to_string_pretty(&synthetic::full(synthetic::SERVER))?;
    json.push('\n');
    std::fs::write(folder.join("server.json"), json)?;
    Ok(())
}
