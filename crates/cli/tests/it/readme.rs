//! The commands of the README work, and print what it shows.

use std::process::Command;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");

/// A block of commands, and the output of the last of them in the block after it, if there is one. A last line of three dots stands for the rest of
/// the output.
struct Shown<'r> {
    commands: Vec<&'r str>,
    output: Option<&'r str>,
}

/// The blocks whose commands are all those of `reticent`.
fn shown(readme: &str) -> Vec<Shown<'_>> {
    let blocks: Vec<&str> = readme.split("```").skip(1).step_by(2).collect();
    let mut found = Vec::new();
    for (block, next) in blocks.iter().zip(blocks.iter().skip(1).map(Some).chain([None])) {
        let Some(lines) = block.strip_prefix("sh\n") else { continue };
        let commands: Vec<&str> = lines.lines().collect();
        if commands.iter().all(|line| line.starts_with("reticent ")) {
            found.push(Shown { commands, output: next.and_then(|next| next.strip_prefix("text\n")) });
        }
    }
    found
}

/// As much of what was printed as the README shows.
fn excerpt(printed: &str, output: &str) -> String {
    let lines = output.lines().count();
    if output.lines().last() != Some("...") {
        return format!("{}\n", printed.trim_end());
    }
    let first: Vec<&str> = printed.lines().take(lines - 1).chain(["..."]).collect();
    format!("{}\n", first.join("\n"))
}

/// What every run prints alike: words with a digit depend on the noise, as do the signs before them ("> 0.999"), spaces on the lengths of these words,
/// and the order of columns on the sizes of their effects.
fn without_numbers(text: &str) -> Vec<String> {
    let word = |word: &str| {
        if word.contains(|c: char| c.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| {
        let words = line.split_whitespace().filter(|word| !matches!(*word, "<" | ">"));
        words.map(word).collect::<Vec<String>>().join(" ")
    };
    let mut lines: Vec<String> = text.trim().lines().map(line).collect();
    lines.sort();
    lines
}

/// All commands in one folder, one after the other. The noise is fresh, so outputs are compared without their numbers. With
/// `RETICENT_README=write` the README gets the new ones instead.
#[test]
fn the_readme_shows_what_its_commands_print() {
    let readme = std::fs::read_to_string(README).expect("the README");
    let folder = tempfile::tempdir().expect("a folder");
    let is_written = std::env::var_os("RETICENT_README").is_some_and(|value| value == "write");
    let (mut written, mut compared) = (readme.clone(), 0);
    for Shown { commands, output } in shown(&readme) {
        let mut printed = String::new();
        for command in commands {
            let arguments = command.split_whitespace().skip(1).take_while(|word| *word != "#");
            let mut run = Command::new(env!("CARGO_BIN_EXE_reticent"));
            let result = run.args(arguments).current_dir(folder.path()).output().expect("it runs");
            assert!(result.status.success(), "{command}: {}", String::from_utf8_lossy(&result.stderr));
            printed = String::from_utf8(result.stdout).expect("output is UTF-8");
        }
        let Some(output) = output else { continue };
        let printed = excerpt(&printed, output);
        compared += 1;
        if is_written {
            written = written.replace(output, &printed);
        } else {
            assert_eq!(
                without_numbers(output),
                without_numbers(&printed),
                "RETICENT_README=write replaces it"
            );
        }
    }
    assert!(compared >= 2, "{compared}");
    if is_written {
        std::fs::write(README, written).expect("the README");
    }
}

/// The cost of a stated sequence of releases has no noise in it.
#[test]
fn the_accountant_of_the_readme_prints_these_numbers() {
    let readme = std::fs::read_to_string(README).expect("the README");
    let blocks = shown(&readme);
    let account = blocks.iter().find(|block| block.commands[0].starts_with("reticent account "));
    let Shown { commands, output } = account.expect("a command");
    let printed = crate::stdout(commands[0].trim_start_matches("reticent"));
    assert_eq!(printed.trim(), output.expect("its output").trim());
}

#[test]
fn the_readme_lists_every_model() {
    let readme = std::fs::read_to_string(README).expect("the README");
    for model in reticent::models() {
        assert!(readme.contains(&format!("`{}`", model.name())), "{}", model.name());
    }
}
