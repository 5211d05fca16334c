//! `cargo xtask package`: whether the packages that would be published are complete.
//!
//! Nothing is built: `cargo package --workspace` without `--no-verify`, and with an `--exclude` for each crate that is not published, does that in
//! some minutes.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::{Outcome, command, root};

pub(crate) fn run() -> Outcome {
    let metadata = metadata(&["--no-deps"])?;
    // The fuzz targets are a workspace of their own, whose lock file nothing else updates.
    self::metadata(&["--locked", "--manifest-path", "fuzz/Cargo.toml"])?;
    let mut faults = Vec::new();
    let mut cargo = command("cargo", &["package", "--quiet", "--workspace", "--no-verify", "--allow-dirty"]);
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = text(&package["name"]);
        // An empty list of registries is `publish = false`.
        if package["publish"].as_array().is_some_and(Vec::is_empty) {
            cargo.args(["--exclude", name]);
        } else {
            let found = Package::new(package)?.faults(package);
            faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
        }
    }
    faults.extend(rust_versions(&metadata)?);
    if !faults.is_empty() {
        return Err(format!("packages are not complete\n{}", faults.join("\n")));
    }
    crate::run(&mut cargo)
}

fn metadata(arguments: &[&str]) -> Result<Value, String> {
    let mut cargo = command("cargo", &["metadata", "--quiet", "--format-version", "1"]);
    let output = cargo.args(arguments).output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// CI and README name the compiler that the manifests require.
fn rust_versions(metadata: &Value) -> Result<Vec<String>, String> {
    let required = text(&metadata["packages"][0]["rust_version"]);
    let mut faults = Vec::new();
    let places = [(".github/workflows/ci.yml", "rustup default "), ("README.md", "Rust ")];
    for (file, before) in places {
        let content =
            std::fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
        if !content.contains(&format!("{before}{required}")) {
            faults.push(format!("{file} does not state {before}{required}, the rust-version of the crates"));
        }
    }
    Ok(faults)
}

/// The files of a package.
struct Package {
    folder: PathBuf,
    files: BTreeSet<PathBuf>,
}

impl Package {
    fn new(package: &Value) -> Result<Self, String> {
        let name = text(&package["name"]);
        let mut cargo =
            command("cargo", &["package", "--quiet", "--list", "--allow-dirty", "--package", name]);
        let output = cargo.output().map_err(|error| format!("cargo package: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo package --list: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let files = String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect();
        let manifest = Path::new(text(&package["manifest_path"]));
        Ok(Self { folder: manifest.parent().unwrap_or(manifest).to_owned(), files })
    }

    fn faults(&self, package: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        for field in ["description", "license", "repository", "readme", "rust_version"] {
            if text(&package[field]).is_empty() {
                faults.push(format!("no {field}"));
            }
        }
        for field in ["keywords", "categories"] {
            if package[field].as_array().is_none_or(Vec::is_empty) {
                faults.push(format!("no {field}"));
            }
        }
        let header = package["metadata"]["docs"]["rs"]["rustdoc-args"].as_array();
        let header = header.and_then(|arguments| arguments.last()).map(text);
        let needed = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"].into_iter().chain(header);
        faults.extend(needed.filter(|file| !self.has(Path::new(file))).map(|file| format!("no file {file}")));
        for file in self.files.iter().filter(|file| file.extension().is_some_and(|x| x == "rs")) {
            // What is generated is not in the folder.
            let code = std::fs::read_to_string(self.folder.join(file)).unwrap_or_default();
            let missing = included(file, &code).into_iter().filter(|path| !self.has(path));
            faults.extend(missing.map(|path| {
                format!("{} includes {}, which is not in the package", file.display(), path.display())
            }));
        }
        faults
    }

    fn has(&self, file: &Path) -> bool {
        self.files.contains(file)
    }
}

/// The files that code includes, from the folder of the package.
fn included(file: &Path, code: &str) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(file);
    let mut paths = Vec::new();
    for start in ["include_str!(\"", "include_bytes!(\"", "include!(\""] {
        let names = code.split(start).skip(1).filter_map(|rest| rest.split('"').next());
        paths.extend(names.map(|name| normal(&folder.join(name))));
    }
    paths
}

/// A path without `..` where there is a folder to leave.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        let leaves = part == Component::ParentDir && normal.file_name().is_some();
        if leaves {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files_are_found_from_the_folder_of_the_package() {
        let code =
            "const A: &str = include_str!(\"a.sql\");\n#[doc = include_str!(\"../../../README.md\")]\n";
        let paths = included(Path::new("src/inner/lib.rs"), code);
        assert_eq!(paths, ["src/inner/a.sql", "../README.md"].map(PathBuf::from));
    }

    #[test]
    fn a_package_without_its_files_is_not_complete() {
        let files = ["README.md", "LICENSE-MIT"].map(PathBuf::from).into();
        let package = Package { folder: root(), files };
        let manifest = serde_json::json!({
            "description": "d", "license": "MIT", "repository": "r", "readme": "README.md", "rust_version": "1",
            "keywords": ["k"], "categories": [], "metadata": {"docs": {"rs": {"rustdoc-args": ["--html-in-header", "f.html"]}}},
        });
        let faults = package.faults(&manifest);
        assert_eq!(faults, ["no categories", "no file LICENSE-APACHE", "no file f.html"]);
    }
}
