//! Records that are read again in each pass.

use std::ops::ControlFlow;

use arrow_array::{Float64Array, StringArray};
use reticent_tables::{Column, Encoder, Kind, Rows, Schema, Source, Stream};

use crate::tables::{array, folder, write_csv, write_parquet};

const COUNT: usize = 20_000;

fn schema() -> Schema {
    let levels = Kind::Categorical { levels: vec!["a".into(), "b".into()], unknown: None, missing: None };
    let columns =
        vec![Column::numeric("x", 0.0, 10.0).expect("bounds"), Column::new("level", levels).expect("levels")];
    Schema::new(None, columns).expect("a schema")
}

fn streamed(encoder: &Encoder, source: &Source) -> Stream {
    match encoder.rows(source, 1000).expect("rows") {
        Rows::Streamed(stream) => stream,
        Rows::Kept(_) => panic!("they are too many to be kept"),
    }
}

pub(crate) fn pass(stream: &Stream) -> Vec<f64> {
    let mut values = Vec::new();
    stream.pass(&mut |rows| {
        values.extend_from_slice(rows);
        ControlFlow::Continue(())
    });
    values
}

#[test]
fn a_pass_gives_what_a_table_holds() {
    let folder = folder();
    let x = Float64Array::from_iter_values((0..COUNT).map(|k| (k % 997) as f64 / 90.0));
    let level = StringArray::from_iter_values((0..COUNT).map(|k| if k % 3 == 0 { "a" } else { "b" }));
    let mut text = "x,level\n".to_owned();
    (0..COUNT).for_each(|k| text += &format!("{},{}\n", k % 11, if k % 5 == 0 { "a" } else { "b" }));
    let files = [
        write_parquet(&folder, "t.parquet", vec![("x", array(x)), ("level", array(level))]),
        write_csv(&folder, "t.csv", &text),
    ];
    let encoder = Encoder::new(&schema()).expect("bounds");
    for file in files {
        let source = Source::open(&file).expect("a file");
        let all = encoder.read(&source).expect("rows").into_values();
        let rows = encoder.rows(&source, all.len() - 1).expect("rows");
        assert_eq!((rows.count(), rows.width()), (COUNT, 3));
        let Rows::Streamed(stream) = rows else { panic!("one number too many to be kept") };
        for _ in 0..2 {
            assert!(pass(&stream) == all, "each pass gives all rows");
        }
        let wanted = [0, 1, 7, COUNT / 2, COUNT - 1, COUNT + 5];
        let some: Vec<f64> = wanted[..5].iter().flat_map(|row| all[3 * row..][..3].to_vec()).collect();
        assert!(stream.some(&wanted, &mut || false) == some && stream.some(&[], &mut || false).is_empty());
        let Rows::Kept(table) = encoder.rows(&source, all.len()).expect("rows") else {
            panic!("they can be kept")
        };
        assert!(table.into_values() == all);
    }
}

/// If a file changes between two passes, a record that has changed has another code, and the others are what they were.
#[test]
fn a_record_that_changes_does_nothing_to_others() {
    let folder = folder();
    let text = |odd: &str| {
        let mut text = "x,level\n".to_owned();
        (0..COUNT).for_each(|k| text += &if k == 7_777 { format!("{odd}\n") } else { "5,b\n".to_owned() });
        text
    };
    let file = write_csv(&folder, "t.csv", &text("5,b"));
    let (encoder, source) = (Encoder::new(&schema()).expect("bounds"), Source::open(&file).expect("a file"));
    let stream = streamed(&encoder, &source);
    let before = pass(&stream);
    for (odd, row) in [("10,SECRETVALUE", [1.0, 1.0, 0.0]), ("", [0.0, 1.0, 0.0]), ("\"0,b", [0.0, 1.0, 0.0])]
    {
        write_csv(&folder, "t.csv", &text(odd));
        assert_eq!(encoder.rows(&source, 1000).expect("no value is an error").count(), COUNT);
        let mut expected = before.clone();
        expected[3 * 7_777..][..3].copy_from_slice(&row);
        assert!(pass(&stream) == expected, "{odd:?}");
    }
    // A file that is gone is no message in the middle of a run.
    std::fs::remove_file(&file).expect("it was there");
    assert!(pass(&stream).is_empty());
}
