//! The trusted code stays small enough to be read in an afternoon.

use std::fs;
use std::path::{Path, PathBuf};

/// Rust files of a folder and below, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|x| x == "rs")
            && !path.file_stem().unwrap().to_str().unwrap().ends_with("tests")
        {
            files.push(path);
        }
    }
    files
}

/// All text of Rust files of a folder and below.
fn all_code(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_code(&path, text);
        } else if path.extension().is_some_and(|x| x == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Lines that are neither blank, nor a comment, nor part of tests.
fn lines_of_code(file: &Path) -> usize {
    let text = fs::read_to_string(file).unwrap();
    let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    // The module of tests is declared at the end of a file.
    let end = text
        .rfind("#[cfg(test)]\nmod tests;")
        .or(text.rfind("#[cfg(test)]\n#[path"))
        .or(text.rfind("#[cfg(test)]\npub(crate) mod tests;"));
    text[..end.unwrap_or(text.len())].lines().filter(code).count()
}

/// The trusted code: a name in CONTRIBUTING.md, files and folders, and the maximum number of lines.
const TRUSTED: [(&str, &[&str], usize); 5] = [
    ("noise and wall", &["crates/noise/src", "crates/core/src/wall"], 1_750),
    (
        "what the wall is built from",
        &[
            "crates/core/src/budget.rs",
            "crates/core/src/observer.rs",
            "crates/core/src/receipt.rs",
            "crates/core/src/threads.rs",
        ],
        450,
    ),
    (
        "one line, one record",
        &[
            "crates/tables/src/source/csv/lines.rs",
            "crates/tables/src/source/csv/fields.rs",
            "crates/tables/src/source/csv/mod.rs",
        ],
        280,
    ),
    ("one record, one row", &["crates/tables/src/encode"], 800),
    ("the ledger", &["crates/ledger/src", "crates/files/src"], 2_200),
];

#[test]
fn trusted_code_is_small_and_its_size_is_stated() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    for (name, places, max) in TRUSTED {
        let files = places.iter().flat_map(|place| match root.join(place) {
            folder if folder.is_dir() => sources(&folder),
            file => vec![file],
        });
        let count: usize = files.map(|file| lines_of_code(&file)).sum();
        assert!(count <= max, "{name}: {count} lines");
        let thousands = if count < 1000 { String::new() } else { format!("{},", count / 1000) };
        let rest = if count < 1000 { count.to_string() } else { format!("{:03}", count % 1000) };
        let stated = format!("| {name} | {thousands}{rest} |");
        assert!(guide.contains(&stated), "CONTRIBUTING.md should state {stated:?}");
    }
}

#[test]
fn every_invariant_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut code = String::new();
    all_code(&root.join("crates"), &mut code);
    let invariants = fs::read_to_string(root.join("docs/invariants.md")).unwrap();
    let names: Vec<&str> = invariants.split('`').skip(1).step_by(2).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(code.contains(&format!("fn {name}(")), "there is no test {name}");
    }
}
