//! Parquet files.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};

use super::data;
use crate::{Dice, Reader, bytes};

pub(super) const READER: Reader =
    Reader { name: "parquet", seeds, mutate, read: |bytes| data::read(bytes, "t.parquet") };

/// Size of the footer: the length of the metadata and the magic bytes.
const FOOTER: usize = 8;

/// Metadata refers to pages by their position, and the end of the file to the metadata by its length. Most mutations keep both
/// consistent, since other files are refused at once.
fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let Some((pages, end)) = parts(bytes) else { return bytes::mutate(bytes, dice, &[]) };
    match dice.below(8) {
        0 => bytes::mutate(bytes, dice, &[]),
        1..=4 => {
            let mut metadata = bytes[pages..end].to_vec();
            bytes::mutate(&mut metadata, dice, &[]);
            bytes.truncate(pages);
            bytes.extend(&metadata);
            bytes.extend((metadata.len() as u32).to_le_bytes());
            bytes.extend(b"PAR1");
        }
        _ => bytes::mutate_in_place(&mut bytes[4..pages], dice),
    }
}

/// Offsets of the end of the pages and of the metadata.
fn parts(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.len().checked_sub(FOOTER)?;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().ok()?) as usize;
    let pages = end.checked_sub(length)?;
    (pages >= 4).then_some((pages, end))
}

const ROWS: i64 = 20;

fn rows() -> impl Iterator<Item = i64> {
    0..ROWS
}

fn income() -> ArrayRef {
    Arc::new(rows().map(|k| (k % 6 != 0).then_some(k as f64)).collect::<Float64Array>())
}

/// Common types.
fn common() -> Vec<(&'static str, ArrayRef)> {
    let levels = rows().map(|k| if k % 3 == 0 { "a" } else { "SECRETVALUE" });
    let notes = rows().map(|k| (k % 7 != 0).then_some("a word: SECRETVALUE"));
    vec![
        ("number", Arc::new(rows().map(|k| (k % 5 != 0).then_some(987_654.321)).collect::<Float64Array>())),
        ("count", Arc::new(Int64Array::from_iter_values(rows()))),
        ("flag", Arc::new(BooleanArray::from_iter(rows().map(|k| Some(k % 2 == 0))))),
        ("level", Arc::new(StringArray::from_iter_values(levels))),
        ("note", Arc::new(notes.collect::<StringArray>())),
        ("income", income()),
    ]
}

/// Uncommon types.
fn uncommon() -> Vec<(&'static str, ArrayRef)> {
    let decimals = Decimal128Array::from_iter_values(rows().map(|k| 987_654_321 + i128::from(k)));
    let levels: DictionaryArray<Int8Type> = rows().map(|k| (k % 4 != 0).then_some("SECRETVALUE")).collect();
    let notes = BinaryArray::from_iter_values(
        rows().map(|k| if k % 2 == 0 { &b"\xffSECRETVALUE"[..] } else { b"word" }),
    );
    vec![
        ("number", Arc::new(decimals.with_precision_and_scale(20, 3).expect("room for the digits"))),
        ("count", Arc::new(TimestampMicrosecondArray::from_iter_values(rows().map(|k| k * 987_654_321)))),
        ("flag", Arc::new(Int8Array::from_iter_values(rows().map(|k| k as i8)))),
        ("level", Arc::new(levels)),
        ("note", Arc::new(notes)),
        ("income", Arc::new(UInt64Array::from_iter_values(rows().map(|k| u64::MAX - k as u64)))),
    ]
}

/// Dates, single-precision numbers and lists.
fn nested() -> Vec<(&'static str, ArrayRef)> {
    let mut lists = ListBuilder::new(Int32Builder::new());
    for k in rows() {
        (0..k % 3).for_each(|item| lists.values().append_value(item as i32));
        lists.append(k % 5 != 0);
    }
    vec![
        ("number", Arc::new(lists.finish())),
        ("count", Arc::new(Float32Array::from_iter_values(rows().map(|k| k as f32)))),
        (
            "flag",
            Arc::new(StringArray::from_iter_values(
                rows().map(|k| ["yes", "no", "SECRETVALUE"][k as usize % 3]),
            )),
        ),
        ("level", Arc::new(Date32Array::from_iter_values(rows().map(|k| 9876 + k as i32)))),
        ("note", Arc::new(Float64Array::from_iter_values(rows().map(|_| 987_654.321)))),
        ("income", income()),
    ]
}

fn written(columns: Vec<(&str, ArrayRef)>, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("the columns have one length");
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build()))
        .expect("these types can be written");
    writer.write(&batch).expect("room");
    writer.close().expect("room");
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let properties = WriterProperties::builder;
    let delta = properties()
        .set_dictionary_enabled(false)
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_column_encoding("count".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("level".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_column_encoding("note".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
        .set_column_encoding("number".into(), Encoding::BYTE_STREAM_SPLIT);
    vec![
        written(common(), properties().set_compression(Compression::UNCOMPRESSED)),
        written(
            common(),
            properties().set_compression(Compression::SNAPPY).set_max_row_group_row_count(Some(7)),
        ),
        written(common(), properties().set_compression(Compression::ZSTD(ZstdLevel::default()))),
        written(common(), properties().set_compression(Compression::LZ4_RAW)),
        written(common(), properties().set_compression(Compression::GZIP(GzipLevel::default()))),
        written(common(), delta),
        written(uncommon(), properties().set_compression(Compression::UNCOMPRESSED)),
        written(nested(), properties().set_compression(Compression::UNCOMPRESSED)),
    ]
}
