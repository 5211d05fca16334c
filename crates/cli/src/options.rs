//! Options that `plan` and `fit` share.

use reticent::{Error, Fit, Privacy, PrivacyUnit, Schema};

use crate::event::Neighbours;
use crate::output::Failure;

/// Adjacency, settings of the model, private bounds and limits.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which data sets are neighbours.
    #[arg(long, value_enum, default_value = "replace")]
    pub(crate) adjacency: Neighbours,
    /// Protect all rows with the same value in this column together, such as those of one person, in place of single rows. The schema can state it as
    /// `privacy_unit`.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) privacy_unit: Option<String>,
    /// Of each privacy unit at most so many rows count, chosen by secret coins, in place of the mean of all its rows.
    #[arg(long, value_name = "K")]
    pub(crate) rows_per_unit: Option<usize>,
    /// The class of a target of two that is modelled: coefficients and odds ratios are those of this class. The schema can state it as
    /// `positive`; otherwise it is the second level, or true.
    #[arg(long, value_name = "CLASS")]
    pub(crate) positive: Option<String>,
    /// A setting of the model, such as components=3. `reticent models NAME` lists them with their ranges.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// The share of the budget for bounds that the schema leaves private.
    #[arg(long, value_name = "SHARE", default_value_t = reticent::DEFAULT_BOUNDS_SHARE, allow_negative_numbers = true)]
    pub(crate) bounds_share: f64,
    /// Allow a fit that would take more than 4.3 GB of memory, 30 minutes on one core or a file of 256 MB.
    #[arg(long)]
    pub(crate) allow_large: bool,
    /// Allow a delta of 1/N or more, at which a fit may publish whole records. The receipt states it.
    #[arg(long)]
    pub(crate) allow_large_delta: bool,
}

impl Options {
    /// What may be spent.
    pub(crate) fn privacy(&self, epsilon: f64, delta: f64) -> Result<Privacy, Failure> {
        let privacy = Privacy::new(epsilon, delta, self.adjacency.adjacency()).map_err(Error::from)?;
        Ok(if self.allow_large_delta { privacy.allow_large_delta() } else { privacy })
    }

    /// A fit with these options.
    pub(crate) fn over(&self, fit: Fit, schema: &Schema) -> Result<Fit, Failure> {
        let mut fit = fit.bounds_share(self.bounds_share);
        if self.privacy_unit.is_some() || self.rows_per_unit.is_some() {
            let stated = schema.privacy_unit();
            let column = self.privacy_unit.as_deref().or(stated.map(PrivacyUnit::column)).unwrap_or_default();
            let rows = self.rows_per_unit.or(stated.and_then(PrivacyUnit::rows));
            fit = fit.privacy_unit(PrivacyUnit::new(column, rows).map_err(Error::from)?)?;
        }
        if let Some(class) = &self.positive {
            fit = fit.positive(class)?;
        }
        for text in &self.set {
            let (name, value) = reticent::parse_setting(text)?;
            fit = fit.setting(name, value);
        }
        Ok(if self.allow_large { fit.allow_large() } else { fit })
    }
}
