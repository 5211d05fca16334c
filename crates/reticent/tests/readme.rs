//! The README of the project.

use std::fs;

/// The example of the crate's own README is compiled with the documentation.
#[test]
fn the_readme_has_the_example_that_is_compiled() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    let example = |file: &str| {
        let text = fs::read_to_string(format!("{folder}{file}")).unwrap();
        let blocks = text.split("```").skip(1).step_by(2);
        let code: Vec<String> = blocks.filter(|block| block.starts_with("rust")).map(str::to_owned).collect();
        code
    };
    let compiled = example("README.md");
    assert_eq!(compiled.len(), 1);
    assert_eq!(example("../../README.md"), compiled);
}
