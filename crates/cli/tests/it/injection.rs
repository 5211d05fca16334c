//! Script injection through forged model files, in a real browser.
//!
//! Every attempt is a page in a frame of its own. A script that runs sends a message to the page around the frames, which
//! also counts the elements of each frame and reads its JSON: a page that is as it should be has as many elements as that
//! of a model that nobody has forged.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use reticent_tables::ModelFile;
use serde_json::{Value, json};

use crate::fit::Case;
use crate::forged::{HIDDEN_TEXTS, NUMBERS, TEXTS, forge, model};

/// What an attack runs: it needs no quotes, so that it works within any.
fn script(attempt: usize) -> String {
    format!("top.postMessage({attempt},String.fromCharCode(42))")
}

/// Attacks on a text between tags, in an attribute, in a script, in SVG, in a comment, in a template. `RUN` is the script.
const ATTACKS: [&str; 32] = [
    "<script>RUN</script>",
    "<ScRiPt >RUN</sCrIpT >",
    "</script><script>RUN</script>",
    "</SCRIPT foo><script>RUN</script>",
    "\"</script><img src=x onerror=RUN>",
    "<img src=x onerror=RUN>",
    "<img/src=\"x\"/onerror=RUN>",
    "\"><img src=x onerror=RUN>",
    "'><img src=x onerror=RUN>",
    "\" onload=\"RUN",
    "\" onload=RUN x=\"",
    "<svg onload=RUN>",
    "<svg><script>RUN</script></svg>",
    "</text></g></svg><script>RUN</script>",
    "</title><script>RUN</script>",
    "</title></rect></svg><img src=x onerror=RUN>",
    "</style><script>RUN</script>",
    "--><script>RUN</script>",
    "--!><script>RUN</script>",
    "]]><script>RUN</script>",
    "<![CDATA[><script>RUN</script>]]>",
    "<svg><style><![CDATA[</style><img src=x onerror=RUN>]]></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img src=x onerror=RUN>-->",
    "<details open ontoggle=RUN>x</details>",
    "<input autofocus onfocus=RUN>",
    "<body onload=RUN>",
    "<iframe srcdoc=\"<script>RUN</script>\"></iframe>",
    "<video><source onerror=RUN></video>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s>",
    "{{ \"<script>RUN</script>\"|safe }}{% autoescape false %}<script>RUN</script>",
    "</script><script>RUN</script><!--<script>",
    "<style>@keyframes k{}</style><b style=animation-name:k onanimationstart=RUN>x</b>",
];

/// Texts that are no attack by themselves, but break a page that escapes too little, or twice.
const BREAKS: [&str; 8] = [
    "<!--<script>",
    "<!--<script></script>",
    "&lt;script&gt;RUN&lt;/script&gt;",
    "\\u003cscript\\u003eRUN\\u003c/script\\u003e",
    "+ADw-script+AD4-RUN+ADw-/script+AD4-",
    "\u{2028}RUN\u{2029}<scr\u{0}ipt>RUN</script>",
    "</",
    "{{ 7 * 7 }}{# {% raw %}",
];

/// A page that an attack got into.
struct Attempt {
    what: String,
    page: String,
}

/// What the page around the frames found.
struct Found {
    /// The attempts that ran a script.
    ran: Vec<usize>,
    /// Of each frame: the number of elements, and whether its JSON could be read.
    frames: Vec<(usize, bool)>,
}

/// Frames in one page; a browser is not asked for more at once.
const FRAMES: usize = 120;

/// Opens all attempts; nothing if there is no browser.
fn open(folder: &Path, attempts: &[Attempt]) -> Option<Found> {
    let mut found = Found { ran: Vec::new(), frames: Vec::new() };
    for (part, attempts) in attempts.chunks(FRAMES).enumerate() {
        let mut frames = String::new();
        for (k, attempt) in attempts.iter().enumerate() {
            let name = format!("{part}-{k}.html");
            std::fs::write(folder.join(&name), &attempt.page).expect("a file");
            let _ = writeln!(frames, "<iframe src=\"{name}\" width=900 height=300></iframe>");
        }
        let whole = folder.join(format!("all-{part}.html"));
        std::fs::write(&whole, AROUND.replace("FRAMES", &frames)).expect("a file");
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
            .args(["--virtual-time-budget=20000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("file://{}", whole.display()))
            .output()
            .ok()?;
        let dom = String::from_utf8_lossy(&output.stdout);
        let text = dom.split("<p id=\"found\">").nth(1).and_then(|rest| rest.split("</p>").next());
        let text = text.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let report: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
        let number = |value: &Value| value.as_u64().expect("a number") as usize;
        found.ran.extend(report["ran"].as_array().expect("a list").iter().map(number));
        let frames = report["frames"].as_array().expect("a list");
        assert_eq!(frames.len(), attempts.len());
        found.frames.extend(frames.iter().map(|frame| (number(&frame[0]), frame[1] == json!(true))));
    }
    Some(found)
}

/// Collects messages, and looks into the frames a while after all of them are loaded.
const AROUND: &str = r#"<!DOCTYPE html>
<meta charset="utf-8">
<script>
const ran = [];
window.addEventListener('message', event => ran.push(event.data));
const read = frame => {
  const page = frame.contentDocument;
  try {
    JSON.parse(page.getElementById('receipt').textContent);
    return [page.querySelectorAll('*').length, true];
  } catch {
    return [page.querySelectorAll('*').length, false];
  }
};
window.addEventListener('load', () => setTimeout(() => {
  const found = document.createElement('p');
  found.id = 'found';
  found.textContent = JSON.stringify({ ran, frames: [...document.querySelectorAll('iframe')].map(read) });
  document.body.append(found);
}, 3000));
</script>
<body>
FRAMES
</body>
"#;

/// Each attack is alive: where nothing is escaped, it runs. Without this the tests below could pass for any page.
#[test]
fn the_attacks_run_where_nothing_is_escaped() {
    let attempt = |(k, attack): (usize, &&str)| {
        let attack = attack.replace("RUN", &script(k));
        let page = format!(
            "<!DOCTYPE html><meta charset=\"utf-8\"><title>{attack}</title><body><p>{attack}</p>\
             <!-- {attack} --><svg aria-label=\"{attack}\"><text>{attack}</text></svg><svg aria-label='{attack}'></svg>\
             <style>{attack}</style><script type=\"application/json\">\"{attack}\"</script>"
        );
        // Templates are run by the program, not by the browser.
        let page = page.replace("{{ \"", "").replace("\"|safe }}", "").replace("{% autoescape false %}", "");
        Attempt { what: attack, page }
    };
    let attempts: Vec<Attempt> = ATTACKS.iter().enumerate().map(attempt).collect();
    let folder = tempfile::tempdir().unwrap();
    let Some(found) = open(folder.path(), &attempts) else {
        eprintln!("skipped: chromium is not here");
        return;
    };
    for (k, attempt) in attempts.iter().enumerate() {
        assert!(found.ran.contains(&k), "it never runs: {}", attempt.what);
    }
}

/// The policy of the page as it is, or nothing: then escaping alone must hold.
pub(crate) fn without_policy(page: &str) -> String {
    let start = page.find("<meta http-equiv=\"Content-Security-Policy\"").expect("a policy");
    let end = start + page[start..].find('>').expect("the end of the tag") + 1;
    format!("{}{}", &page[..start], &page[end..])
}

/// Pages of a model with each attack in each place, or how many were refused.
fn pages(model: &ModelFile, places: &[&str], texts: &[String]) -> (Vec<Attempt>, usize) {
    let (mut attempts, mut refused) = (Vec::new(), 0);
    for place in places {
        for text in texts {
            let page =
                forge(model, place, json!(text)).and_then(|file| reticent_cli::report_model(file).ok());
            match page {
                Some(page) => attempts.push(Attempt { what: format!("{place}: {text}"), page }),
                None => refused += 1,
            }
        }
    }
    (attempts, refused)
}

/// The defects: `projections`, `made`, `planned` and `width` were not escaped at all, and a column named `<!--<script>` broke
/// the JSON at the end of the page. Each attack in each text that a model file has, and in place of each number.
#[test]
fn no_script_of_a_forged_model_runs() {
    let case = Case::new(300);
    let model = model(&case);
    let attack = |attack: &&str| attack.replace("RUN", &script(0));
    let texts: Vec<String> = ATTACKS.iter().chain(&BREAKS).map(attack).collect();
    let whole = reticent_cli::report_model(model.clone()).unwrap();
    let mut attempts = vec![Attempt { what: "nothing".to_owned(), page: without_policy(&whole) }];

    let places: Vec<&str> = TEXTS.into_iter().chain(HIDDEN_TEXTS).collect();
    let (pages_of_texts, _) = pages(&model, &places, &texts);
    let (pages_of_numbers, refused) = pages(&model, &NUMBERS, &texts);
    assert_eq!(pages_of_numbers.len(), 0, "{}", pages_of_numbers[0].what);
    assert!(pages_of_texts.len() >= 500 && refused >= 50, "{} and {refused}", pages_of_texts.len());
    // With the policy one attack for each place is enough: it is about the policy, not about the texts.
    let mut by_place: BTreeMap<&str, &Attempt> = BTreeMap::new();
    for attempt in &pages_of_texts {
        by_place.entry(attempt.what.split(':').next().unwrap_or_default()).or_insert(attempt);
    }
    for attempt in by_place.into_values() {
        attempts
            .push(Attempt { what: format!("with the policy, {}", attempt.what), page: attempt.page.clone() });
    }
    for Attempt { what, page } in pages_of_texts {
        attempts.push(Attempt { what, page: without_policy(&page) });
    }

    let folder = tempfile::tempdir().unwrap();
    let Some(found) = open(folder.path(), &attempts) else {
        eprintln!("skipped: chromium is not here");
        return;
    };
    assert_eq!(found.ran.len(), 0, "scripts ran");
    let (elements, _) = found.frames[0];
    for (attempt, (count, has_json)) in attempts.iter().zip(&found.frames) {
        // A page with the policy has one tag more.
        let policy = usize::from(attempt.page.contains("http-equiv"));
        assert_eq!(*count, elements + policy, "other elements: {}", attempt.what);
        assert!(has_json, "its JSON cannot be read: {}", attempt.what);
    }
    eprintln!("{} pages, {refused} files refused, 0 scripts ran", attempts.len());
}

/// The second line of defence: what a template forgot to escape still does not run. The attacks are put into the page behind
/// all escaping.
#[test]
fn the_policy_stops_what_is_not_escaped() {
    let case = Case::new(300);
    let page = reticent_cli::report_model(model(&case)).unwrap();
    let attempts = |page: &str| -> Vec<Attempt> {
        let attempt = |(k, attack): (usize, &&str)| {
            let attack = attack.replace("RUN", &script(k));
            Attempt { page: page.replacen("</h1>", &format!("{attack}</h1>"), 1), what: attack }
        };
        ATTACKS.iter().enumerate().map(attempt).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    let Some(found) = open(folder.path(), &attempts(&page)) else {
        eprintln!("skipped: chromium is not here");
        return;
    };
    assert!(found.ran.is_empty(), "{:?}", found.ran);
    // Without the policy most of them run there, so it is the policy that stops them.
    let found = open(folder.path(), &attempts(&without_policy(&page))).expect("a browser");
    assert!(found.ran.len() > ATTACKS.len() / 2, "{:?}", found.ran);
}
