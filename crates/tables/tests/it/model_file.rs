//! Model files: exact, and never silently wrong.

use std::collections::HashMap;

use proptest::prelude::*;
use reticent_tables::{Array, Column, FORMAT_VERSION, Header, ModelFault, ModelFile, ModelFileError, Schema};
use safetensors::SafeTensors;
use serde_json::json;

use crate::tables::folder;

pub(crate) fn model() -> ModelFile {
    let schema = Schema::new(None, vec![Column::numeric("x", 0.1, 0.7).expect("bounds")]).expect("a schema");
    let mut model = ModelFile::new(Header {
        model: "linear".into(),
        family: "gaussian".into(),
        schema: Some(schema),
        bounds: json!([-1.0, 1.0]),
        plan: json!({"steps": 10, "noise multiplier": 0.1 + 0.2}),
        receipt: json!({"epsilon": 1.0}),
        card: json!("a card"),
    });
    let odd = vec![f64::NAN, -0.0, f64::MIN_POSITIVE / 8.0, f64::INFINITY, 0.1, -1e300];
    model.arrays.insert("mean".into(), Array::new(vec![2, 3], odd).expect("six values"));
    model.arrays.insert("none".into(), Array::new(vec![0], vec![]).expect("no values"));
    model
}

fn bits(model: &ModelFile) -> Vec<(String, Vec<usize>, Vec<u64>)> {
    let of = |array: &Array| array.values().iter().map(|value| value.to_bits()).collect();
    model.arrays.iter().map(|(name, array)| (name.clone(), array.shape().to_vec(), of(array))).collect()
}

#[test]
fn a_model_survives_its_file_to_the_last_bit() {
    let (folder, model) = (folder(), model());
    let file = folder.path().join("m.reticent");
    std::fs::write(&file, "an older file").expect("room");
    model.write(&file).expect("room");
    let read = ModelFile::read(&file).expect("our own file");
    assert_eq!(bits(&read), bits(&model));
    assert_eq!(read.header, model.header);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "no temporary file is left");
    assert!(matches!(
        model.write(folder.path().join("none/m.reticent")),
        Err(ModelFileError::Unwritable { .. })
    ));
}

#[test]
fn others_can_read_it() {
    let bytes = model().to_bytes().expect("an ordinary model");
    let (_, metadata) = SafeTensors::read_metadata(&bytes).expect("safetensors");
    let texts = metadata.metadata().clone().expect("texts");
    let receipt: serde_json::Value = serde_json::from_str(&texts["receipt"]).expect("JSON");
    assert_eq!(receipt["epsilon"], 1.0);
    let file = SafeTensors::deserialize(&bytes).expect("safetensors");
    assert_eq!(file.tensor("mean").expect("an array").shape(), [2, 3]);
}

/// The same arrays with other texts.
fn with_texts(change: impl FnOnce(&mut HashMap<String, String>)) -> Result<ModelFile, ModelFault> {
    let bytes = model().to_bytes().expect("an ordinary model");
    let (_, metadata) = SafeTensors::read_metadata(&bytes).expect("safetensors");
    let mut texts = metadata.metadata().clone().expect("texts");
    change(&mut texts);
    let file = SafeTensors::deserialize(&bytes).expect("safetensors");
    ModelFile::from_bytes(&safetensors::serialize(file.tensors(), Some(texts)).expect("safetensors"))
}

#[test]
fn newer_and_edited_files_are_refused() {
    assert!(with_texts(|_| ()).is_ok());
    let newer = with_texts(|texts| {
        texts.insert("reticent_format".into(), (FORMAT_VERSION + 1).to_string());
        texts.insert("something new".into(), "...".into());
    })
    .expect_err("newer");
    assert_eq!(newer, ModelFault::Newer { found: FORMAT_VERSION + 1, known: FORMAT_VERSION });
    assert!(newer.to_string().contains("use a newer program"));
    let edited = with_texts(|texts| drop(texts.insert("receipt".into(), "{\"epsilon\":0.1}".into())));
    assert_eq!(edited.expect_err("edited"), ModelFault::Checksum);
    let added = with_texts(|texts| drop(texts.insert("note".into(), "1".into())));
    assert_eq!(added.expect_err("added"), ModelFault::Checksum);
    assert_eq!(with_texts(|texts| drop(texts.remove("checksum"))).expect_err("none"), ModelFault::NotAModel);
    let stranger = safetensors::serialize(Vec::<(String, safetensors::tensor::TensorView<'_>)>::new(), None);
    assert_eq!(ModelFile::from_bytes(&stranger.expect("empty")).expect_err("strange"), ModelFault::NotAModel);
}

#[test]
fn a_checksum_is_that_of_the_documented_parts() {
    // The empty model by hand: texts in the order of their names, each part after its length.
    use sha2::{Digest, Sha256};
    let bytes = ModelFile::new(Header::default()).to_bytes().expect("an empty model");
    let (_, metadata) = SafeTensors::read_metadata(&bytes).expect("safetensors");
    let mut hash = Sha256::new();
    for (name, text) in [
        ("bounds", "null"),
        ("card", "null"),
        ("family", "\"\""),
        ("model", "\"\""),
        ("plan", "null"),
        ("receipt", "null"),
        ("reticent_format", "1"),
        ("schema", "null"),
    ] {
        for part in [name, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let expected: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(metadata.metadata().as_ref().expect("texts")["checksum"], expected);
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    let model = model();
    let bytes = model.to_bytes().expect("an ordinary model");
    for length in 0..bytes.len() {
        assert!(ModelFile::from_bytes(&bytes[..length]).is_err(), "cut to {length}");
    }
    for position in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1 << bit;
            // Some changes mean the same, such as a blank for another in the padding of the header.
            if let Ok(read) = ModelFile::from_bytes(&damaged) {
                assert_eq!(
                    (bits(&read), &read.header),
                    (bits(&model), &model.header),
                    "byte {position}, bit {bit}"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn any_array_survives(values in prop::collection::vec(any::<u64>().prop_map(f64::from_bits), 0..50), name in "\\PC{0,9}") {
        let mut model = ModelFile::new(Header::default());
        model.arrays.insert(name, Array::new(vec![values.len(), 1], values).expect("one column"));
        let read = ModelFile::from_bytes(&model.to_bytes().expect("an ordinary name")).expect("our own bytes");
        prop_assert_eq!(bits(&read), bits(&model));
    }
}
