//! Damaged or absurdly edited plan files: refused or used as they are, without a panic.

use std::sync::{Arc, Mutex};

use reticent_core::budget::{Adjacency, Ledger, LedgerError, Privacy, Request, Spent, Ticket};
use reticent_core::model::{Model, SettingKind, TableShape, models};
use reticent_core::wall::{NoiseSource, Records};
use serde_json::{Value, json};

/// Damaged plans of each model.
const EACH: usize = 200;
const RECORDS: usize = 5000;

/// Pseudorandom numbers, the same in every run.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// Refuses every reservation: a fit gets as far as the first release, and no farther.
struct Refusing(Arc<Mutex<usize>>);

impl Ledger for Refusing {
    fn name(&self) -> String {
        "refusing".into()
    }
    fn reserve(&mut self, _: &Request) -> Result<Ticket, LedgerError> {
        *self.0.lock().unwrap() += 1;
        Err(LedgerError::Refused("not today".into()))
    }
    fn start(&mut self, _: &Ticket) -> Result<(), LedgerError> {
        unreachable!("nothing is reserved")
    }
    fn settle(&mut self, _: Ticket, _: Spent<'_>) -> Result<(), LedgerError> {
        unreachable!("nothing is reserved")
    }
}

/// A table shape that the model can be privately planned for, with a plan; `None` if it cannot.
fn planned(model: &dyn Model, privacy: &Privacy) -> Option<(TableShape, Value)> {
    let columns = [&[1, 3][..], &[1, 1], &[3, 4, 2]];
    let kinds = columns
        .iter()
        .flat_map(|columns| model.declaration().targets.iter().map(move |target| (columns, *target)));
    kinds.into_iter().find_map(|(columns, target)| {
        let mut shape = TableShape::new(columns.to_vec(), target, RECORDS);
        for setting in model.declaration().settings.iter().filter(|setting| setting.default().is_none()) {
            let value = match setting.kind {
                SettingKind::Integer { .. } => 2u64.into(),
                _ => 0.2.into(),
            };
            shape.settings.insert(setting.name.into(), value);
        }
        let plan = model.plan(&shape, Some(privacy)).ok()?.to_json();
        Some((shape, plan))
    })
}

/// All uses of a plan before records are read: returns how many of the plans got that far.
fn use_plan(model: &dyn Model, shape: &TableShape, privacy: &Privacy, plan: &Value) -> usize {
    let Ok(planned) = model.read_plan(shape, plan) else { return 0 };
    let _ = planned.price(privacy.delta());
    let asked = Arc::default();
    let records = Records::streamed(RECORDS, shape.width(), Box::new(|_, _| ())).unwrap();
    let ledger = Box::new(Refusing(Arc::clone(&asked)));
    let fitted = planned.run(records, NoiseSource::from_os().unwrap(), Some(privacy), ledger);
    assert!(fitted.is_err_and(|error| !error.to_string().is_empty()), "it was refused");
    *asked.lock().unwrap()
}

/// A random value in a plan.
fn somewhere<'a>(value: &'a mut Value, rng: &mut TestRng) -> &'a mut Value {
    let inner = match value {
        Value::Object(entries) => entries.len(),
        Value::Array(entries) => entries.len(),
        _ => 0,
    };
    if inner == 0 {
        return value;
    }
    let chosen = rng.below(inner);
    match value {
        Value::Object(entries) => somewhere(entries.values_mut().nth(chosen).unwrap(), rng),
        Value::Array(entries) => somewhere(&mut entries[chosen], rng),
        other => other,
    }
}

/// Replaces one value by an invalid or extreme one.
fn edited(plan: &Value, rng: &mut TestRng) -> Value {
    let odd = [
        json!(0),
        json!(-1),
        json!(1e300),
        json!(-1e-300),
        json!(u64::MAX),
        json!(u64::MAX / 2),
        json!(1u64 << 40),
        json!(1e9),
        json!(0.5),
        json!(null),
        json!([]),
        json!({}),
        json!("text"),
        json!(true),
    ];
    let mut plan = plan.clone();
    *somewhere(&mut plan, rng) = odd[rng.below(odd.len())].clone();
    plan
}

/// Changes a few bytes of the text.
fn damaged(plan: &Value, rng: &mut TestRng) -> Option<Value> {
    let mut bytes = plan.to_string().into_bytes();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(bytes.len());
        match rng.below(3) {
            0 => bytes[at] = b"0123456789-.eE\"{}[],:n"[rng.below(22)],
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, b"0123456789"[rng.below(10)]),
        }
    }
    serde_json::from_slice(&bytes).ok()
}

#[test]
fn damaged_plans_are_refused_or_used_without_a_panic() {
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let mut rng = TestRng(1);
    let mut refused = Vec::new();
    for &model in models() {
        let Some((shape, plan)) = planned(model, &privacy) else {
            refused.push(model.name());
            continue;
        };
        let plan: Value = serde_json::from_str(&plan.to_string()).unwrap();
        assert_eq!(use_plan(model, &shape, &privacy, &plan), 1, "{}: the plan itself is fine", model.name());
        let mut used = 0;
        for _ in 0..EACH {
            used += use_plan(model, &shape, &privacy, &edited(&plan, &mut rng));
            used += damaged(&plan, &mut rng).map_or(0, |plan| use_plan(model, &shape, &privacy, &plan));
        }
        assert!(used < 2 * EACH, "{}: the damage is too gentle", model.name());
    }
    assert_eq!(refused, ["network-vi"], "no other model is without privacy");
}

/// The seeds of fuzzing: `fuzz/corpus` at the root.
#[test]
fn every_plan_of_the_corpus_is_handled() {
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/plan");
    let mut files = 0;
    for file in std::fs::read_dir(corpus).unwrap() {
        let plan: Value = serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        files += 1;
        for &model in models() {
            let Some((shape, _)) = planned(model, &privacy) else { continue };
            use_plan(model, &shape, &privacy, &plan["plan"]);
        }
    }
    assert!(files > 0);
}
