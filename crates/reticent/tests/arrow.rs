//! Record batches through the library: the same fits, predictions and scores as from files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::arrow::ArrowWriter;
use reticent::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatchIterator, StringArray,
};
use reticent::arrow::{RecordBatch, RecordBatchReader};
use reticent::{
    Adjacency, Data, Error, ErrorKind, Fit, Fitted, Posterior, Predicted, Privacy, SavedModel, Schema, Source,
};

const ROWS: usize = 600;

fn schema(target: &str) -> Schema {
    let text = format!(
        r#"{target}
        features = [
            {{ name = "age", kind = "numeric", bounds = [18, 95], missing = "indicator" }},
            {{ name = "ward", kind = "categorical", levels = ["a", "b"], unknown = "other" }},
            {{ name = "emergency", kind = "boolean" }},
        ]"#
    );
    Schema::parse(&text).unwrap()
}

/// A schema for each model.
fn models() -> [(&'static str, Schema); 3] {
    [
        ("logistic", schema(r#"target = { name = "stays", kind = "boolean" }"#)),
        (
            "regression",
            schema(r#"target = { name = "days", kind = "numeric", bounds = [0, 40], unit = "days" }"#),
        ),
        ("naive-bayes", schema(r#"target = { name = "stays", kind = "boolean" }"#)),
    ]
}

/// Simulated patients: nobody is one.
fn patients() -> RecordBatch {
    let ages = (0..ROWS as i64).map(|n| (n % 17 != 0).then_some(18 + n * 7 % 80)).collect::<Int64Array>();
    let wards = (0..ROWS).map(|n| ["a", "b", "c"].get(n % 4).copied()).collect::<StringArray>();
    let emergency = (0..ROWS).map(|n| Some(n % 5 < 2)).collect::<BooleanArray>();
    let days = (0..ROWS).map(|n| Some((n * 7 % 80) as f64 / 3.0 + (n % 5) as f64)).collect::<Float64Array>();
    let stays = (0..ROWS).map(|n| (n % 31 != 0).then_some(n * 7 % 80 + n % 5 > 40)).collect::<BooleanArray>();
    RecordBatch::try_from_iter_with_nullable([
        ("days", Arc::new(days) as ArrayRef, true),
        ("emergency", Arc::new(emergency) as ArrayRef, true),
        ("stays", Arc::new(stays) as ArrayRef, true),
        ("ward", Arc::new(wards) as ArrayRef, true),
        ("age", Arc::new(ages) as ArrayRef, true),
    ])
    .unwrap()
}

/// The same patients as lines.
fn csv() -> String {
    let line = |n: usize| {
        let age = if n.is_multiple_of(17) { String::new() } else { (18 + n * 7 % 80).to_string() };
        let ward = ["a", "b", "c"].get(n % 4).copied().unwrap_or_default();
        let days = (n * 7 % 80) as f64 / 3.0 + (n % 5) as f64;
        let stays = if n.is_multiple_of(31) { String::new() } else { (n * 7 % 80 + n % 5 > 40).to_string() };
        format!("{age},{ward},{},{days},{stays}\n", n % 5 < 2)
    };
    (0..ROWS).map(line).fold("age,ward,emergency,days,stays\n".to_owned(), |text, line| text + &line)
}

struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let case = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::write(case.path("patients.csv"), csv()).unwrap();
        let file = std::fs::File::create(case.path("patients.parquet")).unwrap();
        let batch = patients();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same records, from everywhere that they can come from.
    fn data(&self) -> [(&'static str, Data); 5] {
        let parts =
            || [(0, 100), (100, 0), (100, 1), (101, ROWS - 101)].map(|(at, n)| patients().slice(at, n));
        let readers = Source::from_readers(move || {
            let batches = parts().map(Ok);
            Ok(Box::new(RecordBatchIterator::new(batches, patients().schema()))
                as Box<dyn RecordBatchReader + Send>)
        });
        [
            ("CSV", self.path("patients.csv").into()),
            ("Parquet", self.path("patients.parquet").into()),
            ("a batch", patients().into()),
            ("batches", parts().to_vec().into()),
            ("readers", readers.into()),
        ]
    }
}

/// Without noise, a fit is a function of the encoded rows.
fn baseline(model: &str, schema: &Schema, data: Data) -> Result<Fitted, Error> {
    Fit::new(model, schema)?.without_privacy().run(data)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_same_records_give_the_same_fit_from_everywhere() {
    let case = Case::new();
    for (model, schema) in models() {
        let first = baseline(model, &schema, case.path("patients.csv").into()).unwrap();
        let (expected, score) =
            (first.posterior().save().unwrap(), first.model().evaluate(patients()).unwrap());
        first.model().predict(case.path("patients.csv"), case.path("expected.csv")).unwrap();
        for (name, data) in case.data() {
            let fitted = baseline(model, &schema, data.clone()).unwrap();
            assert_eq!(fitted.posterior().save().unwrap(), expected, "{model}, {name}");
            assert_eq!(first.model().evaluate(data.clone()).unwrap(), score, "{model}, {name}");
            first.model().predict(data, case.path("found.csv")).unwrap();
            assert_eq!(text(&case.path("found.csv")), text(&case.path("expected.csv")), "{model}, {name}");
        }
    }
}

/// A batch of predictions has the columns of a file of them, but for the number of the row.
#[test]
fn predictions_of_a_batch_are_those_of_a_file() {
    let case = Case::new();
    for (model, schema) in models() {
        let fitted = baseline(model, &schema, patients().into()).unwrap();
        let predicted = fitted.model().predict_batch(&patients()).unwrap();
        let names = fitted.model().predict(case.path("patients.csv"), case.path("found.csv")).unwrap();
        let fields: Vec<String> =
            predicted.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(fields, names, "{model}");
        assert_eq!(predicted.num_rows(), ROWS);
        let file = text(&case.path("found.csv"));
        for (row, line) in file.lines().skip(1).enumerate() {
            let written: Vec<f64> = line.split(',').skip(1).map(|value| value.parse().unwrap()).collect();
            let value =
                |column: &ArrayRef| column.as_any().downcast_ref::<Float64Array>().unwrap().value(row);
            assert_eq!(predicted.columns().iter().map(value).collect::<Vec<_>>(), written, "{model}, {row}");
        }
        let lacking = patients().project(&[1, 3]).unwrap();
        let error = fitted.model().predict_batch(&lacking).unwrap_err();
        assert!(error.kind() == ErrorKind::Data && error.message().contains("\"age\""), "{error}");
    }
}

/// Many rows at once have the bits of one row at a time.
#[test]
fn a_block_of_rows_is_predicted_as_each_of_them() {
    for (model, schema) in models() {
        let fitted = baseline(model, &schema, patients().into()).unwrap();
        let width = fitted.model().middle().len();
        let rows: Vec<f64> = (0..50 * width).map(|k| (k * 37 % 100) as f64 / 50.0 - 1.0).collect();
        let probabilities = [0.05, 0.5, 0.95];
        let posterior = fitted.posterior();
        let alone: Vec<Predicted> =
            rows.chunks_exact(width).map(|row| posterior.predict_row(row, &probabilities)).collect();
        assert_eq!(posterior.predict(&rows, width, &probabilities), alone, "{model}");
        assert!(posterior.predict(&[], width, &probabilities).is_empty());
    }
}

/// A run that can be resumed must name its data, and batches have no name of their own.
#[test]
fn batches_of_a_run_with_a_model_file_are_named() {
    let case = Case::new();
    let (_, schema) = &models()[0];
    let fit = || {
        let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
        Fit::new("logistic", schema).unwrap().privacy(privacy)
    };
    fit().run(patients()).unwrap();
    let out = case.path("model.reticent");
    let error = fit().out(&out).run(patients()).err().expect("it has no name");
    assert_eq!(error.kind(), ErrorKind::Settings);
    assert!(error.hint().unwrap().contains("Data::named") && !out.exists(), "{error}");
    fit().out(&out).run(Data::from(patients()).named("ward 7")).unwrap();
    assert!(SavedModel::load(&out).unwrap().predict_batch(&patients()).is_ok());
}

#[test]
fn an_empty_data_set_is_refused_by_name() {
    let (model, schema) = &models()[0];
    let error = baseline(model, schema, Vec::<RecordBatch>::new().into()).err().expect("no records");
    assert!(error.message().starts_with("record batches: there are no records"), "{error}");
}

/// Models are used from several threads, such as those of a server.
#[test]
fn models_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Box<dyn Posterior>>();
    shared::<SavedModel>();
    shared::<Fitted>();
    shared::<Data>();
}
