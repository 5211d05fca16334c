use super::*;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    std::env::var_os("RETICENT_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
}

/// By counting pairs: (0.1 -), (0.4 +), (0.4 -), (0.8 +) has 3.5 of 4.
#[test]
fn pairs_are_counted() {
    assert_eq!(auc(&[0.1, 0.4, 0.4, 0.8], &[-1.0, 1.0, -1.0, 1.0]), 3.5 / 4.0);
}

/// The number of complete records is the published one, and a private fit is within 0.01 of one without privacy, as are its
/// probabilities better than those of the share of the classes alone.
#[test]
#[allow(clippy::print_stderr, reason = "a skipped test prints a note")]
fn adult_at_epsilon_one() {
    let Ok(data) = Adult::read(&folder()) else {
        eprintln!("skipped: adult.parquet is not here");
        return;
    };
    assert_eq!(data.records(), 45_222);
    let split = data.split(0, usize::MAX);
    let open = Method::OpenScores.run(&data, &split, None, 1e-6, 0).expect("a fit");
    let private = Method::Scores.run(&data, &split, Some(1.0), 1e-6, 0).expect("a fit");
    assert!(private.auc >= 0.89 && private.auc > open.auc - 0.01, "{private:?} {open:?}");
    assert!(private.epsilon.is_some_and(|epsilon| epsilon <= 1.0));
    // 24.78 % are of class 1.
    let guess = 0.2478 * 0.2478f64.ln() + 0.7522 * 0.7522f64.ln();
    assert!(private.log_likelihood > 0.7 * guess);
    let rows = summarise(&[private, open]);
    assert_eq!(table(&rows).expect("rows").rows().len(), 2);
    let drawn = figure(&rows).expect("a figure");
    assert!(
        drawn.starts_with("<svg") && drawn.contains("dasharray") && drawn.contains(Method::OpenScores.name())
    );
}

/// All methods run on few records, and private methods report their cost.
#[test]
fn every_method_runs() {
    let Ok(data) = Adult::read(&folder()) else { return };
    let split = data.split(1, 2000);
    for method in Method::ALL {
        let budget = method.budgets(&[4.0])[0];
        let outcome = method.run(&data, &split, budget, 1e-6, 1).expect("a fit");
        // With much noise a method may be worse than guessing.
        let min_auc = if budget.is_none() || method == Method::Scores { 0.6 } else { 0.0 };
        assert!(outcome.auc > min_auc, "{outcome:?}");
        assert_eq!(outcome.epsilon.is_some(), budget.is_some(), "{outcome:?}");
        assert_eq!(method.name().parse::<Method>().expect("a name"), method);
    }
}
