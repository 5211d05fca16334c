#![no_main]

use reticent::budget::{Adjacency, Privacy};
use reticent_models::{Facts, models};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).expect("these are numbers");
    for model in models() {
        for &target in model.targets() {
            let facts = Facts::new(vec![1, 3], target, 4000);
            if let Ok(planned) = model.read_plan(&facts, &plan["plan"]) {
                let _ = planned.price(&privacy);
            }
        }
    }
});
