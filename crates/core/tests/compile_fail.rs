//! What does not compile keeps the records in.

#[test]
fn records_have_no_other_door() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
