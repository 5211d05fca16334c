//! The page in a real browser.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::process::Command;

use crate::fit::{Case, SCHEMA, people};
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
    // Three effects of typical changes and their axis, three columns, the parts of the variance, the calibration and the budget.
    assert_eq!((found[0], found[1]), ("10", "true"), "{found:?}");
    assert!(found[2].parse::<f64>().unwrap() <= 1.0, "{found:?}");
    assert_eq!(found[3], "0", "nothing is fetched: {found:?}");
}

/// The rows of the forest of typical effects: the label, the change, the estimate and its interval.
fn forest(page: &str) -> Vec<[String; 4]> {
    let section =
        page.split("<h2>Effects of typical changes</h2>").nth(1).unwrap_or_else(|| panic!("{page}"));
    let section = section.split("</section>").next().unwrap();
    let between = |text: &str, start: &str, end: &str| {
        let rest = text.split_once(start).unwrap_or_else(|| panic!("{start} in {text}")).1;
        rest.split_once(end).unwrap().0.to_owned()
    };
    let rows = section.split("<tr role=\"row\">").skip(2).filter(|row| row.contains("class=\"number\""));
    rows.map(|row| {
        let mut numbers = row.split("<td role=\"cell\" class=\"number\">").skip(1);
        let mut number = || numbers.next().unwrap().split("</td>").next().unwrap().to_owned();
        assert!(
            row.contains("<svg ") && row.contains("role=\"img\"") && row.contains("aria-label="),
            "{row}"
        );
        [
            between(row, "scope=\"row\">", "<span"),
            between(row, "<span class=\"detail\">", "</span>"),
            number(),
            number(),
        ]
    })
    .collect()
}

fn page_of(case: &Case, model: &str) -> String {
    stdout(&format!("{} --epsilon 8 --delta 1e-5", case.fit(model, "m")));
    let page = case.path("report.html");
    stdout(&format!("report {} --out {page}", case.path("m")));
    std::fs::read_to_string(&page).unwrap()
}

/// Every coefficient has a row; income rises by 1/2 for each year, so by 6 for 12 years, which is round and near a quarter of the range.
#[test]
fn a_linear_model_has_a_forest_of_typical_effects() {
    let case = Case::new(4000);
    let page = page_of(&case, "linear");
    let rows = forest(&page);
    let labels: Vec<(&str, &str)> = rows.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    assert_eq!(
        labels,
        [("member = true", "against false"), ("age", "+12"), ("work = State", "against Private")],
        "the largest effect first"
    );
    for (row, expected) in rows.iter().zip([10.0, 6.0, 5.0]) {
        let ends: Vec<f64> = row[3].split(" to ").map(|end| end.parse().unwrap()).collect();
        let estimate: f64 = row[2].parse().unwrap();
        assert!(ends[0] < estimate && estimate < ends[1], "{row:?}");
        // An interval misses in one of 20 fits; three times its width is never missed.
        assert!((estimate - expected).abs() < 1.5 * (ends[1] - ends[0]), "{row:?}");
    }
    for text in [
        "A linear model of income in kUSD by 3 columns, fitted to 4000 records on 20",
        "<code>reticent fit linear --data DATA --schema SCHEMA --epsilon 8 --delta 1e-5 --out MODEL</code>",
        "difference (kUSD); 0 is no effect",
        "change of income (kUSD)",
        "at their released means",
        "against Private",
        "<h3>Coefficients of income</h3>",
        "95 % intervals of the change itself, not of the level",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // The level of the reference is on no side of itself.
    assert!(page.starts_with("<!DOCTYPE html>"), "{}", &page[..100]);
}

#[test]
fn a_logistic_model_names_its_positive_class() {
    let case = Case::new(4000);
    let target = "{ name = \"income\", kind = \"numeric\", bounds = [0, 100], unit = \"kUSD\" }";
    case.write("schema.toml", &SCHEMA.replace(target, "{ name = \"rich\", kind = \"boolean\" }"));
    let page = page_of(&case, "logistic");
    let rows = forest(&page);
    assert_eq!(rows.len(), 3, "{rows:?}");
    // All three make riches more likely, and clearly so.
    for row in &rows {
        assert!(row[2].parse::<f64>().unwrap() > 1.0, "{row:?}");
    }
    for text in [
        "A logistic model of rich (positive class: true, against false) by 3 columns",
        "odds ratio of rich = true for a typical change",
        "odds ratio, logarithmic scale; 1 is no effect",
        "<h3>Odds ratios of rich = true: for one unit more of a number, for a level against the reference</h3>",
        "change of the probability of rich = true (percentage points)",
    ] {
        assert!(page.contains(text), "{text}");
    }
}
