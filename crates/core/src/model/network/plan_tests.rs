use super::Networks;
use crate::budget::{Adjacency, Privacy};
use crate::model::{Model, TableShape, Target};

/// Simulated 95 % intervals of two classes covered between 27 and 100 % of true scores, and less at larger budgets.
#[test]
fn private_networks_of_two_classes_are_refused() {
    let privacy = Privacy::new(3.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let table = TableShape::new(vec![1, 1], Target::TwoClasses, 1000);
    let networks: &dyn Model = &Networks;
    let refused = networks.plan(&table, Some(&privacy)).err().unwrap().to_string();
    assert!(refused.contains("`logistic` or `probit`"), "{refused}");
    // A plan from a version that allowed them.
    let plan = serde_json::json!({ "classes": { "inputs": 2, "hidden": [10], "sep": {} } });
    assert!(networks.read_plan(&table, &plan).is_err());
    // The plan without privacy is refused too.
    let plan = networks.plan(&table, None).unwrap();
    let refused = plan.check_privacy(Some(&privacy)).unwrap_err().to_string();
    assert!(refused.contains("`logistic` or `probit`"), "{refused}");
    assert!(networks.plan(&TableShape::new(vec![1, 1], Target::Number, 1000), Some(&privacy)).is_ok());
}
