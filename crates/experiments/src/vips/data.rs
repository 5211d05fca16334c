//! Documents of an encyclopedia as bags of words, and images of digits.

use crate::error::ExperimentError;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use reticent_core::model::topics::{Document, Layout};
use reticent_core::wall::{Records, WallError};
use reticent_tables::{Column, Encoder, Schema, Source};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Documents in a block of a stream.
const BLOCK: usize = 1 << 14;

fn find(folder: &Path, file: &'static str) -> Result<PathBuf, ExperimentError> {
    let path = folder.join(file);
    if path.is_file() {
        Ok(path)
    } else {
        Err(ExperimentError::NoData { file: file.into(), folder: folder.to_owned() })
    }
}

/// Documents over a public vocabulary.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    /// The vocabulary.
    pub words: Vec<String>,
    /// Words and counts of each document.
    pub documents: Arc<[Vec<(u32, u32)>]>,
}

impl Corpus {
    /// Reads `wiki_bow.parquet`, whose rows are document, word and count, sorted by document, and `wiki_vocab.txt`; at most so many documents.
    ///
    /// # Errors
    /// [`ExperimentError`] if there are no such files.
    pub fn read(folder: &Path, most: usize) -> Result<Self, ExperimentError> {
        let vocabulary = find(folder, "wiki_vocab.txt")?;
        let text =
            std::fs::read_to_string(&vocabulary).map_err(|_| ExperimentError::Form { file: vocabulary })?;
        let words: Vec<String> = text.lines().map(str::to_owned).collect();
        let names = ["doc", "word", "count"].map(Column::unscaled).into_iter().collect::<Result<_, _>>()?;
        let schema = Schema::new(None, names)?;
        let encoder = Encoder::new(&schema)?;
        let source = Source::open(find(folder, "wiki_bow.parquet")?)?;
        let mut batches = encoder.stream(&source);
        let (mut documents, mut last) = (Vec::new(), -1.0);
        while let Some(batch) = batches.next_batch()? {
            for row in batch.rows() {
                if row[0] != last {
                    if documents.len() == most {
                        return Ok(Self { words, documents: documents.into() });
                    }
                    last = row[0];
                    documents.push(Vec::new());
                }
                if let Some(document) = documents.last_mut() {
                    document.push((row[1] as u32, row[2] as u32));
                }
            }
        }
        Ok(Self { words, documents: documents.into() })
    }

    /// The rows of the first documents, some at a time: there are never more of them in memory than a block.
    ///
    /// # Errors
    /// None in practice: rows are as wide as the table.
    pub fn stream(&self, documents: usize, layout: Layout) -> Result<Records, WallError> {
        let (words, width) = (self.words.len(), layout.width(self.words.len()));
        let corpus = Arc::clone(&self.documents);
        let pass = move |wanted: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
            let count = wanted.map_or(documents.min(corpus.len()), <[usize]>::len);
            let mut rows = Vec::new();
            for first in (0..count).step_by(BLOCK) {
                let block = first..count.min(first + BLOCK);
                rows.clear();
                rows.resize(block.len() * width, 0.0);
                for (row, k) in rows.chunks_exact_mut(width).zip(block) {
                    layout.write(&corpus[wanted.map_or(k, |wanted| wanted[k])], words, row);
                }
                if each(&rows).is_break() {
                    return;
                }
            }
        };
        Records::streamed(documents, width, Box::new(pass))
    }

    /// The documents after the first, in full.
    #[must_use]
    pub fn held_out(&self, after: usize) -> Vec<Document> {
        let one = |document: &Vec<(u32, u32)>| Document {
            words: document.iter().map(|(word, _)| *word as usize).collect(),
            counts: document.iter().map(|(_, count)| *count as f32).collect(),
        };
        self.documents.iter().skip(after).map(one).collect()
    }
}

/// Binary images.
#[derive(Debug, Clone, PartialEq)]
pub struct Images {
    /// Pixels of an image.
    pub pixels: usize,
    /// 1 and -1, image after image.
    pub values: Vec<f64>,
}

impl Images {
    /// Reads a file of MNIST, whose column `pixels` has the bytes of an image; what is not black is 1. At most so many images.
    ///
    /// # Errors
    /// [`ExperimentError`] if there is no such file.
    pub fn read(folder: &Path, file: &'static str, most: usize) -> Result<Self, ExperimentError> {
        let path = find(folder, file)?;
        let wrong = || ExperimentError::Form { file: path.clone() };
        let opened = File::open(&path).map_err(|_| wrong())?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|_| wrong())?;
        let (mut pixels, mut values) = (0, Vec::new());
        for batch in builder.build().map_err(|_| wrong())? {
            let batch = batch.map_err(|_| wrong())?;
            let column = batch.column_by_name("pixels").ok_or_else(wrong)?;
            let images = column.as_fixed_size_binary_opt().ok_or_else(wrong)?;
            pixels = images.value_length().max(1) as usize;
            for i in 0..images.len() {
                if values.len() / pixels == most {
                    return Ok(Self { pixels, values });
                }
                values.extend(images.value(i).iter().map(|byte| if *byte > 0 { 1.0 } else { -1.0 }));
            }
        }
        if values.is_empty() { Err(wrong()) } else { Ok(Self { pixels, values }) }
    }
}
