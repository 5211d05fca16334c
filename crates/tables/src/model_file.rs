//! A fitted model in one file.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use reticent_files::Access;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::schema::Schema;

/// The newest format that this version reads, and the one that it writes.
pub const FORMAT_VERSION: u64 = 1;

const FORMAT: &str = "reticent_format";
const CHECKSUM: &str = "checksum";

/// A fitted model in one [safetensors](https://github.com/huggingface/safetensors) file, which many tools read: arrays of
/// 64-bit numbers, and texts about them.
///
/// The texts are in the file's `__metadata__`, each of them JSON under the name of the [`Header`]'s field, beside
/// `reticent_format` and `checksum`. The checksum is the SHA-256 of all other texts and of all arrays, so that damage and
/// careless edits are noticed. It is **not a signature**: a deliberate change can recompute it.
///
/// ```
/// use reticent_tables::{Array, Header, ModelFile};
///
/// let header = Header { model: "linear".into(), family: "gaussian".into(), ..Header::default() };
/// let mut model = ModelFile::new(header);
/// model.arrays.insert("mean".into(), Array::new(vec![2], vec![0.5, -1.5])?);
/// assert_eq!(ModelFile::from_bytes(&model.to_bytes()?)?, model);
/// # Ok::<(), reticent_tables::ModelFault>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFile {
    /// What the arrays are.
    pub header: Header,
    /// The arrays, by name.
    pub arrays: BTreeMap<String, Array>,
}

/// What a model file holds beside its arrays. Parts that depend on the model are JSON, so that this crate does not depend on models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The model, as on the command line.
    pub model: String,
    /// The family of its posterior.
    pub family: String,
    /// How records are read and encoded.
    pub schema: Option<Schema>,
    /// Bounds on the encoded records that the fit relied on.
    pub bounds: Value,
    /// The plan that was carried out.
    pub plan: Value,
    /// What was spent, on what, and under which assumptions.
    pub receipt: Value,
    /// What the model is for, its scores on public records and its state.
    pub card: Value,
}

/// An array, its last index running fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Array {
    /// An array of these values.
    ///
    /// # Errors
    /// [`ModelFault::Shape`] if their number is not the product of the shape.
    pub fn new(shape: Vec<usize>, values: Vec<f64>) -> Result<Self, ModelFault> {
        let length = shape.iter().try_fold(1usize, |length, &size| length.checked_mul(size));
        if length == Some(values.len()) { Ok(Self { shape, values }) } else { Err(ModelFault::Shape) }
    }

    /// The length along each index.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All values, the last index running fastest.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// What is wrong with a model file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant and fields")]
pub enum ModelFault {
    #[error("not a model file, or cut short; hint: give a file that a fit has written")]
    NotAModel,
    #[error(
        "its format is version {found}, and this program reads up to version {known}; hint: use a newer program"
    )]
    Newer { found: u64, known: u64 },
    #[error(
        "its contents do not have the checksum that it states, so it is damaged or was edited; hint: take a fresh copy"
    )]
    Checksum,
    #[error("its checksum is right, but its header is not that of a model; hint: fit the model again")]
    Header,
    #[error("an array does not have as many values as its shape requires")]
    Shape,
    #[error("an array has a name that the format reserves")]
    Name,
}

/// Why a model file could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant and fields")]
pub enum ModelFileError {
    #[error("{}: cannot be read ({kind}); hint: check the path and its permissions", file.display())]
    Unreadable { file: PathBuf, kind: io::ErrorKind },
    #[error("{}: cannot be written ({kind}); hint: check that the folder exists and has room", file.display())]
    Unwritable { file: PathBuf, kind: io::ErrorKind },
    #[error("{}: {fault}", file.display())]
    Fault { file: PathBuf, fault: ModelFault },
}

impl ModelFile {
    /// A model without arrays yet.
    #[must_use]
    pub fn new(header: Header) -> Self {
        Self { header, arrays: BTreeMap::new() }
    }

    /// Writes the file; what was there before is replaced when the new one is complete. It is on the disk when this returns,
    /// and readable by its owner alone until that is changed: whether to publish it is a decision of its own.
    ///
    /// # Errors
    /// [`ModelFileError`] if that is not possible.
    pub fn write(&self, file: impl AsRef<Path>) -> Result<(), ModelFileError> {
        let file = file.as_ref();
        let bytes =
            self.to_bytes().map_err(|fault| ModelFileError::Fault { file: file.to_owned(), fault })?;
        reticent_files::write(file, Access::Owner, &bytes)
            .map_err(|error| ModelFileError::Unwritable { file: file.to_owned(), kind: error.kind() })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`ModelFileError`] if it is not a model file, a newer one, or damaged.
    pub fn read(file: impl AsRef<Path>) -> Result<Self, ModelFileError> {
        let file = file.as_ref();
        let bytes = std::fs::read(file)
            .map_err(|error| ModelFileError::Unreadable { file: file.to_owned(), kind: error.kind() })?;
        Self::from_bytes(&bytes).map_err(|fault| ModelFileError::Fault { file: file.to_owned(), fault })
    }

    /// The contents of the file.
    ///
    /// # Errors
    /// [`ModelFault::Name`] if an array is called what the format reserves.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelFault> {
        let (mut texts, data) = (self.texts()?, self.data());
        let tensors = self.tensors(&data)?;
        texts.insert(CHECKSUM.to_owned(), checksum(&texts, &tensors));
        safetensors::serialize(tensors, Some(texts.into_iter().collect())).map_err(|_| ModelFault::Shape)
    }

    /// The checksum of the file: what another file, such as one with scores, can name the model by.
    ///
    /// # Errors
    /// As for [`to_bytes`](Self::to_bytes).
    pub fn checksum(&self) -> Result<String, ModelFault> {
        Ok(checksum(&self.texts()?, &self.tensors(&self.data())?))
    }

    /// The texts of the file, but for the checksum.
    fn texts(&self) -> Result<BTreeMap<String, String>, ModelFault> {
        let Ok(Value::Object(header)) = serde_json::to_value(&self.header) else {
            return Err(ModelFault::Header);
        };
        let mut texts: BTreeMap<String, String> =
            header.into_iter().map(|(name, value)| (name, value.to_string())).collect();
        texts.insert(FORMAT.to_owned(), FORMAT_VERSION.to_string());
        Ok(texts)
    }

    /// The bytes of each array.
    fn data(&self) -> Vec<Vec<u8>> {
        let bytes = |array: &Array| array.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.arrays.values().map(bytes).collect()
    }

    fn tensors<'a>(&'a self, data: &'a [Vec<u8>]) -> Result<Vec<(&'a str, TensorView<'a>)>, ModelFault> {
        let tensor = |((name, array), data): ((&'a String, &'a Array), &'a Vec<u8>)| {
            if name == "__metadata__" {
                return Err(ModelFault::Name);
            }
            let view = TensorView::new(Dtype::F64, array.shape.clone(), data);
            Ok((name.as_str(), view.map_err(|_| ModelFault::Shape)?))
        };
        self.arrays.iter().zip(data).map(tensor).collect()
    }

    /// Reads the contents of a file.
    ///
    /// # Errors
    /// [`ModelFault`] if they are not those of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelFault> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|_| ModelFault::NotAModel)?;
        let texts: HashMap<String, String> = metadata.metadata().clone().ok_or(ModelFault::NotAModel)?;
        let mut texts: BTreeMap<String, String> = texts.into_iter().collect();
        // The version first: a newer format may mean something else by everything that follows.
        let found = texts.get(FORMAT).and_then(|text| text.parse().ok()).ok_or(ModelFault::NotAModel)?;
        if found > FORMAT_VERSION {
            return Err(ModelFault::Newer { found, known: FORMAT_VERSION });
        }
        let file = SafeTensors::deserialize(bytes).map_err(|_| ModelFault::NotAModel)?;
        let mut tensors: Vec<(&str, TensorView<'_>)> = file.iter().collect();
        tensors.sort_by_key(|&(name, _)| name);
        let stated = texts.remove(CHECKSUM).ok_or(ModelFault::NotAModel)?;
        if stated != checksum(&texts, &tensors) {
            return Err(ModelFault::Checksum);
        }
        texts.remove(FORMAT);
        let arrays = tensors.iter().map(|(name, view)| Ok(((*name).to_owned(), array(view)?)));
        Ok(Self { arrays: arrays.collect::<Result<_, _>>()?, header: header(texts)? })
    }
}

fn header(texts: BTreeMap<String, String>) -> Result<Header, ModelFault> {
    let fields: Result<serde_json::Map<String, Value>, serde_json::Error> =
        texts.into_iter().map(|(name, text)| Ok((name, serde_json::from_str(&text)?))).collect();
    let fields = fields.map_err(|_| ModelFault::Header)?;
    serde_json::from_value(Value::Object(fields)).map_err(|_| ModelFault::Header)
}

fn array(view: &TensorView<'_>) -> Result<Array, ModelFault> {
    if view.dtype() != Dtype::F64 {
        return Err(ModelFault::Header);
    }
    let (values, rest) = view.data().as_chunks();
    if !rest.is_empty() {
        return Err(ModelFault::Shape);
    }
    Array::new(view.shape().to_vec(), values.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

/// SHA-256 over texts and arrays in the order of their names. Each part is preceded by its length as 8 bytes, the lowest
/// first, so that nothing can move from one part to the next.
fn checksum(texts: &BTreeMap<String, String>, tensors: &[(&str, TensorView<'_>)]) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for (name, text) in texts {
        part(name.as_bytes());
        part(text.as_bytes());
    }
    for (name, view) in tensors {
        part(name.as_bytes());
        part(view.dtype().to_string().as_bytes());
        part(&view.shape().iter().flat_map(|&size| (size as u64).to_le_bytes()).collect::<Vec<u8>>());
        part(view.data());
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
