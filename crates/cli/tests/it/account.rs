use crate::{json, refused, reticent, stdout};

#[test]
fn fixed_size_batches() {
    let run = "--sampling fixed --batch 1 --records 1000 --steps 100000 --delta 1e-5 --adjacency replace";
    let tight = json(&format!("account --noise-multiplier 1.5 {run}"));
    assert_eq!(tight["accountant"], "pld");
    assert_eq!(tight["adjacency"], "replace-one");
    assert_eq!(tight["sampling"], "fixed");
    assert_eq!(tight["noise_multiplier"], 1.5);
    assert_eq!(tight["delta"], 1e-5);
    let (lower, upper) = (tight["epsilon_lower"].as_f64().unwrap(), tight["epsilon"].as_f64().unwrap());
    assert!(lower <= upper && upper - lower <= 0.01 * upper);
    // Wang, Balle and Kasiviswanathan's Theorem 27, improved conversion: 2.046673.
    let loose = json(&format!("account --noise-multiplier 1.5 {run} --accountant wang27"));
    assert!((loose["epsilon"].as_f64().unwrap() - 2.046_673).abs() < 1e-5);
    assert!(upper < loose["epsilon"].as_f64().unwrap());
}

#[test]
fn poisson_batches() {
    let run = "account --noise-multiplier 1.5 --sampling poisson --rate 0.001 --steps 100000 --delta 1e-5";
    let cost = json(run);
    assert_eq!(cost["adjacency"], "add/remove");
    assert!(cost["epsilon"].as_f64().unwrap() <= 0.8775);
    assert!(cost["epsilon_lower"].as_f64().unwrap() >= 0.8755);
}

#[test]
fn passes_are_gaussian() {
    // sqrt(40) times the exact Gaussian multiplier for (1, 1e-5) is 23.5946.
    let cost = json("calibrate --epsilon 1 --delta 1e-5 --sampling shuffle --epochs 40");
    assert!((cost["noise_multiplier"].as_f64().unwrap() - 23.5946).abs() < 1e-3);
    assert_eq!(cost["accountant"], "exact");
}

#[test]
fn calibration_returns_to_its_target() {
    let run = "--delta 1e-5 --sampling fixed --batch 1 --records 10740 --steps 429600";
    let answer = json(&format!("calibrate --epsilon 1 {run}"));
    let sigma = answer["noise_multiplier"].as_f64().unwrap();
    assert!((sigma - 0.646).abs() < 0.005, "{sigma}");
    let cost = json(&format!("account --noise-multiplier {sigma} {run}"));
    assert!(cost["epsilon"].as_f64().unwrap() <= 1.0);
    let steps =
        json("calibrate --epsilon 1 --delta 1e-5 --noise-multiplier 2 --sampling poisson --rate 0.01");
    assert!(steps["steps"].as_u64().unwrap() > 100);
}

#[test]
fn delta_for_an_epsilon() {
    // Phi(-1/2) - e Phi(-3/2)
    let cost = json("account --noise-multiplier 1 --epsilon 1");
    assert!((cost["delta"].as_f64().unwrap() - 0.126_936_737_5).abs() < 1e-9);
}

#[test]
fn the_table_marks_the_best() {
    let text = stdout("account --noise-multiplier 5 --mechanism laplace --steps 10 --delta 1e-5");
    let best: Vec<&str> = text.lines().filter(|line| line.starts_with('*')).collect();
    assert_eq!(best.len(), 1, "{text}");
    assert!(best[0].contains("pld"), "{text}");
    for accountant in ["rdp", "zcdp", "composition"] {
        assert!(text.contains(accountant), "{text}");
    }
}

#[test]
fn bad_input_is_one_sentence_and_a_hint() {
    let base = "account --delta 1e-5";
    for (arguments, word) in [
        (format!("{base} --noise-multiplier -1"), "noise multiplier"),
        (format!("{base} --noise-multiplier 0"), "noise multiplier"),
        (format!("{base} --noise-multiplier nan"), "noise multiplier"),
        (format!("{base} --noise-multiplier 1 --sampling poisson --rate 1.5"), "sampling rate"),
        (format!("{base} --noise-multiplier 1 --sampling poisson --rate -0.1"), "sampling rate"),
        (format!("{base} --noise-multiplier 1 --sampling poisson"), "--rate"),
        (format!("{base} --noise-multiplier 1 --sampling fixed --batch 9 --records 3"), "9 records"),
        (format!("{base} --noise-multiplier 1 --sampling fixed --batch 0 --records 3"), "batch"),
        (format!("{base} --noise-multiplier 1 --sampling shuffle --steps 3"), "--steps"),
        (format!("{base} --noise-multiplier 1 --rate 0.1"), "--rate"),
        ("account --noise-multiplier 1 --delta 1".to_owned(), "delta"),
        ("account --noise-multiplier 1 --delta 0".to_owned(), "delta"),
        ("account --noise-multiplier 1 --delta nan".to_owned(), "delta"),
        ("account --noise-multiplier 1".to_owned(), "delta"),
        ("calibrate --epsilon -1 --delta 1e-5".to_owned(), "epsilon"),
        ("calibrate --epsilon 1 --delta 1e-5 --noise-multiplier 0.1".to_owned(), "single step"),
        (
            format!(
                "{base} --noise-multiplier 1 --sampling fixed --batch 1 --records 9 --adjacency add-remove"
            ),
            "replace-one",
        ),
        (
            format!(
                "{base} --noise-multiplier 1 --sampling poisson --rate 0.1 --adjacency replace --accountant rdp"
            ),
            "pld",
        ),
    ] {
        refused(&arguments, word);
    }
}

#[test]
fn unknown_words_are_usage_errors() {
    for arguments in ["account --noise-multiplier one --delta 1e-5", "account --accountant magic", "nonsense"]
    {
        assert_eq!(reticent(arguments).status.code(), Some(2), "{arguments}");
    }
}

/// `reticent account ... | head -1` is not a failure.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_fine() {
    crate::closed_pipe("account --noise-multiplier 1 --delta 1e-5");
}
