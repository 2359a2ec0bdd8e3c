//! The examples in a command's `--help` and in the documents that need a virtual machine run.

use crate::common::examples::{furnished, of_documents, of_help, run_in_guests};
use crate::guest::{cannot, machine};

#[test]
fn the_examples_with_a_virtual_machine_run() {
    if cannot("the_examples_with_a_virtual_machine_run") {
        return;
    }
    let _machine = machine();
    let home = furnished();
    let mut all = of_help(home.path());
    all.extend(of_documents());
    all.sort();
    all.dedup();
    run_in_guests(&all, home.path());
}
