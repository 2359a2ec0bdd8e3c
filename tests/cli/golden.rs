//! What the command prints, as text that can be read and reviewed: `tests/cli/golden`. `TRYCMD=overwrite` writes the files anew.

use crate::common::home;
use std::path::Path;

#[test]
fn the_command_prints_what_is_written_down() {
    let home = home();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/golden");
    trycmd::TestCases::new()
        .register_bin("swtch", Path::new(env!("CARGO_BIN_EXE_swtch")))
        .env("XDG_STATE_HOME", home.path().to_str().unwrap())
        // Help is as wide as where no terminal is.
        .env("COLUMNS", "100")
        .case(folder.join("*.trycmd"));
}
