//! `cargo xtask deny`: checks the dependencies against `deny.toml`.
//!
//! Implements the parts of cargo-deny that need no database on the output of `cargo metadata`: building cargo-deny takes longer than most
//! of the tests.

use std::collections::BTreeMap;

use serde_json::Value;
use toml::{Table, Value as Setting};

use crate::{Outcome, command, root};

pub(crate) fn run() -> Outcome {
    let file = root().join("deny.toml");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let rules = Rules(text.parse().map_err(|error| format!("deny.toml: {error}"))?);
    let mut faults = Vec::new();
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let packages = packages(&rules, manifest)?;
        let found = rules.faults(&packages);
        println!("{manifest}: {} packages, {} faults", packages.len(), found.len());
        faults.extend(found.into_iter().map(|fault| format!("{manifest}: {fault}")));
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("deny.toml is violated\n{}", faults.join("\n"))) }
}

/// Every package that is built for one of the targets.
fn packages(rules: &Rules, manifest: &str) -> Result<Vec<Package>, String> {
    let mut metadata = command(
        "cargo",
        &["metadata", "--format-version", "1", "--all-features", "--manifest-path", manifest],
    );
    rules.list("graph", "targets").iter().filter_map(Setting::as_str).for_each(|target| {
        metadata.args(["--filter-platform", target]);
    });
    let output = metadata.output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(metadata["packages"].as_array().into_iter().flatten().map(Package::new).collect())
}

struct Package {
    name: String,
    version: String,
    licence: String,
    /// `None` for packages of the repository.
    source: Option<String>,
    /// Dependencies without a version requirement that are not in the repository.
    wildcards: Vec<String>,
}

impl Package {
    fn new(package: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let any = dependencies.filter(|one| one["req"] == "*" && one["path"].is_null());
        Self {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: text(&package["license"]),
            source: package["source"].as_str().map(str::to_owned),
            wildcards: any.map(|one| text(&one["name"])).collect(),
        }
    }

    fn is(&self, spec: &str) -> bool {
        match spec.split_once('@') {
            Some((name, version)) => (name, version) == (&*self.name, &*self.version),
            None => spec == self.name,
        }
    }
}

/// `deny.toml`.
struct Rules(Table);

impl Rules {
    fn list(&self, section: &str, name: &str) -> &[Setting] {
        let list = self.0.get(section).and_then(|section| section.get(name)).and_then(Setting::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    /// Whether one of the entries of a list is about this package.
    fn names(&self, section: &str, list: &str, package: &Package) -> bool {
        self.list(section, list).iter().any(|entry| is_about(entry, package))
    }

    fn faults(&self, packages: &[Package]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in packages {
            let Package { name, version, licence, source, wildcards } = package;
            if !allowed(licence, &|one| self.allows(package, one)) {
                faults.push(format!("{name} {version}: licence {licence:?} is not allowed"));
            }
            if self.names("bans", "deny", package) {
                faults.push(format!("{name} {version}: banned"));
            }
            let known = |source: &String| {
                let mut registries =
                    self.list("sources", "allow-registry").iter().filter_map(Setting::as_str);
                registries.any(|registry| *source == format!("registry+{registry}"))
            };
            if source.as_ref().is_some_and(|source| !known(source)) {
                faults.push(format!("{name} {version}: not from a registry that is allowed"));
            }
            if source.is_none() && !wildcards.is_empty() {
                faults.push(format!("{name}: no version requirement for {}", wildcards.join(", ")));
            }
            if !self.names("bans", "skip", package) {
                versions.entry(name).or_default().push(version);
            }
        }
        versions.retain(|_, versions| versions.len() > 1);
        faults.extend(
            versions.iter().map(|(name, versions)| format!("{name}: versions {}", versions.join(" and "))),
        );
        faults
    }

    fn allows(&self, package: &Package, licence: &str) -> bool {
        let exceptions = self.list("licenses", "exceptions").iter();
        let own = exceptions.filter(|entry| is_about(entry, package));
        let own = own.filter_map(|entry| entry.get("allow")?.as_array()).flatten();
        self.list("licenses", "allow").iter().chain(own).any(|one| one.as_str() == Some(licence))
    }
}

/// Whether an entry of a list is about this package.
fn is_about(entry: &Setting, package: &Package) -> bool {
    entry.get("crate").and_then(Setting::as_str).is_some_and(|spec| package.is(spec))
}

/// Whether allowed licences satisfy a licence expression (SPDX, or the older `MIT/Apache-2.0`).
fn allowed(expression: &str, allow: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let met = either(&mut rest, allow);
    met && rest.is_empty() && !words.is_empty()
}

fn either(words: &mut &[&str], allow: &dyn Fn(&str) -> bool) -> bool {
    let mut met = both(words, allow);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        met |= both(words, allow);
    }
    met
}

fn both(words: &mut &[&str], allow: &dyn Fn(&str) -> bool) -> bool {
    let mut met = one(words, allow);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        met &= one(words, allow);
    }
    met
}

fn one(words: &mut &[&str], allow: &dyn Fn(&str) -> bool) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let met = either(words, allow);
            let closed = words.first() == Some(&")");
            *words = words.get(1..).unwrap_or_default();
            met && closed
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            allow(&format!("{licence} WITH {exception}"))
        }
        [licence, rest @ ..] => {
            *words = rest;
            allow(licence)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, licence: &str) -> Package {
        let (name, version, licence) = (name.to_owned(), version.to_owned(), licence.to_owned());
        let source = Some("registry+https://github.com/rust-lang/crates.io-index".to_owned());
        Package { name, version, licence, source, wildcards: Vec::new() }
    }

    #[test]
    fn licences_are_met_or_not() {
        let allow = |licence: &str| ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].contains(&licence);
        let met = [
            "MIT",
            "MIT/GPL-3.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-3.0) AND Zlib",
            "GPL-3.0 AND Zlib OR MIT",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ];
        let unmet = [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Zlib) AND GPL-3.0",
            "Apache-2.0",
            "(MIT",
            "MIT Zlib",
            "MIT AND",
        ];
        met.iter().for_each(|licence| assert!(allowed(licence, &allow), "{licence}"));
        unmet.iter().for_each(|licence| assert!(!allowed(licence, &allow), "{licence}"));
    }

    #[test]
    fn each_rule_can_be_broken() {
        let rules = r#"
            [licenses]
            allow = ["MIT"]
            exceptions = [{ crate = "special", allow = ["Zlib"] }]
            [bans]
            deny = [{ crate = "curl" }]
            skip = [{ crate = "twice@1.0.0" }]
            [sources]
            allow-registry = ["https://github.com/rust-lang/crates.io-index"]
        "#;
        let rules = Rules(rules.parse().unwrap());
        let fine = || {
            vec![
                package("special", "1.0.0", "Zlib"),
                package("twice", "1.0.0", "MIT"),
                package("twice", "2.0.0", "MIT"),
            ]
        };
        assert!(rules.faults(&fine()).is_empty());
        let elsewhere =
            Package { source: Some("git+https://example.org/x".into()), ..package("x", "1.0.0", "MIT") };
        let any = Package { source: None, wildcards: vec!["x".into()], ..package("own", "0.1.0", "MIT") };
        let wrong = [
            package("y", "1.0.0", "Zlib"),
            package("curl", "0.4.0", "MIT"),
            package("twice", "3.0.0", "MIT"),
            elsewhere,
            any,
        ];
        for package in wrong {
            let (name, mut packages) = (package.name.clone(), fine());
            packages.push(package);
            let faults = rules.faults(&packages);
            assert!(faults.len() == 1 && faults[0].starts_with(&name), "{name}: {faults:?}");
        }
    }
}
