use std::fmt::Write as _;

use crate::fit::Case;
use crate::{json, stdout};

/// Reviews about food or about travel, never both.
fn reviews(count: usize) -> String {
    let mut text = "review\n".to_owned();
    for k in 0..count {
        let words = if k % 2 == 0 { "soup bread Cheese soup" } else { "train hotel beach, beach" };
        let _ = writeln!(text, "\"{words} {words}\"");
    }
    text
}

/// From texts to topics with names, and to the perplexity of other texts: below the six words there are.
#[test]
fn topics_of_texts() {
    let case = Case::new(1);
    case.write("people.csv", &reviews(2000));
    case.write("test.csv", &reviews(20));
    let words = r#"["soup", "bread", "cheese", "train", "hotel", "beach"]"#;
    let column = format!("{{ name = \"review\", kind = \"text\", vocabulary = {words} }}");
    case.write("schema.toml", &format!("features = [{column}]\n"));
    let fit = case.fit("topics", "topics.reticent");
    stdout(&format!("{fit} --epsilon 2 --delta 1e-6 --set topics=4"));
    let model = case.path("topics.reticent");
    let shown = stdout(&format!("show {model}"));
    // The words of a topic are in the order of their probabilities: where soup is among the first two, bread or cheese is beside it.
    let words = |topic: &str| -> Vec<String> {
        let lines = shown.lines().filter_map(|line| line.trim_start().strip_prefix(&format!("{topic}, ")));
        lines.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect()
    };
    let food =
        ["1", "2", "3", "4"].map(words).into_iter().find(|words| words.first().is_some_and(|w| w == "soup"));
    let food = food.unwrap_or_else(|| panic!("a topic about food: {shown}"));
    assert!(["bread", "cheese"].contains(&food[1].as_str()), "{shown}");
    let score = json(&format!("evaluate {model} --data {}", case.path("test.csv")));
    let perplexity = score["score"]["perplexity"].as_f64().unwrap();
    assert!((2.0..6.0).contains(&perplexity), "{perplexity}");
    let report = case.path("report.html");
    stdout(&format!("report {model} --out {report}"));
    assert!(std::fs::read_to_string(&report).unwrap().contains("soup"));
}

/// Six answers that agree: half of the time a guess is right, and a network knows better.
#[test]
fn belief_networks_of_answers() {
    let case = Case::new(1);
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut text = names.join(",") + "\n";
    (0..4000).for_each(|k| text += &([if k % 2 == 0 { "yes" } else { "no" }; 6].join(",") + "\n"));
    case.write("people.csv", &text);
    let columns = names.map(|name| format!("{{ name = \"{name}\", kind = \"boolean\" }}")).join(", ");
    case.write("schema.toml", &format!("features = [{columns}]\n"));
    let fit = case.fit("sigmoid-belief", "network.reticent");
    stdout(&format!("{fit} --epsilon 4 --delta 1e-6 --set units=2"));
    let model = case.path("network.reticent");
    assert!(stdout(&format!("show {model}")).contains("Unit bias"));
    let score = json(&format!("evaluate {model} --data {}", case.path("people.csv")));
    assert!(score["score"]["accuracy"].as_f64().unwrap() > 0.75, "{score}");
}
