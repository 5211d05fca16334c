use super::{Fit, Noise, SiteModel};

/// Expectation propagation with a site for each record, pass by pass. **Not private**: every site is a function of
/// its record, and there is no noise. Memory grows with the number of records.
///
/// Passes may continue with a model whose prior has changed.
///
/// # Citation
/// Minka, "Expectation propagation for approximate Bayesian inference", UAI 2001.
#[derive(Debug, Clone)]
pub struct Ep {
    record_width: usize,
    likelihood: Vec<f64>,
    sites: Vec<f64>,
}

impl Ep {
    /// Starts from the likelihood part `start` (zeros by default), over records of `record_width` numbers each. No
    /// site contains `start`, so it is never removed.
    #[must_use]
    pub fn new<M: SiteModel>(model: &M, values: &[f64], record_width: usize, start: &[f64]) -> Self {
        let sites = vec![0.0; values.len() / record_width * model.width()];
        Self { record_width, likelihood: start.to_vec(), sites }
    }

    /// Visits records in this order. A site moves by the share `damping` of the way to its new value; records whose
    /// cavity or site is improper are skipped.
    pub fn pass<M: SiteModel>(
        &mut self,
        model: &M,
        values: &[f64],
        order: impl IntoIterator<Item = usize>,
        damping: f64,
    ) {
        let width = model.width();
        let (mut out, mut cavity, mut prepared) = (vec![0.0; width], vec![0.0; width], M::Cavity::default());
        for n in order {
            let record = &values[n * self.record_width..][..self.record_width];
            let site = &mut self.sites[n * width..][..width];
            for (((cavity, prior), likelihood), site) in
                cavity.iter_mut().zip(model.prior()).zip(&self.likelihood).zip(&*site)
            {
                *cavity = prior + likelihood - site;
            }
            if model.project(&mut cavity) > 0 {
                continue;
            }
            model.condition(&cavity, &mut prepared);
            out.fill(0.0);
            model.site(&prepared, record, &mut out);
            if !out.iter().all(|x| x.is_finite()) {
                continue;
            }
            for ((likelihood, site), new) in self.likelihood.iter_mut().zip(site).zip(&out) {
                let step = damping * (new - *site);
                *site += step;
                *likelihood += step;
            }
        }
    }

    /// The natural parameters of $q$, including the prior of the model.
    #[must_use]
    pub fn natural<M: SiteModel>(&self, model: &M) -> Vec<f64> {
        model.prior().iter().zip(&self.likelihood).map(|(prior, likelihood)| prior + likelihood).collect()
    }

    /// The posterior as a [`Fit`], projected to a proper density.
    #[must_use]
    pub fn fit<M: SiteModel>(&self, model: &M) -> Fit {
        let mut natural = self.natural(model);
        let projections = model.project(&mut natural);
        Fit { natural, noise: Noise::none(model.blocks()), projections }
    }
}

/// [`Ep`] from the prior: `values` are the records, `record_width` numbers each, visited in order `passes` times. **Not
/// private.** Returns the natural parameters of $q$.
#[must_use]
pub fn ep<M: SiteModel>(
    model: &M,
    values: &[f64],
    record_width: usize,
    passes: usize,
    damping: f64,
) -> Vec<f64> {
    let mut state = Ep::new(model, values, record_width, &vec![0.0; model.width()]);
    for _ in 0..passes {
        state.pass(model, values, 0..values.len() / record_width, damping);
    }
    state.natural(model)
}

/// Assumed density filtering: one pass, in which each site is multiplied in and never removed. **Not private.**
/// Returns the natural parameters of $q$.
///
/// More passes would count every record several times and make $q$ too narrow. Some published code does so, and
/// [`adf_pass`] reproduces it.
#[must_use]
pub fn adf<M: SiteModel>(model: &M, values: &[f64], record_width: usize) -> Vec<f64> {
    let mut likelihood = vec![0.0; model.width()];
    adf_pass(model, values, record_width, 0..values.len() / record_width, &mut likelihood);
    model.prior().iter().zip(&likelihood).map(|(prior, likelihood)| prior + likelihood).collect()
}

/// One pass of [`adf`] over records in this order, from the likelihood part `likelihood`. **Not private**. From the
/// second pass on, records count more than once.
pub fn adf_pass<M: SiteModel>(
    model: &M,
    values: &[f64],
    record_width: usize,
    order: impl IntoIterator<Item = usize>,
    likelihood: &mut [f64],
) {
    let width = model.width();
    let (mut out, mut natural, mut prepared) = (vec![0.0; width], vec![0.0; width], M::Cavity::default());
    for n in order {
        for ((natural, prior), likelihood) in natural.iter_mut().zip(model.prior()).zip(&*likelihood) {
            *natural = prior + likelihood;
        }
        if model.project(&mut natural) > 0 {
            // A projected value is kept.
            for ((likelihood, natural), prior) in likelihood.iter_mut().zip(&natural).zip(model.prior()) {
                *likelihood = natural - prior;
            }
        }
        model.condition(&natural, &mut prepared);
        out.fill(0.0);
        model.site(&prepared, &values[n * record_width..][..record_width], &mut out);
        if out.iter().all(|x| x.is_finite()) {
            likelihood.iter_mut().zip(&out).for_each(|(q, site)| *q += site);
        }
    }
    for (natural, (prior, likelihood)) in natural.iter_mut().zip(model.prior().iter().zip(&*likelihood)) {
        *natural = prior + likelihood;
    }
    if model.project(&mut natural) > 0 {
        for ((likelihood, natural), prior) in likelihood.iter_mut().zip(&natural).zip(model.prior()) {
            *likelihood = natural - prior;
        }
    }
}
