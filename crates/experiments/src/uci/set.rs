//! Five regression data sets of the UCI and DELVE collections, what is publicly known about them, and their splits.

use crate::error::{ExperimentError, by_name};
use crate::numpy::RandomState;
use reticent_tables::{Column, Encoder, Schema, Source};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// Condition based maintenance of naval propulsion plants; the target is the decay of the compressor.
    Naval,
    /// The distance of the hand of a simulated robot arm from a point.
    Kin8nm,
    /// The output of a combined cycle power plant.
    Power,
    /// The quality of red wines.
    Wine,
    /// Physicochemical properties of protein tertiary structure.
    Protein,
}

/// Lower and upper bound of a column.
pub type Bounds = (f64, f64);

impl Set {
    /// All data sets, in the order of the paper.
    pub const ALL: [Self; 5] = [Self::Naval, Self::Kin8nm, Self::Power, Self::Wine, Self::Protein];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Naval => "naval",
            Self::Kin8nm => "kin8nm",
            Self::Power => "power",
            Self::Wine => "wine",
            Self::Protein => "protein",
        }
    }

    /// The name of its file, without the ending.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Naval => "uci_naval",
            Self::Kin8nm => "uci_kin8nm",
            Self::Power => "uci_power_plant",
            Self::Wine => "uci_wine_red",
            Self::Protein => "uci_protein",
        }
    }

    /// Hidden units in the paper.
    #[must_use]
    pub fn hidden(self) -> usize {
        if self == Self::Protein { 100 } else { 50 }
    }

    /// Public bounds of the inputs, and of the target, which is last.
    ///
    /// Inputs of kin8nm are joint angles. All others are the ranges of the data sets themselves, rounded outwards: these sets are
    /// public, and the ranges stand for the prior knowledge of a data owner. Columns that never change get a small interval
    /// about their value.
    #[must_use]
    pub fn bounds(self) -> &'static [Bounds] {
        match self {
            Self::Naval => &NAVAL,
            Self::Kin8nm => &KIN8NM,
            Self::Power => &POWER,
            Self::Wine => &WINE,
            Self::Protein => &PROTEIN,
        }
    }

    /// The number of inputs.
    #[must_use]
    pub fn inputs(self) -> usize {
        self.bounds().len() - 1
    }

    /// Reads its file, Parquet or CSV, in a folder: inputs `x0`, `x1`, ... and the target `y`, in their own units.
    ///
    /// # Errors
    /// [`ExperimentError`] if there is no such file, or if it has other columns.
    pub fn read(self, folder: &Path) -> Result<Data, ExperimentError> {
        let candidates = ["parquet", "csv"].map(|ending| folder.join(format!("{}.{ending}", self.file())));
        let Some(file) = candidates.into_iter().find(|file| file.is_file()) else {
            return Err(ExperimentError::NoData {
                file: format!("{}.parquet", self.file()),
                folder: folder.to_owned(),
            });
        };
        let names = (0..self.inputs()).map(|k| Column::unscaled(format!("x{k}")));
        let schema = Schema::new(Some(Column::unscaled("y")?), names.collect::<Result<_, _>>()?)?;
        let values = Encoder::new(&schema)?.read(&Source::open(file)?)?.into_values();
        Ok(Data { set: self, values })
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Set {
    type Err = ExperimentError;

    fn from_str(name: &str) -> Result<Self, ExperimentError> {
        by_name("data set", name, &Self::ALL, Self::name)
    }
}

/// Lever, speed, torque of shaft and generator, ..., and the decay, which the description has from 0.95 to 1.
const NAVAL: [Bounds; 17] = [
    (1.0, 10.0),
    (0.0, 30.0),
    (200.0, 73_000.0),
    (1300.0, 3600.0),
    (6500.0, 9800.0),
    (5.0, 650.0),
    (5.0, 650.0),
    (440.0, 1200.0),
    (287.0, 289.0),
    (540.0, 790.0),
    (1.0, 4.6),
    (0.99, 1.01),
    (5.8, 24.0),
    (1.01, 1.06),
    (0.0, 93.0),
    (0.06, 1.9),
    (0.95, 1.0),
];

/// Eight angles within a quarter of a turn.
const KIN8NM: [Bounds; 9] = {
    let angle = (-std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2);
    [angle, angle, angle, angle, angle, angle, angle, angle, (0.0, 1.5)]
};

/// Temperature, vacuum, pressure, humidity; megawatts.
const POWER: [Bounds; 5] = [(1.0, 38.0), (25.0, 82.0), (990.0, 1040.0), (25.0, 101.0), (420.0, 496.0)];

/// Acidities, sugar, chlorides, sulphur dioxide, density, pH, sulphates, alcohol; a score.
const WINE: [Bounds; 12] = [
    (4.0, 16.0),
    (0.1, 1.6),
    (0.0, 1.0),
    (0.5, 16.0),
    (0.01, 0.62),
    (0.0, 75.0),
    (0.0, 290.0),
    (0.99, 1.01),
    (2.7, 4.1),
    (0.3, 2.0),
    (8.0, 15.0),
    (3.0, 8.0),
];

/// Areas, shares, masses, distances; the deviation in angstrom.
const PROTEIN: [Bounds; 10] = [
    (2300.0, 41_000.0),
    (400.0, 16_000.0),
    (0.09, 0.58),
    (10.0, 370.0),
    (310_000.0, 5_500_000.0),
    (31.0, 600.0),
    (0.0, 110_000.0),
    (0.0, 350.0),
    (15.0, 56.0),
    (0.0, 21.0),
];

/// A data set that was read.
#[derive(Clone)]
pub struct Data {
    /// The data set.
    pub set: Set,
    /// Inputs and target, row by row.
    pub values: Vec<f64>,
}

/// Row numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Training rows.
    pub train: Vec<usize>,
    /// Test rows.
    pub test: Vec<usize>,
}

impl Data {
    /// Numbers in a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.set.inputs() + 1
    }

    /// Number of records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.values.len() / self.width()
    }

    /// A row.
    #[must_use]
    pub fn row(&self, n: usize) -> &[f64] {
        &self.values[n * self.width()..][..self.width()]
    }
}

/// The first splits of Hernandez-Lobato and Adams for this many records: one permutation each by NumPy's generator with seed 1, of
/// which nine tenths are for training.
#[must_use]
pub fn splits(records: usize, count: usize) -> Vec<Split> {
    let mut rng = RandomState::new(1);
    let train = (0.9 * records as f64).round() as usize;
    let split = |_| {
        let mut train_rows = rng.permutation(records);
        let test = train_rows.split_off(train);
        Split { train: train_rows, test }
    };
    (0..count).map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Folder of the data sets; tests that need them print a note when it is absent.
    #[allow(clippy::print_stderr, reason = "a test says when it skips")]
    fn folder() -> Option<PathBuf> {
        let folder = std::env::var_os("RETICENT_DATA").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
            PathBuf::from,
        );
        if !folder.is_dir() {
            eprintln!("skipped: the data sets are not here");
            return None;
        }
        Some(folder)
    }

    #[test]
    fn splits_are_the_published_ones() {
        let Some(folder) = folder() else { return };
        let source = Source::open(folder.join("uci_splits.parquet")).unwrap();
        let schema = Schema::from_data_assuming_public(&source, None).unwrap();
        let names = schema.encoded_names();
        let table = Encoder::new(&schema.unscaled()).unwrap().read(&source).unwrap();
        let place = |name: &str| {
            names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name}: {names:?}"))
        };
        let (split, row) = (place("split"), place("row"));
        for set in Set::ALL {
            let of_set = place(&format!("dataset={}", &set.file()[4..]));
            let published = |number: usize| -> Vec<usize> {
                let entries =
                    table.rows().filter(|entry| entry[of_set] == 1.0 && entry[split] == number as f64);
                entries.map(|entry| entry[row] as usize).collect()
            };
            let records = set.read(&folder).unwrap().records();
            for (number, Split { train, test }) in splits(records, 5).into_iter().enumerate() {
                // Training rows come first in the file, and both parts are in the published order.
                assert_eq!(published(number), [train, test].concat(), "{set} {number}");
            }
        }
    }

    /// Bounds hold all records, and are no wider than rounding makes them: a column fills more than half of its own, but for the
    /// constant ones.
    #[test]
    fn bounds_contain_the_data_and_are_not_wide() {
        let Some(folder) = folder() else { return };
        for set in Set::ALL {
            let data = set.read(&folder).unwrap();
            for (k, &(low, high)) in set.bounds().iter().enumerate() {
                let column = || (0..data.records()).map(|n| data.row(n)[k]);
                let (least, most) =
                    column().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
                assert!(low <= least && most <= high, "{set} x{k}");
                assert!(most - least > 0.5 * (high - low) || most == least, "{set} x{k}");
            }
        }
    }

    #[test]
    fn a_set_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let Err(error) = Set::Wine.read(folder.path()) else { panic!("there is no file") };
        assert!(error.to_string().contains("uci_wine_red.parquet"), "{error}");
    }
}
