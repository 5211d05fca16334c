use super::SiteModel;

/// Expectation propagation with a site for each record. **Not private**: every site is a function of its record, and
/// nothing is noised. Memory grows with the number of records.
///
/// `values` are the records, `record_width` numbers each, visited in order `passes` times. A site moves by the share `damping`
/// of the way to its new value; records whose cavity or site is no density are left alone. Returns the natural parameters
/// of $q$.
///
/// # Citation
/// Minka, "Expectation propagation for approximate Bayesian inference", UAI 2001.
#[must_use]
pub fn ep<M: SiteModel>(
    model: &M,
    values: &[f64],
    record_width: usize,
    passes: usize,
    damping: f64,
) -> Vec<f64> {
    let width = model.width();
    let mut natural = model.prior().to_vec();
    let mut sites = vec![0.0; values.len() / record_width * width];
    let (mut out, mut cavity, mut prepared) = (vec![0.0; width], vec![0.0; width], M::Cavity::default());
    for _ in 0..passes {
        for (record, site) in values.chunks_exact(record_width).zip(sites.chunks_exact_mut(width)) {
            for k in 0..width {
                cavity[k] = natural[k] - site[k];
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
            for k in 0..width {
                let step = damping * (out[k] - site[k]);
                site[k] += step;
                natural[k] += step;
            }
        }
    }
    natural
}

/// Assumed density filtering: one pass, each site multiplied in and never removed. **Not private.** Returns the natural
/// parameters of $q$.
///
/// More passes would count every record several times, and make $q$ too narrow; that is what some published code does.
#[must_use]
pub fn adf<M: SiteModel>(model: &M, values: &[f64], record_width: usize) -> Vec<f64> {
    let mut natural = model.prior().to_vec();
    let (mut out, mut prepared) = (vec![0.0; model.width()], M::Cavity::default());
    for record in values.chunks_exact(record_width) {
        model.condition(&natural, &mut prepared);
        out.fill(0.0);
        model.site(&prepared, record, &mut out);
        if out.iter().all(|x| x.is_finite()) {
            natural.iter_mut().zip(&out).for_each(|(q, site)| *q += site);
            model.project(&mut natural);
        }
    }
    natural
}
