//! Edited plans.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use reticent_core::budget::{Ledger, LedgerError, Request, Spent, Ticket};
use reticent_core::wall::{NoiseSource, Records};
use serde_json::Value;

use super::subjects::{Subject, privacy, subjects};
use crate::{Dice, Reader, bytes, json as tree};

pub(super) const READER: Reader = Reader { name: "plan", seeds, mutate, read };

/// Digits, signs and brackets.
const TOKENS: [&[u8]; 8] = [b"-", b"e9", b".", b"null", b"[]", b"{}", b"\"", b","];

/// The subject of a model.
fn subject(model: &str) -> Option<&'static Subject> {
    static SUBJECTS: OnceLock<Vec<Subject>> = OnceLock::new();
    SUBJECTS.get_or_init(subjects).iter().find(|subject| subject.model.name() == model)
}

fn seeds() -> Vec<Vec<u8>> {
    // The wall would refuse a plan without privacy.
    let private = subjects().into_iter().filter(Subject::is_private);
    private.map(|subject| subject.plan.to_string().into_bytes()).collect()
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut file) if file.is_object() && dice.below(4) != 0 => {
            // The name of another model is refused at once.
            let part = if dice.below(8) == 0 { "settings" } else { "plan" };
            tree::mutate(&mut file[part], dice);
            *bytes = file.to_string().into_bytes();
        }
        _ => bytes::mutate(bytes, dice, &TOKENS),
    }
    bytes.truncate(bytes::MAX_LENGTH);
}

/// Whether a fit with this plan would reach its first release.
fn read(bytes: &[u8]) -> bool {
    let Ok(file) = serde_json::from_slice::<Value>(bytes) else { return false };
    let Some(Subject { model, shape, .. }) = file["model"].as_str().and_then(subject) else {
        return false;
    };
    let mut shape = shape.clone();
    if let Some(settings) = file["settings"].as_object() {
        shape.settings = settings
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), serde_json::from_value(value.clone()).ok()?)))
            .collect();
    }
    let Ok(planned) = model.read_plan(&shape, &file["plan"]) else { return false };
    let Ok(outline) = planned.outline() else { return false };
    assert!(outline.releases.len() < 1 << 16, "an outline is short");
    let _ = planned.price(privacy().delta());
    let records = Records::streamed(shape.records, shape.width(), Box::new(|_, _| ())).expect("records");
    let noise = NoiseSource::from_os().expect("a source of noise");
    let requested = Arc::new(AtomicBool::new(false));
    let fitted = planned.run(records, noise, Some(&privacy()), Box::new(Refusing(Arc::clone(&requested))));
    assert!(fitted.is_err_and(|error| !error.to_string().is_empty()), "it was refused");
    requested.load(Ordering::Relaxed)
}

/// A ledger without budget, which stops a fit before its first release.
struct Refusing(Arc<AtomicBool>);

impl Ledger for Refusing {
    fn name(&self) -> String {
        "refusing".into()
    }
    fn reserve(&mut self, _: &Request) -> Result<Ticket, LedgerError> {
        self.0.store(true, Ordering::Relaxed);
        Err(LedgerError::Refused("no budget is left".into()))
    }
    fn start(&mut self, _: &Ticket) -> Result<(), LedgerError> {
        unreachable!("nothing is reserved")
    }
    fn settle(&mut self, _: Ticket, _: Spent<'_>) -> Result<(), LedgerError> {
        unreachable!("nothing is reserved")
    }
}
