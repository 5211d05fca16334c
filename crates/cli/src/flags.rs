//! What a user of the command types where the library's messages name an option or a function of its own.

/// Names in the library's messages, which are in backquotes there, and what replaces them.
const TYPED: [(&str, &str); 19] = [
    ("`adjacency`", "--adjacency"),
    ("`allow_large`", "--allow-large"),
    ("`allow_large_delta`", "--allow-large-delta"),
    ("`ledger`", "--ledger"),
    ("`out`", "--out"),
    ("`overwrite`", "--force"),
    ("`records`", "--records"),
    ("`resume`", "--resume"),
    ("`setting`", "--set"),
    ("`test`", "--test"),
    ("`without_privacy`", "--no-privacy"),
    ("`Check`", "`reticent check`"),
    ("`Evaluation`", "--help"),
    ("`Fit`", "--help"),
    ("`Ledger::cancel`", "`reticent ledger cancel`"),
    ("`Plan::to_json`", "`reticent plan --json`"),
    ("`Schema::from_data_assuming_public`", "`reticent schema --assume-public`"),
    ("`Schema::template_for`", "`reticent schema --from FILE`"),
    ("`Session::account`", "`reticent ledger show`"),
];

/// A message or hint of the library, for users of the command.
pub(crate) fn typed(text: &str) -> String {
    TYPED.iter().fold(text.to_owned(), |text, (name, typed)| text.replace(name, typed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use std::path::Path;

    /// Lines of the library's sources without comments.
    fn library() -> Vec<String> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut lines = Vec::new();
        for name in ["accounting", "core", "files", "ledger", "noise", "reticent", "tables"] {
            add(&crates.join(name).join("src"), &mut lines);
        }
        assert!(lines.len() > 10_000, "{}", lines.len());
        lines
    }

    /// Tests may start programs with flags.
    fn add(folder: &Path, lines: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, lines);
            } else if path.to_str().is_some_and(|path| path.ends_with(".rs") && !path.ends_with("tests.rs")) {
                let text = std::fs::read_to_string(path).unwrap();
                let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                lines.extend(code.map(str::to_owned));
            }
        }
    }

    /// Callers of the library, from Rust or from another language, type no flags.
    #[test]
    fn messages_of_the_library_name_no_flags() {
        let flag = |line: &str| {
            let after = line.split("--").skip(1);
            after.into_iter().any(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()))
        };
        assert!(flag("leave --records out") && !flag("a -- b"));
        let found: Vec<String> =
            library().into_iter().filter(|line| flag(line) || line.contains("`reticent ")).collect();
        assert!(found.is_empty(), "{found:#?}");
    }

    #[test]
    fn every_name_is_one_of_the_library_and_every_flag_one_of_the_command() {
        let (library, command) = (library(), crate::Cli::command());
        let flags: Vec<&str> = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments)
            .filter_map(clap::Arg::get_long)
            .chain(["help"])
            .collect();
        for (name, typed) in TYPED {
            assert!(library.iter().any(|line| line.contains(name)), "no message has {name}");
            if let Some(flag) = typed.strip_prefix("--") {
                assert!(flags.contains(&flag), "{flag}");
            }
        }
        assert_eq!(typed("choose another `out`, or `overwrite` it"), "choose another --out, or --force it");
    }
}
