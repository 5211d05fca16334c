//! Buying the bounds that a schema leaves private, as the first part of a fit.

use std::sync::{Arc, Mutex};

use reticent::bounds::{self, BoundsError, BoundsPlan, Grid};
use reticent::budget::{Ledger, LedgerError, Privacy, Request, Spent, Ticket};
use reticent::model::mixture::FitError;
use reticent::model::regression::RegressionError;
use reticent::receipt::{Entry, Kind};
use reticent::wall::{NoiseSource, Records, WallError};
use reticent_models::{Facts, Model, ModelError, Planned, Release};
use reticent_tables::{Encoder, Schema, Source};

use crate::data;
use crate::output::Failure;
use crate::watched::Watched;

/// The share of the budget that bounds get.
pub(crate) const SHARE: f64 = 0.1;
/// A fit that together with the bounds costs more than all gets so much less, and so often.
const LESS: f64 = 0.98;
const TRIALS: u32 = 20;

/// Bounds that are to be bought.
pub(crate) struct Purchase {
    /// The columns, as they are.
    from: Schema,
    plan: BoundsPlan,
}

impl Purchase {
    /// What a schema leaves to be bought; nothing if it states all bounds.
    pub(crate) fn new(
        schema: &Schema,
        records: usize,
        privacy: Option<&Privacy>,
        share: f64,
    ) -> Result<Option<Self>, Failure> {
        let Some(from) = schema.to_buy_bounds_from() else { return Ok(None) };
        let Some(privacy) = privacy else {
            let hint = "state `bounds = [low, high]`, or take them from the data with `reticent schema --assume-public`";
            return Err(Failure::usage("bounds cannot be bought without a privacy budget", hint));
        };
        let grids = schema.bounds_to_buy().map(|(_, (low, high))| Grid::new(low, high));
        let plan = BoundsPlan::new(grids.collect::<Result<_, _>>()?, records, privacy, share)?;
        Ok(Some(Self { from, plan }))
    }

    /// What a receipt will say of it.
    pub(crate) fn entry(&self) -> Entry {
        self.plan.entry()
    }

    /// The same for people.
    pub(crate) fn release(&self) -> Release {
        let Entry { what, width, planned: times, kind, .. } = self.entry();
        let noise_multiplier = match kind {
            Kind::Sum { noise_multiplier, .. } => noise_multiplier,
            Kind::Draw { .. } => f64::NAN,
        };
        Release { what, width, times, clip: (width as f64).sqrt(), noise_multiplier }
    }

    /// Plans a fit with what is left of the budget.
    pub(crate) fn plan_fit(
        &self,
        model: &dyn Model,
        facts: &Facts,
        privacy: &Privacy,
        share: f64,
    ) -> Result<Box<dyn Planned>, Failure> {
        let mut left = bounds::remaining(privacy, share)?;
        for _ in 0..TRIALS {
            let planned = model.plan(facts, Some(&left))?;
            match self.together(planned.as_ref(), facts, privacy) {
                Err(error) if over_budget(&error) => {
                    left = Privacy::new(LESS * left.epsilon(), left.delta(), left.adjacency())?;
                }
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(planned),
            }
        }
        let hint = "give bounds a smaller --bounds-share, or state them";
        Err(Failure::failed("bounds and fit cannot share this budget", Some(hint.to_owned())))
    }

    /// What a fit and the bounds ask a ledger for together. Nothing is asked of any record: there are none, and the ledger refuses.
    pub(crate) fn together(
        &self,
        planned: &dyn Planned,
        facts: &Facts,
        privacy: &Privacy,
    ) -> Result<Request, ModelError> {
        let asked: Arc<Mutex<Option<Request>>> = Arc::default();
        let ledger = Box::new(Asking { earlier: self.entry(), asked: Arc::clone(&asked) });
        let none = Records::streamed(facts.records, facts.width(), Box::new(|_, _| ()))?;
        let source = NoiseSource::from_os().map_err(WallError::from)?;
        let refused = planned.fit(none, source, Some(privacy), ledger).err();
        let asked = asked.lock().ok().and_then(|mut asked| asked.take());
        match (asked, refused) {
            (Some(request), _) => Ok(request),
            (None, Some(error)) => Err(error),
            (None, None) => Err(ModelError::NoDensity),
        }
    }

    /// Buys them. The schema with its bounds.
    pub(crate) fn buy(
        &self,
        schema: &Schema,
        source: &Source,
        privacy: &Privacy,
        watched: &Watched,
    ) -> Result<Schema, Failure> {
        let records = data::records(Encoder::new(&self.from)?.rows(source, data::KEPT)?)?;
        let noise = NoiseSource::from_os().map_err(|error| Failure::failed(error.to_string(), None))?;
        let (bounds, _) = self.plan.buy(records, noise, privacy, Box::new(watched.clone()))?;
        let mut bought = schema.clone();
        for ((column, _), (low, high)) in schema.bounds_to_buy().zip(bounds) {
            bought = bought.with_bought_bounds(column.name(), low, high)?;
        }
        Ok(bought)
    }
}

fn over_budget(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Wall(WallError::OverBudget { .. })
            | ModelError::Regression(RegressionError::Wall(WallError::OverBudget { .. }))
            | ModelError::MixtureFit(FitError::Wall(WallError::OverBudget { .. }))
    )
}

/// A ledger that only wants to know what it would be asked for.
struct Asking {
    earlier: Entry,
    asked: Arc<Mutex<Option<Request>>>,
}

impl Ledger for Asking {
    fn name(&self) -> String {
        "nobody".to_owned()
    }
    fn reserve(&mut self, request: &Request) -> Result<Ticket, LedgerError> {
        if let Ok(mut asked) = self.asked.lock() {
            *asked = Some(request.clone());
        }
        Err(LedgerError::Refused("only asking".to_owned()))
    }
    fn start(&mut self, _: &Ticket) -> Result<(), LedgerError> {
        Err(LedgerError::Refused("only asking".to_owned()))
    }
    fn earlier(&self) -> Vec<Entry> {
        vec![self.earlier.clone()]
    }
    fn settle(&mut self, _: Ticket, _: Spent<'_>) -> Result<(), LedgerError> {
        Ok(())
    }
}

impl From<BoundsError> for Failure {
    fn from(error: BoundsError) -> Self {
        let usage = matches!(error, BoundsError::Share(_) | BoundsError::NoDelta);
        let failure = Self::from_error(&error, "see --help for what each option means");
        if usage { failure } else { failure.not_usage() }
    }
}
