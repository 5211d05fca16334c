//! `foulds-fig1`, `foulds-fig2`, `foulds-are`, `foulds-coverage` and `naive-bayes`.

use crate::{failed, json, parsed, refused, stdout};

#[test]
fn noisy_statistics_are_compared_with_samples() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display();
    let text = stdout(&format!("foulds-fig1 --draws 3 --out {out}"));
    assert!(text.contains("temperature 2.773") && text.contains("simulated"), "{text}");
    assert!(std::fs::read_to_string(folder.path().join("foulds-fig1.svg")).unwrap().starts_with("<svg"));
    for name in ["foulds-fig2", "foulds-are"] {
        let run = format!("{name} --records 5,50 --repeats 20 --out {out}");
        let found = json(&run);
        assert_eq!(parsed(&folder.path().join(format!("{name}.json"))), found);
        assert_eq!(found["rows"].as_array().unwrap().len(), 2);
        let svg = std::fs::read_to_string(folder.path().join(format!("{name}.svg"))).unwrap();
        assert_eq!(svg.matches("<circle").count(), 10);
    }
    let found = json("foulds-coverage --sets 3 --records 20 --epsilon 1");
    assert_eq!(found["rows"].as_array().unwrap().len(), 3);
    refused("foulds-fig1 --truncation 0.7", "truncation");
    failed(&format!("naive-bayes --data {out}"), "adult.parquet");
}
