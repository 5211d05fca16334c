//! Code that would let records out does not compile.

#[test]
fn records_leave_only_through_the_wall() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
