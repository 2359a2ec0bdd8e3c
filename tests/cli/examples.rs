//! The examples in a command's `--help` and in the documents run. Those that need a virtual machine run with the guests' tests.

use crate::common::examples::{furnished, of_documents, of_help, run_here};

#[test]
fn the_examples_of_every_help_text_run() {
    let home = furnished();
    assert!(run_here(&of_help(home.path()), home.path()) >= 30);
}

#[test]
fn the_commands_in_the_documents_run() {
    let home = furnished();
    assert!(run_here(&of_documents(), home.path()) >= 5);
}
