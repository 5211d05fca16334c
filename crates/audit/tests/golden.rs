//! Released values and posteriors of every model under a fixed seed, compared with those of an earlier version.
//!
//! A change of structure must not change a released value. Values are compared with a tolerance: linear algebra may round differently,
//! and an encoded contribution may then be rounded to the next lattice point, far below the noise. `RETICENT_GOLDEN=write` replaces
//! `golden.json`, after a change that is meant to change values.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reticent_audit::case::{Case, canary_cases, cases};
use reticent_audit::library::{Mechanism, encode};
use reticent_core::budget::Privacy;
use serde_json::{Value, json};

/// Of a value, relative to the root mean square of its release or array.
const TOLERANCE: f64 = 1e-6;
const RECORDS: usize = 300;
const SEED: u64 = 20_261_118;
/// Numbers of each release and array that are kept, beside the root mean square of all.
const KEPT: usize = 4;

fn summary(values: &[f64]) -> Value {
    let square = values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64;
    let stride = values.len().div_ceil(KEPT).max(1);
    let some: Vec<f64> = values.iter().step_by(stride).copied().collect();
    json!({ "width": values.len(), "rms": square.sqrt(), "some": some })
}

/// First and last releases, and the arrays of the saved model.
fn results(case: &Case, privacy: Privacy) -> Value {
    let rows = encode(case, &case.ordinary(RECORDS)).unwrap();
    let mechanism = Mechanism::new(case, RECORDS, privacy).unwrap();
    let ended = mechanism.run_with_seed(&rows, usize::MAX, SEED).unwrap();
    let transcript = &ended.transcript;
    let ends: Vec<usize> = (0..transcript.len().min(2))
        .chain(transcript.len().saturating_sub(2).max(2)..transcript.len())
        .collect();
    let releases: Vec<Value> =
        ends.iter().map(|&k| json!([transcript[k].what, summary(&transcript[k].values)])).collect();
    let posterior = match ended.result {
        Some(Ok((fitted, _))) => {
            let saved = fitted.save().unwrap();
            let arrays = saved.arrays.iter().map(|(name, (_, values))| (name.clone(), summary(values)));
            json!(arrays.collect::<BTreeMap<String, Value>>())
        }
        Some(Err(_)) => json!("no posterior"),
        None => unreachable!("the fit is not stopped"),
    };
    json!({ "releases": transcript.len(), "ends": releases, "posterior": posterior })
}

/// Largest deviation of numbers; all else must be the same.
fn deviation(place: &str, now: &Value, then: &Value) -> f64 {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            assert!(now.keys().eq(then.keys()), "{place}: {now:?} and {then:?}");
            if let (Some(rms), Some(other)) = (then.get("rms"), now.get("rms")) {
                let (rms, other) = (rms.as_f64().unwrap(), other.as_f64().unwrap());
                assert_eq!(now["width"], then["width"], "{place}");
                let numbers = |value: &Value| -> Vec<f64> {
                    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
                };
                let some = numbers(&now["some"]).into_iter().zip(numbers(&then["some"]));
                let largest = some.map(|(now, then)| (now - then).abs()).fold((rms - other).abs(), f64::max);
                return largest / rms.max(1e-300);
            }
            now.iter()
                .map(|(key, now)| deviation(&format!("{place}.{key}"), now, &then[key]))
                .fold(0.0, f64::max)
        }
        (Value::Array(now), Value::Array(then)) => {
            assert_eq!(now.len(), then.len(), "{place}");
            now.iter().zip(then).map(|(now, then)| deviation(place, now, then)).fold(0.0, f64::max)
        }
        _ => {
            assert_eq!(now, then, "{place}");
            0.0
        }
    }
}

#[test]
fn released_values_are_unchanged() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden.json");
    let mut all = BTreeMap::new();
    for case in cases().iter().chain(&canary_cases()) {
        for &adjacency in case.adjacencies() {
            let privacy = Privacy::new(4.0, 1e-5, adjacency).unwrap();
            all.insert(format!("{}, {adjacency}", case.name), results(case, privacy));
        }
    }
    if std::env::var_os("RETICENT_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&file, format!("{:#}\n", json!(all))).unwrap();
        return;
    }
    let then: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let deviations = all.iter().map(|(name, now)| (name, deviation(name, now, &then[name])));
    let changed: Vec<String> = deviations
        .filter(|(_, deviation)| deviation.is_nan() || *deviation > TOLERANCE)
        .map(|(name, deviation)| format!("{name}: {deviation:e}"))
        .collect();
    assert!(changed.is_empty(), "{changed:#?}");
    assert_eq!(all.len(), then.as_object().unwrap().len());
}
