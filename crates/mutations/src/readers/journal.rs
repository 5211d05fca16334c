//! Journals of runs past their digests, into `fit --resume`.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::secrets::assert_without_secrets;
use crate::{Dice, Reader, bytes, json as tree, limit, scratch};

pub(super) const READER: Reader = Reader { name: "journal", seeds, mutate, read };

const MAGIC: &[u8] = b"reticent journal 3\n";

/// Of the records one has values that no message may contain.
const DATA: &str =
    "age,member,note\n30,true,x\n40,false,x\n50,yes,x\n60,no,x\n987654.321,SECRETVALUE,SECRETVALUE\n";
const SCHEMA: &str = r#"
target = { name = "age", kind = "numeric", bounds = [20, 70] }
features = [{ name = "member", kind = "boolean" }]
"#;
const COUNTED: &str = r#"features = [{ name = "member", kind = "boolean" }]"#;

/// Models that release little, with their schemas.
const MODELS: [(&str, &str); 2] = [("linear", SCHEMA), ("beta-bernoulli", COUNTED)];

/// A model's command, with its data in place.
fn command(model: &str) -> Vec<String> {
    let schema = MODELS.iter().find(|(name, _)| *name == model).map_or(SCHEMA, |(_, schema)| schema);
    let data = scratch::file("records.csv", DATA.repeat(8).as_bytes());
    let schema = scratch::file("schema.toml", schema.as_bytes());
    let path = |path: &Path| path.display().to_string();
    let mut command =
        ["fit", model, "--epsilon", "1", "--delta", "1e-4", "--quiet"].map(str::to_owned).to_vec();
    for (option, file) in [("--data", &data), ("--schema", &schema), ("--out", &scratch::path("t.reticent"))]
    {
        command.extend([option.to_owned(), path(file)]);
    }
    command
}

fn remove() {
    for name in ["t.reticent", "t.reticent.journal"] {
        let _ = std::fs::remove_file(scratch::path(name));
    }
}

/// Journals of runs whose model could not be written because of a limit on file sizes. The smaller the limit, the earlier they
/// fail.
fn seeds() -> Vec<Vec<u8>> {
    let left = |(model, _): &(&str, &str)| {
        let journal = |limit: u64| {
            remove();
            let run = limit::with_files_up_to(limit, || reticent_cli::run(command(model)));
            std::fs::read(scratch::path("t.reticent.journal")).ok().filter(|_| run.is_err())
        };
        (1..256)
            .rev()
            .find_map(|size| journal(256 * size))
            .expect("a limit between the journal and the model")
    };
    MODELS.iter().map(left).collect()
}

/// The frames of a journal, without their digests.
struct Frames {
    contents: Vec<Vec<u8>>,
    /// Bytes after the last complete frame.
    rest: Vec<u8>,
}

impl Frames {
    /// `None` without the magic bytes of a journal.
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut contents = Vec::new();
        while let Some((size, after)) = rest.split_first_chunk::<4>() {
            let size = u32::from_le_bytes(*size) as usize;
            let Some((frame, after)) = after.split_at_checked(size.saturating_add(4 + 32)) else { break };
            contents.push(frame[4..4 + size].to_vec());
            rest = after;
        }
        Some(Self { contents, rest: rest.to_vec() })
    }

    /// Encodes the frames with recomputed digests.
    fn to_bytes(&self) -> Vec<u8> {
        let hash = |parts: &[&[u8]]| {
            parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize()
        };
        let (mut bytes, mut digest) = (MAGIC.to_vec(), hash(&[MAGIC]));
        for content in &self.contents {
            let size = (content.len() as u32).to_le_bytes();
            bytes.extend([&size[..], &hash(&[&digest, &size])[..4], &content[..]].concat());
            digest = hash(&[&digest, &size, content]);
            bytes.extend_from_slice(&digest);
        }
        bytes.extend(&self.rest);
        bytes
    }

    /// The header, if it is JSON.
    fn header(&self) -> Option<Value> {
        serde_json::from_slice(self.contents.first()?).ok()
    }
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let Some(mut frames) = Frames::of(bytes) else { return bytes::mutate(bytes, dice, &[]) };
    let chosen = dice.below(frames.contents.len());
    match (dice.below(8), frames.header()) {
        (0, _) => return bytes::mutate(bytes, dice, &[MAGIC]),
        (1, Some(mut header)) => {
            tree::mutate(&mut header, dice);
            frames.contents[0] = header.to_string().into_bytes();
        }
        (2, _) if chosen > 0 => drop(frames.contents.remove(chosen)),
        (3, _) if chosen > 0 => frames.contents.insert(chosen, frames.contents[chosen].clone()),
        (4, _) => bytes::mutate(&mut frames.rest, dice, &[MAGIC]),
        // The releases, in place, so that later ones can still be parsed.
        (5 | 6, _) if chosen > 0 => bytes::mutate_in_place(&mut frames.contents[chosen], dice),
        _ if chosen > 0 => bytes::mutate(&mut frames.contents[chosen], dice, &[]),
        _ => frames.contents.truncate(1 + dice.below(frames.contents.len())),
    }
    *bytes = frames.to_bytes();
    bytes.truncate(bytes::MAX_LENGTH);
}

/// Whether a run can be resumed from it, unchanged or with recomputed digests.
fn read(bytes: &[u8]) -> bool {
    let frames = Frames::of(bytes).map(|mut frames| {
        if let Some(mut header) = frames.header().filter(|header| header["of"]["data"].is_string()) {
            // The folder differs between processes.
            header["of"]["data"] = json!(scratch::path("records.csv").display().to_string());
            frames.contents[0] = header.to_string().into_bytes();
        }
        frames
    });
    let model = frames
        .as_ref()
        .and_then(Frames::header)
        .and_then(|header| Some(header["of"]["plan"]["model"].as_str()?.to_owned()));
    let mut command = command(model.as_deref().unwrap_or("linear"));
    command.push("--resume".to_owned());
    let resumes = |journal: &[u8]| {
        remove();
        scratch::file("t.reticent.journal", journal);
        match reticent_cli::run(&command) {
            Ok(_) => true,
            Err(failure) => {
                assert_without_secrets(&failure.to_string());
                false
            }
        }
    };
    let unchanged = resumes(bytes);
    frames.is_some_and(|frames| resumes(&frames.to_bytes())) || unchanged
}
