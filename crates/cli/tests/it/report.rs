//! The page in a real browser.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::process::Command;

use crate::fit::{Case, people};
use crate::injection::without_policy;
use crate::stdout;

/// Measures every plot and reads the receipt, in the page itself; what it finds becomes the page's last paragraph.
const PROBE: &str = "<script>
window.addEventListener('load', () => {
  const plots = [...document.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect());
  const receipt = JSON.parse(document.getElementById('receipt').textContent);
  const found = document.createElement('p');
  found.id = 'found';
  found.textContent = [plots.length, plots.every(box => box.width > 50 && box.height > 20),
    receipt.receipt.guarantee.epsilon.upper, performance.getEntriesByType('resource').length].join(' ');
  document.body.append(found);
});
</script>";

/// What a browser makes of a page; nothing if there is no browser. It has nothing to complain about.
fn dom(case: &Case, page: &str) -> Option<String> {
    let browser = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", case.path("profile")))
        .arg(format!("file://{page}"))
        .output();
    let Ok(output) = browser else {
        eprintln!("skipped: chromium is not here");
        return None;
    };
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!log.contains("CONSOLE"), "{log}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_browser_shows_the_page() {
    let case = Case::new(2000);
    case.write("test.csv", &people(500));
    let fit = format!("{} --epsilon 1 --delta 1e-5", case.fit("regression", "m"));
    stdout(&format!("{fit} --test {}", case.path("test.csv")));
    let page = case.path("report.html");
    stdout(&format!("report {} --out {page} --scores {}", case.path("m"), case.path("m.scores.json")));
    let text = std::fs::read_to_string(&page).unwrap();
    for word in
        ["Calibration", "prefers-color-scheme: dark", "@media print", "privacy noise", "id=\"receipt\""]
    {
        assert!(text.contains(word), "{word}");
    }
    // Nothing is loaded from elsewhere: the one address is the name of a namespace.
    let text = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assert!(!text.contains("://") && !text.contains(" src=") && !text.contains("NaN"));

    // As it is: a style that the policy does not allow would be in the log.
    let Some(_) = dom(&case, &page) else { return };
    // The policy allows no script, so the probe is in a page without it.
    std::fs::write(&page, without_policy(&text).replace("</body>", &format!("{PROBE}</body>"))).unwrap();
    let Some(dom) = dom(&case, &page) else { return };
    let found = dom.split("<p id=\"found\">").nth(1).and_then(|rest| rest.split("</p>").next());
    let found: Vec<&str> = found.unwrap_or_else(|| panic!("{dom}")).split(' ').collect();
    // A bar of the budget, three columns, the parts of the variance and the calibration.
    assert_eq!((found[0], found[1]), ("6", "true"), "{found:?}");
    assert!(found[2].parse::<f64>().unwrap() <= 1.0, "{found:?}");
    assert_eq!(found[3], "0", "nothing is fetched: {found:?}");
}
