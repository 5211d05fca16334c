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
    // The module of tests, in the file or beside it, is the last item of a file.
    let starts = ["#[cfg(test)]\nmod tests", "#[cfg(test)]\n#[path", "#[cfg(test)]\npub(crate) mod tests"];
    let end = starts.iter().find_map(|start| text.rfind(start));
    text[..end.unwrap_or(text.len())].lines().filter(code).count()
}

/// What privacy rests on: a name in CONTRIBUTING.md, files and folders, and the most lines that a review can take.
const TRUSTED: [(&str, &[&str], usize); 9] = [
    ("noise and wall", &["noise/src", "core/src/wall"], 2_400),
    (
        "what the wall is built from",
        &["core/src/budget.rs", "core/src/observer.rs", "core/src/receipt.rs", "core/src/threads.rs"],
        500,
    ),
    ("the accountant", &["accounting/src"], 3_150),
    ("one line, one record", &["tables/src/source"], 1_000),
    ("one record, one row", &["tables/src/encode"], 1_000),
    ("one person, one unit", &["tables/src/units"], 450),
    (
        "from rows to the wall",
        &[
            "reticent/src/data.rs",
            "reticent/src/holdout.rs",
            "reticent/src/joined.rs",
            "reticent/src/fit.rs",
            "reticent/src/fit",
            "reticent/src/evaluate.rs",
            "reticent/src/bounds.rs",
            "reticent/src/custom.rs",
            "reticent/src/custom",
        ],
        1_750,
    ),
    ("the journal", &["reticent/src/charge.rs", "reticent/src/journal.rs", "reticent/src/resume.rs"], 850),
    ("the ledger", &["ledger/src", "files/src"], 2_000),
];

#[test]
fn trusted_code_is_small_and_its_size_is_stated() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let mut wrong = Vec::new();
    for (name, places, max) in TRUSTED {
        let files = places.iter().flat_map(|place| match root.join("crates").join(place) {
            folder if folder.is_dir() => sources(&folder),
            file => vec![file],
        });
        let count: usize = files.map(|file| lines_of_code(&file)).sum();
        assert!(count <= max, "{name}: {count} lines");
        // In fifties, so that not every change of the code is one of the text.
        let rounded = count.next_multiple_of(50);
        let thousands = if rounded < 1000 { String::new() } else { format!("{},", rounded / 1000) };
        let rest = if rounded < 1000 { rounded.to_string() } else { format!("{:03}", rounded % 1000) };
        let stated = format!("| {name} | {thousands}{rest} |");
        if !guide.contains(&stated) {
            wrong.push(stated);
        }
    }
    assert!(wrong.is_empty(), "CONTRIBUTING.md should state {wrong:#?}");
}

/// Paths in backticks are those of files and folders, from the root or from `crates`.
#[test]
fn every_path_in_the_documents_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for document in ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/adding-a-model.md"] {
        let text = fs::read_to_string(root.join(document)).unwrap();
        // Code blocks have an even number of marks, so that what is between two is still in backticks.
        for path in text.split('`').skip(1).step_by(2) {
            let is_path = path.contains("/src/") || path.starts_with("docs/") || path.starts_with("crates/");
            if !is_path || path.contains(['<', ' ', '*']) || path == "docs/audit.md" {
                continue;
            }
            let exists = root.join(path).exists() || root.join("crates").join(path).exists();
            assert!(exists, "{document}: there is no {path}");
        }
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
