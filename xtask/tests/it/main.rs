//! Test that this repository keeps its own rules.

mod one_of_each;

use std::path::Path;

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let problems = xtask::tidy(&root).expect("the tree can be read");
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn a_folder_outside_a_checkout_is_an_error() {
    let error = xtask::tidy(Path::new("/")).expect_err("`/` is no checkout");
    assert!(error.to_string().starts_with("`/` is no checkout"), "{error}");
}
