//! Model files with valid checksums, through `show` and `report`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reticent_tables::ModelFile;
use safetensors::SafeTensors;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::subjects::model_files;
use crate::{Dice, Reader, bytes, json as tree};

pub(super) const READER: Reader = Reader { name: "model_file", seeds: model_files, mutate, read };

/// A [safetensors](https://github.com/huggingface/safetensors) file in its parts: a header, with the texts about the model under
/// `__metadata__`, and the numbers.
struct Parts {
    header: Value,
    numbers: Vec<u8>,
}

const TEXTS: &str = "__metadata__";
const CHECKSUM: &str = "checksum";

impl Parts {
    fn of(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_at_checked(8)?;
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        let (header, numbers) = rest.split_at_checked(length)?;
        let header: Value = serde_json::from_slice(header).ok()?;
        header.is_object().then(|| Self { header, numbers: numbers.to_vec() })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let header = self.header.to_string();
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], header.as_bytes(), &self.numbers].concat()
    }
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let Some(mut parts) = Parts::of(bytes) else { return bytes::mutate(bytes, dice, &[]) };
    match dice.below(8) {
        0 => bytes::mutate_in_place(&mut parts.numbers, dice),
        1 => extreme_number(&mut parts.numbers, dice),
        2 => tree::mutate(&mut parts.header, dice),
        _ => mutate_text(&mut parts.header, dice),
    }
    *bytes = parts.to_bytes();
    bytes.truncate(4 * bytes::MAX_LENGTH);
}

/// Overwrites a number by one that is not finite or is extreme.
fn extreme_number(numbers: &mut [u8], dice: &mut Dice) {
    let extreme = *dice.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 5e-324, 0.0, -1.0]);
    let at = 8 * dice.below(numbers.len() / 8);
    numbers.iter_mut().skip(at).zip(extreme.to_le_bytes()).for_each(|(byte, new)| *byte = new);
}

/// Mutates a value in one of the texts, each of which is JSON.
fn mutate_text(header: &mut Value, dice: &mut Dice) {
    let texts = header.get_mut(TEXTS).and_then(Value::as_object_mut);
    let Some(texts) = texts.filter(|texts| !texts.is_empty()) else { return };
    let chosen = dice.below(texts.len());
    let Some(text) = texts.values_mut().nth(chosen) else { return };
    if let Some(mut value) = text.as_str().and_then(|text| serde_json::from_str(text).ok()) {
        tree::mutate(&mut value, dice);
        *text = Value::from(value.to_string());
    }
}

/// The file with a recomputed checksum: of all other texts, and of all arrays by name.
fn with_checksum(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut parts = Parts::of(bytes)?;
    let file = SafeTensors::deserialize(bytes).ok()?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
    let texts: BTreeMap<String, String> = metadata.metadata().clone()?.into_iter().collect();
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for (name, text) in texts.iter().filter(|(name, _)| *name != CHECKSUM) {
        part(name.as_bytes());
        part(text.as_bytes());
    }
    let arrays: BTreeMap<&str, _> = file.iter().collect();
    for (name, array) in arrays {
        part(name.as_bytes());
        part(array.dtype().to_string().as_bytes());
        part(&array.shape().iter().flat_map(|&size| (size as u64).to_le_bytes()).collect::<Vec<u8>>());
        part(array.data());
    }
    let checksum = hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    parts.header[TEXTS][CHECKSUM] = json!(checksum);
    Some(parts.to_bytes())
}

/// Whether it can be shown. Asserts that its texts are escaped on a terminal and in a page.
fn read(bytes: &[u8]) -> bool {
    let checksummed = with_checksum(bytes);
    let Ok(model) = ModelFile::from_bytes(checksummed.as_deref().unwrap_or(bytes)) else { return false };
    let again = model.to_bytes().and_then(|bytes| ModelFile::from_bytes(&bytes)).expect("it was just read");
    assert_eq!(again.header, model.header, "a model file is written as it was read");
    let shown = reticent_cli::show_model(model.clone());
    let page = reticent_cli::report_model(model);
    assert_eq!(shown.is_ok(), page.is_ok(), "what can be shown can be reported");
    let (Ok(shown), Ok(page)) = (shown, page) else { return false };
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!shown.contains(hidden), "no control characters are shown: {shown:?}");
    for markup in ["<script>hostile", "<img src=x", "<!--<script", "\u{1b}", "\u{202e}"] {
        assert!(!page.contains(markup), "{markup:?} is a part of the page");
    }
    assert!(page.matches("<script").count() <= 1, "the only script of a page is its data");
    true
}
