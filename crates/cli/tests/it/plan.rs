use crate::{closed_pipe, failed, json, refused, stdout};

const MODEL: &str =
    "plan mixture --records 1000 --components 2 --dimension 2 --noise-sd 0.5 --prior-variance 10";

#[test]
fn a_plan_states_its_cost_and_reasons() {
    let text = stdout(&format!("{MODEL} --epsilon 1 --delta 1e-5"));
    for word in
        ["sketch", "clipped sites", "prior means zero", "replace-one", "(exact Gaussian composition)", "Why"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let cost = text.lines().find_map(|line| line.strip_prefix("Cost: epsilon ")).expect("a cost");
    let epsilon: f64 = cost.split(',').next().unwrap().parse().unwrap();
    assert!((0.999..=1.0).contains(&epsilon), "{cost}");
}

/// The library reads back what is printed, and prices it the same.
#[test]
fn the_json_is_a_plan() {
    let plan = json(&format!("{MODEL} --epsilon 2 --delta 1e-6 --adjacency add-remove"));
    let plan: reticent_core::model::mixture::MixturePlan = serde_json::from_value(plan).unwrap();
    assert_eq!((plan.records, plan.components, plan.dimension), (1000, 2, 2));
    let cost = plan.price().unwrap();
    assert_eq!(cost.adjacency, reticent_accounting::Adjacency::AddRemove);
    assert!(cost.epsilon.upper <= 2.0 && cost.epsilon.upper > 1.99);
}

#[test]
fn public_points_need_no_sketch() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("start.json");
    let run = format!("{MODEL} --epsilon 1 --delta 1e-5 --public-start {}", file.display());
    std::fs::write(&file, r#"{"means": [[0, 1], [2, 3]], "sd": 0.5}"#).unwrap();
    let text = stdout(&run);
    assert!(!text.contains("sketch") && text.contains("100 %") && text.contains("public points"), "{text}");
    assert_eq!(json(&run)["start"]["public"]["sd"], 0.5);
    std::fs::write(&file, r#"{"means": [[0, 1]], "sd": 0.5}"#).unwrap();
    refused(&run, "point for each component");
    std::fs::write(&file, "no JSON").unwrap();
    failed(&run, "start.json");
}

#[test]
fn what_is_no_plan_is_refused() {
    refused(&format!("{MODEL} --epsilon -1 --delta 1e-5"), "epsilon");
    refused(&format!("{MODEL} --epsilon 1 --delta 0"), "delta");
    refused(&format!("{MODEL} --epsilon 1 --delta 2"), "delta");
    refused(&format!("{MODEL} --epsilon 1 --delta 0.01"), "1000 records");
    refused(&format!("{} --epsilon 1 --delta 1e-5", MODEL.replace("0.5", "-0.5")), "--noise-sd");
    refused(
        &format!("{} --epsilon 1 --delta 1e-5", MODEL.replace("components 2", "components 0")),
        "--components",
    );
    failed(&format!("{MODEL} --epsilon 1 --delta 1e-5 --public-start absent.json"), "absent.json");
    refused("plan mixture --records 1000 --epsilon 1 --delta 1e-5", "--components");
    refused("plan regression --records 1000 --epsilon 1 --delta 1e-5", "--schema");
    refused("plan oracle --records 1000 --epsilon 1 --delta 1e-5", "no model");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_fine() {
    closed_pipe(&format!("{MODEL} --epsilon 1 --delta 1e-5"));
}
