//! The page in a real browser.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::process::Command;

use crate::fit::Case;
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

#[test]
fn a_browser_shows_the_page() {
    let case = Case::new(2000);
    let fit = format!(
        "{} --epsilon 1 --delta 1e-5 --test {}",
        case.fit("regression", "m"),
        case.path("people.csv")
    );
    stdout(&fit);
    let page = case.path("report.html");
    stdout(&format!("report {} --out {page}", case.path("m")));
    let text = std::fs::read_to_string(&page).unwrap();
    for word in
        ["Calibration", "prefers-color-scheme: dark", "@media print", "privacy noise", "id=\"receipt\""]
    {
        assert!(text.contains(word), "{word}");
    }
    assert!(!text.contains("http") && !text.contains(" src=") && !text.contains("NaN"));

    std::fs::write(&page, text.replace("</body>", &format!("{PROBE}</body>"))).unwrap();
    let browser = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", case.path("profile")))
        .arg(format!("file://{page}"))
        .output();
    let Ok(output) = browser else {
        eprintln!("skipped: chromium is not here");
        return;
    };
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!log.contains("CONSOLE"), "{log}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split("<p id=\"found\">").nth(1).and_then(|rest| rest.split("</p>").next());
    let found: Vec<&str> = found.unwrap_or_else(|| panic!("{log}")).split(' ').collect();
    // A bar of the budget, three columns, the parts of the variance and the calibration.
    assert_eq!((found[0], found[1]), ("6", "true"), "{found:?}");
    assert!(found[2].parse::<f64>().unwrap() <= 1.0, "{found:?}");
    assert_eq!(found[3], "0", "nothing is fetched: {found:?}");
}
