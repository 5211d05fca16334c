//! `vips-lda`, `vips-table3` and `vips-sbn`.

use crate::failed;

#[test]
fn the_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display();
    failed(&format!("vips-lda --data {data}"), "wiki_vocab.txt");
    failed(&format!("vips-table3 --data {data}"), "wiki_vocab.txt");
    failed(&format!("vips-sbn --data {data}"), "mnist_train.parquet");
}
