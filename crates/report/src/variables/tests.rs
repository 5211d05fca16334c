//! Tables and drawings of variables, with names of forged files among them.

use super::*;

fn element(variable: &'static str, place: &[(&'static str, &str)], mean: f64) -> Summary {
    Summary {
        name: variable.into(),
        variable,
        place: place.iter().map(|(dimension, label)| (*dimension, (*label).to_owned())).collect(),
        unit: None,
        note: None,
        mean,
        sd: 0.02,
        records_sd: 0.01,
        privacy_sd: 0.017,
        quantiles: [-0.04, -0.013, 0.0, 0.013, 0.04].map(|x| mean + x),
        direction: None,
    }
}

const ATTACK: &str = "</title></svg><script>alert(1)</script>\u{202e}";

/// No drawing has markup of a name in it, or a hidden character.
fn is_harmless(svg: &Svg) -> bool {
    let text = svg.to_string();
    svg.is_safe() && !text.contains("<script") && !text.contains('\u{202e}') && text.contains("&lt;script")
}

#[test]
fn the_transition_matrix_is_shaded_by_probability() {
    let cell = |from, to, p| element("transition", &[("from", from), ("to", to)], p);
    let all = [cell("1", "1", 0.9), cell("1", "2", 0.1), cell("2", "1", 0.5), cell("2", "2", 0.5)];
    let table = shaded(&side(&all).unwrap()).unwrap();
    assert_eq!((table.across.as_str(), table.columns.clone()), ("to", vec!["1".to_owned(), "2".to_owned()]));
    let cells: Vec<(&str, &str)> =
        table.rows.iter().flat_map(|row| &row.cells).map(|cell| (cell.text.as_str(), cell.class)).collect();
    assert_eq!(cells, [("0.90", "h7"), ("0.10", "h1"), ("0.50", "h4"), ("0.50", "h4")]);
    assert_eq!(table.rows[0].cells[0].hover, "0.900, 95 % interval 0.860 to 0.940");
}

/// Numbers in units of their own are not shaded: their sizes cannot be compared.
#[test]
fn profiles_are_side_by_side_and_means_have_intervals() {
    let profile =
        |state, level, p| element("profile", &[("state", state), ("column", "risk"), ("level", level)], p);
    let all = [profile("1", "low", 0.8), profile("1", "high", 0.2), profile("2", "low", 0.3)];
    let table = shaded(&side(&all).unwrap()).unwrap();
    assert_eq!(
        table.rows.iter().map(|row| row.label.as_str()).collect::<Vec<_>>(),
        ["risk = low", "risk = high"]
    );
    assert_eq!(table.rows[1].cells[1].text, "", "there is no such element");
    let mean = |component, x| Summary {
        unit: Some("days".into()),
        ..element("mean", &[("component", component), ("column", "stay")], x)
    };
    let all = [mean("1", 3.0), mean("2", 9.0)];
    let table = shaded(&side(&all).unwrap()).unwrap();
    assert_eq!(
        (table.rows[0].cells[0].text.as_str(), table.rows[0].cells[0].class),
        ("3.000 (2.960 to 3.040)", "")
    );
    let correlation = [
        element("correlation", &[("column", "a"), ("with", "b")], -0.5),
        element("correlation", &[("column", "b"), ("with", "b")], 1.0),
    ];
    let table = shaded(&side(&correlation).unwrap()).unwrap();
    assert_eq!((table.rows[0].cells[0].class, table.rows[1].cells[0].class), ("n4", "h8"));
}

#[test]
fn shares_without_sides_are_dots() {
    let share = |level, p| element("share", &[("column", "work"), ("level", level)], p);
    let all = [share("State", 0.25), share(ATTACK, 0.75)];
    assert!(side(&all).is_none());
    let forest = dots(&all, "Share").unwrap();
    assert_eq!((forest.rows[0].label.as_str(), forest.rows[0].estimate.as_str()), ("work = State", "0.250"));
    assert!(is_harmless(&forest.rows[1].plot));
    let mut mixed = all.to_vec();
    mixed[0].unit = Some("kg".into());
    assert!(dots(&mixed, "Share").is_none(), "units differ");
    assert!(forest.has_intervals && forest.has_noise);
    let fixed: Vec<Summary> = all.iter().map(|share| Summary { sd: 0.0, ..share.clone() }).collect();
    assert!(dots(&fixed, "Share").is_none(), "there is nothing to compare");
}

#[test]
fn topics_show_their_most_probable_words() {
    let word = |topic, word: String, p| element("word_probability", &[("topic", topic), ("word", &word)], p);
    let mut all: Vec<Summary> = (0..20).map(|k| word("1", format!("w{k}"), 0.001 * f64::from(k))).collect();
    all.push(word("2", ATTACK.to_owned(), 0.5));
    let topics = top_words(&all);
    assert_eq!((topics.len(), topics[0].rows.len(), topics[0].name.as_str()), (2, TOP_WORDS, "topic 1"));
    assert_eq!(topics[0].rows[0].label, "w19");
    assert!(is_harmless(&topics[1].rows[0].plot));
}

#[test]
fn states_are_a_map_of_regions_and_times() {
    let cell = |region, time, state, p| {
        element("state_probability", &[("region", region), ("time", time), ("state", state)], p)
    };
    let all = [
        cell("north", "1", "1", 0.9),
        cell("north", "1", "2", 0.1),
        cell(ATTACK, "1", "1", 0.2),
        cell(ATTACK, "1", "2", 0.8),
    ];
    let (map, legend) = map_of_states(&all).unwrap();
    assert_eq!(legend, [("k0", "state 1".to_owned()), ("k1", "state 2".to_owned())]);
    assert!(is_harmless(&map));
    let text = map.to_string();
    assert!(text.contains("north, 1: state 1, 90 %") && text.contains("state 2, 80 %"), "{text}");
    assert!(text.contains("class=\"k0\"") && text.contains("class=\"k1\""), "{text}");
}

#[test]
fn forests_of_odds_ratios_have_their_null_at_1() {
    let row = reticent::TypicalEffect {
        label: ATTACK.to_owned(),
        change: "+20 years".to_owned(),
        estimate: 1.3,
        records: (1.25, 1.35),
        with_privacy: (1.1, 1.5),
        direction: Some(0.9999),
    };
    let forest = typical(&TypicalEffects { are_odds_ratios: true, rows: vec![row] }, "ill = yes", None);
    assert!(is_harmless(&forest.rows[0].plot) && forest.rows[0].plot.to_string().contains("class=\"null\""));
    assert_eq!(
        (forest.rows[0].estimate.as_str(), forest.rows[0].interval.as_str()),
        ("1.30", "1.10 to 1.50")
    );
    assert_eq!((forest.rows[0].detail.as_str(), forest.rows[0].direction.as_str()), ("+20 years", "> 0.999"));
    assert!(forest.axis.contains("logarithmic") && forest.caption.contains("ill = yes"));
}
