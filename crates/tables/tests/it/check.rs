//! What a schema does not allow is found, counted and located.

use arrow_array::{Float64Array, Int64Array, StringArray};
use reticent_tables::{Check, Delimiter, Schema, Source, Spots};

use crate::tables::{array, folder, write_csv, write_parquet};

const SCHEMA: &str = r#"
target = { name = "y", kind = "boolean" }
features = [
    { name = "age", kind = "numeric", bounds = [0, 100] },
    { name = "work", kind = "categorical", levels = ["A", "B"] },
    { name = "note", kind = "text", vocabulary = ["pain"] },
    { name = "gain", kind = "numeric", bounds = "private", within = [0, 10] },
]
"#;

fn check(text: &str) -> Check {
    let folder = folder();
    let source = Source::open(write_csv(&folder, "t.csv", text)).expect("a file");
    Check::new(&Schema::parse(SCHEMA).expect("a schema"), &source).expect("a file")
}

fn spots(first: &[u64]) -> Spots {
    Spots { count: first.len() as u64, first: first.to_vec() }
}

#[test]
fn everything_that_is_not_allowed_is_counted_with_its_line() {
    let found = check(
        "age,work,note,gain,y\n\
         5,A,pain,1,true\n\
         ,B,,11,no\n\
         old,C,x,2,maybe\n\
         \"5,A,x,1,true\n\
         200,,x,NaN,\n",
    );
    assert_eq!(found.records, 5);
    assert_eq!(found.malformed_lines, spots(&[5]));
    let column = |name: &str| found.columns.iter().find(|column| column.name == name).expect("a column");
    let age = column("age");
    assert_eq!((&age.missing, &age.malformed, &age.outside), (&spots(&[3]), &spots(&[4]), &spots(&[6])));
    assert_eq!((&column("work").unknown, &column("work").missing), (&spots(&[4]), &spots(&[6])));
    assert_eq!(column("note").missing, spots(&[3]));
    assert_eq!((&column("gain").outside, &column("gain").missing), (&spots(&[3]), &spots(&[6])));
    assert_eq!((&column("y").malformed, &column("y").missing), (&spots(&[4]), &spots(&[6])));
    assert_eq!(column("work").suggestions, ["unknown = \"other\"", "missing = \"level\""]);
    assert!(
        age.suggestions[0].contains("indicator") && age.suggestions[1].contains("not from these records")
    );
    assert!(found.columns.iter().all(|column| !column.absent && !column.constant && column.stored.is_none()));
}

#[test]
fn the_first_places_are_listed_and_all_are_counted() {
    let found = check(&("age,work,note,gain,y\n".to_owned() + &",A,pain,1,true\n".repeat(10_000)));
    assert_eq!(
        (found.columns[0].missing.count, &found.columns[0].missing.first[..]),
        (10_000, &[2, 3, 4, 5, 6][..])
    );
    assert!(found.columns.iter().all(|column| column.constant));
}

#[test]
fn a_wrong_layout_is_found() {
    assert_eq!(check("age;work;note;gain;y\n1;A;x;1;true\n").file.delimiter, Some(Delimiter::Semicolon));
    assert_eq!(check("age\twork\tnote\tgain\ty\n").file.delimiter, Some(Delimiter::Tab));
    let bare = check("5,A,pain,1,true\n6,B,pain,2,no\n");
    assert!(bare.file.no_header && bare.columns.iter().all(|column| column.absent), "{bare:?}");
    let right = check("age,work,note,gain,y\n");
    assert!(!right.file.no_header && right.file.delimiter.is_none() && !right.file.gzip);
    let lacking = check("age,work,note,gain\n5,A,pain,1\n");
    let absent: Vec<&str> =
        lacking.columns.iter().filter(|column| column.absent).map(|column| column.name.as_str()).collect();
    assert_eq!((absent, lacking.records), (vec!["y"], 1));

    let folder = folder();
    let file = folder.path().join("t.csv");
    std::fs::write(&file, b"\x1f\x8b\x08\x00some bytes").expect("room");
    let source = Source::open(&file).expect("a file");
    let zipped = Check::new(&Schema::parse(SCHEMA).expect("a schema"), &source).expect("a file");
    assert!(zipped.file.gzip && zipped.records == 0);
}

#[test]
fn stored_types_are_named() {
    let folder = folder();
    let columns = vec![
        ("age", array(StringArray::from(vec!["5", "x"]))),
        ("work", array(StringArray::from(vec!["A", "B"]))),
        ("note", array(Int64Array::from(vec![1, 2]))),
        ("gain", array(Float64Array::from(vec![None, Some(f64::NAN)]))),
        ("y", array(Int64Array::from(vec![1, 0]))),
    ];
    let source = Source::open(write_parquet(&folder, "t.parquet", columns)).expect("a file");
    let found = Check::new(&Schema::parse(SCHEMA).expect("a schema"), &source).expect("a file");
    assert_eq!((found.columns[0].stored, &found.columns[0].malformed), (Some("texts"), &spots(&[2])));
    assert_eq!((found.columns[3].stored, &found.columns[3].missing), (Some("numbers"), &spots(&[1, 2])));
    assert!(found.columns[3].constant && !found.columns[4].constant);
}

/// A target with a positive class is a column like any other here.
#[test]
fn a_positive_class_and_a_reference_are_no_obstacle() {
    let schema = SCHEMA
        .replace("kind = \"boolean\"", "kind = \"boolean\", positive = \"false\"")
        .replace("[\"A\", \"B\"]", "[\"A\", \"B\"], reference = \"B\"");
    let folder = folder();
    let source = Source::open(write_csv(
        &folder,
        "t.csv",
        "age,work,note,gain,y\n5,A,pain,1,true\n6,C,pain,2,maybe\n",
    ));
    let found =
        Check::new(&Schema::parse(&schema).expect("a schema"), &source.expect("a file")).expect("a file");
    assert_eq!(found.records, 2);
    let column = |name: &str| found.columns.iter().find(|column| column.name == name).expect("a column");
    assert_eq!((&column("work").unknown, &column("y").malformed), (&spots(&[3]), &spots(&[3])));
}
