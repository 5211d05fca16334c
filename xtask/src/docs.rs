//! `cargo xtask docs`

use std::fs;
use std::path::Path;

use crate::{Outcome, command, root};

/// Sets `$...$` and `$$...$$` once the page is loaded.
const HEADER: &str = r#"<link rel="stylesheet" href="KATEX/katex.min.css">
<script defer src="KATEX/katex.min.js"></script>
<script defer src="KATEX/contrib/auto-render.min.js" onload="renderMathInElement(document.body, {delimiters: [
  {left: '$$', right: '$$', display: true}, {left: '$', right: '$', display: false}]})"></script>
"#;

pub(crate) fn run() -> Outcome {
    let katex = root().join("target/katex");
    let header = katex.join("header.html");
    let mut build = command("cargo", &["doc", "--workspace", "--no-deps"]);
    match install_katex(&katex, &header) {
        Ok(()) => {
            build.env("RUSTDOCFLAGS", format!("-D warnings --html-in-header {}", header.display()));
        }
        Err(why) => eprintln!("formulas stay as TeX: {why}"),
    }
    crate::run(&mut build)
}

fn install_katex(folder: &Path, header: &Path) -> Outcome {
    let failed = |error: std::io::Error| error.to_string();
    fs::create_dir_all(folder).map_err(failed)?;
    let assets = folder.join("node_modules/katex/dist");
    if !assets.exists() {
        let prefix = folder.to_str().ok_or("the path is not UTF-8")?;
        crate::run(&mut command("npm", &["install", "--silent", "--no-save", "--prefix", prefix, "katex"]))?;
    }
    let address = format!("file://{}", assets.display());
    fs::write(header, HEADER.replace("KATEX", &address)).map_err(failed)
}
