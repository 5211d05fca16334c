//! The adult data set, encoded by what is publicly known about its columns.

use crate::error::ExperimentError;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use reticent_tables::{Encoder, Schema, Source};
use std::path::Path;

/// Columns with bounds and levels as the description of the data set has them. The survey weight is no predictor and is left out.
pub(super) const SCHEMA: &str = r#"
target = { name = "income", kind = "categorical", levels = ["<=50K", ">50K"] }
features = [
    { name = "age", kind = "numeric", bounds = [17, 90] },
    { name = "education-num", kind = "numeric", bounds = [1, 16] },
    { name = "capital-gain", kind = "numeric", bounds = [0, 100000] },
    { name = "capital-loss", kind = "numeric", bounds = [0, 5000] },
    { name = "hours-per-week", kind = "numeric", bounds = [1, 99] },
    { name = "workclass", kind = "categorical", levels = ["Federal-gov", "Local-gov", "Never-worked", "Private", "Self-emp-inc", "Self-emp-not-inc", "State-gov", "Without-pay"], missing = "?" },
    { name = "education", kind = "categorical", levels = ["10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th", "Assoc-acdm", "Assoc-voc", "Bachelors", "Doctorate", "HS-grad", "Masters", "Preschool", "Prof-school", "Some-college"], missing = "?" },
    { name = "marital-status", kind = "categorical", levels = ["Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married", "Separated", "Widowed"], missing = "?" },
    { name = "occupation", kind = "categorical", levels = ["Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales", "Tech-support", "Transport-moving"], missing = "?" },
    { name = "relationship", kind = "categorical", levels = ["Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"], missing = "?" },
    { name = "race", kind = "categorical", levels = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"], missing = "?" },
    { name = "sex", kind = "categorical", levels = ["Female", "Male"], missing = "?" },
    { name = "native-country", kind = "categorical", levels = ["Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic", "Ecuador", "El-Salvador", "England", "France", "Germany", "Greece", "Guatemala", "Haiti", "Holand-Netherlands", "Honduras", "Hong", "Hungary", "India", "Iran", "Ireland", "Italy", "Jamaica", "Japan", "Laos", "Mexico", "Nicaragua", "Outlying-US(Guam-USVI-etc)", "Peru", "Philippines", "Poland", "Portugal", "Puerto-Rico", "Scotland", "South", "Taiwan", "Thailand", "Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia"], missing = "?" },
]
"#;

/// Columns whose numbers are mostly 0 and reach far: their logarithms are used.
const SKEWED: [(usize, f64); 2] = [(2, 100_000.0), (3, 5_000.0)];

/// Complete records as rows of inputs between -1 and 1 and the class.
#[derive(Debug, Clone)]
pub struct Adult {
    /// Inputs of each column.
    pub columns: Vec<usize>,
    rows: Vec<Vec<f64>>,
}

/// Rows to learn from, and rows to test on, one after the other.
#[derive(Debug, Clone)]
pub struct Split {
    /// Training rows, four fifths of all.
    pub train: Vec<f64>,
    /// Number of training records.
    pub records: usize,
    /// Test rows.
    pub test: Vec<f64>,
}

impl Adult {
    /// Reads `adult.parquet` in a folder.
    ///
    /// # Errors
    /// [`ExperimentError`] if it is not there or is something else.
    pub fn read(folder: &Path) -> Result<Self, ExperimentError> {
        let file = folder.join("adult.parquet");
        if !file.exists() {
            return Err(ExperimentError::NoData { file: "adult.parquet".into(), folder: folder.to_owned() });
        }
        let schema = Schema::parse(SCHEMA)?;
        let table = Encoder::new(&schema)?.read(&Source::open(&file)?)?;
        let levels: Vec<usize> =
            schema.features().iter().map(|column| column.levels().len().max(1)).collect();
        // The last level of a column with levels is that of missing values.
        let mut rows = Vec::new();
        for row in table.rows() {
            let mut kept = Vec::with_capacity(row.len());
            let (mut first, mut complete) = (0, true);
            for &count in &levels {
                let column = &row[first..first + count];
                first += count;
                if count == 1 {
                    kept.push(column[0]);
                } else {
                    complete &= column[count - 1] == 0.0;
                    kept.extend_from_slice(&column[..count - 1]);
                }
            }
            if complete {
                for (k, high) in SKEWED {
                    kept[k] = 2.0 * (0.5 * (kept[k] + 1.0) * high).ln_1p() / high.ln_1p() - 1.0;
                }
                kept.push(row[first]);
                rows.push(kept);
            }
        }
        let columns = levels.into_iter().map(|count| if count == 1 { 1 } else { count - 1 }).collect();
        Ok(Self { columns, rows })
    }

    /// Inputs of a record.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.columns.iter().sum()
    }

    /// Complete records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.rows.len()
    }

    /// Four fifths for training in a random order, or `max_records` if that is less.
    #[must_use]
    pub fn split(&self, seed: u64, max_records: usize) -> Split {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let (train, test) = order.split_at(self.rows.len() * 4 / 5);
        let train = &train[..train.len().min(max_records)];
        let flat = |rows: &[usize]| rows.iter().flat_map(|&row| self.rows[row].iter().copied()).collect();
        Split { train: flat(train), records: train.len(), test: flat(test) }
    }
}
