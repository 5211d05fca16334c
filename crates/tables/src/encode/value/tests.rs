use proptest::prelude::*;

use super::*;

#[test]
fn numbers_and_truth_values_are_read_from_texts() {
    let number = |text: &str| number(Some(text.as_bytes()));
    assert_eq!(number(" 1.50 "), Value::Known(1.5));
    assert_eq!(number("-0.001e3"), Value::Known(-1.0));
    assert_eq!(number("9007199254740993"), Value::Known(9_007_199_254_740_992.0));
    for missing in ["", "  ", "NaN", "nan", "inf", "-Infinity", "1e999"] {
        assert_eq!(number(missing), Value::Missing, "{missing}");
    }
    for malformed in ["1,5", "1.2.3", "-", ".", "one", "1 2", "0x10", "\u{661}"] {
        assert_eq!(number(malformed), Value::Malformed, "{malformed}");
    }
    let truth = |text: &str| truth(Some(text.as_bytes()));
    assert_eq!((truth(" Yes"), truth("1.0")), (Value::Known(true), Value::Known(true)));
    assert_eq!((truth("F"), truth("0.00")), (Value::Known(false), Value::Known(false)));
    assert_eq!((truth("2"), truth("nan"), truth("")), (Value::Malformed, Value::Missing, Value::Missing));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The short way gives the same bits as the standard library, wherever it gives anything.
    #[test]
    fn short_decimals_are_exact(text in "[-+]?[0-9]{0,20}[.]?[0-9]{0,24}") {
        if let Some(number) = short_decimal(text.as_bytes()) {
            prop_assert_eq!(number.to_bits(), text.parse::<f64>().expect("a number").to_bits());
        }
    }
}
