//! `cargo xtask python`: the wheel of the Python package, its types and its tests, in a virtual environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, root, run};

/// The largest wheel in bytes.
const MAX_WHEEL: u64 = 10_000_000;

/// Builds the wheel and tests it as users have it: installed. With `release`, it is optimised as one to be published is, and its size is checked.
pub(crate) fn test(release: bool) -> Outcome {
    let python = environment("python")?;
    let folder = target().join("wheels");
    let wheel = build(&python, &folder, release)?;
    pip(&python, &["--force-reinstall", "--no-deps", &wheel.to_string_lossy()])?;
    run(&mut in_root(&python, &["-m", "mypy"]))?;
    run(&mut in_root(&python, &["-m", "pytest", "--quiet", "--durations=5"]))
}

/// The wheel: a file in `folder`.
fn build(python: &Path, folder: &Path, release: bool) -> Result<PathBuf, String> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let out = folder.to_string_lossy();
    let profile = if release { "release" } else { "dev" };
    let interpreter = python.to_string_lossy();
    let words =
        ["-m", "maturin", "build", "--quiet", "--out", &out, "--profile", profile, "-i", &interpreter];
    run(&mut in_root(python, &words))?;
    let files = std::fs::read_dir(folder).map_err(|error| format!("{out}: {error}"))?;
    let wheel =
        files.flatten().map(|file| file.path()).find(|file| file.extension().is_some_and(|end| end == "whl"));
    let wheel = wheel.ok_or_else(|| format!("{out} has no wheel"))?;
    let size = wheel.metadata().map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    println!("{} has {:.2} MB", wheel.file_name().unwrap_or_default().to_string_lossy(), 1e-6 * size as f64);
    if release && size > MAX_WHEEL {
        return Err(format!("the wheel has {size} bytes, more than {MAX_WHEEL}"));
    }
    Ok(wheel)
}

/// The interpreter of a virtual environment with all that building and testing take. It is made by the interpreter that `RETICENT_PYTHON` names, or by `python3`.
fn environment(name: &str) -> Result<PathBuf, String> {
    let folder = target().join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        let base = std::env::var_os("RETICENT_PYTHON").unwrap_or_else(|| "python3".into());
        run(Command::new(base).args(["-m", "venv"]).arg(&folder)).map_err(|error| {
            format!("{error}\nthe Python package needs Python 3.10 or newer with its venv module")
        })?;
    }
    // What `pyproject.toml` lists, without building the package itself.
    let listed = "import sys, tomllib as t; p = t.load(open('pyproject.toml', 'rb')); \
                  print('\\n'.join(p['build-system']['requires'] + p['project']['dependencies'] + p['project']['optional-dependencies']['test']))";
    let listed =
        if tomllib(&python) { listed.to_owned() } else { listed.replace("tomllib", "pip._vendor.tomli") };
    let output = in_root(&python, &["-c", &listed]).output().map_err(|error| format!("python: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    pip(&python, &text.lines().collect::<Vec<_>>())?;
    Ok(python)
}

/// Whether the interpreter reads TOML: Python 3.11 and newer do.
fn tomllib(python: &Path) -> bool {
    Command::new(python).args(["-c", "import tomllib"]).output().is_ok_and(|output| output.status.success())
}

fn pip(python: &Path, words: &[&str]) -> Outcome {
    let mut all = vec!["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    all.extend(words);
    run(&mut in_root(python, &all))
}

/// A call of the interpreter in the root of the workspace.
fn in_root(python: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.args(words).current_dir(root());
    command
}

/// Where Cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into)
}
