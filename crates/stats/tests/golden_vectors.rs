//! The vectors that the serverless handlers are held to are those of this crate.

#[allow(dead_code, reason = "its main is not needed here")]
#[path = "../examples/golden_vectors.rs"]
mod golden_vectors;

#[test]
fn the_committed_vectors_are_those_of_this_crate() {
    let committed = include_str!("statistics.json");
    assert!(golden_vectors::text() == committed, "write them again, as examples/golden_vectors.rs says");
}
