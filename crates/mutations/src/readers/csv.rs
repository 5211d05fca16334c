//! CSV files.

use super::data;
use crate::{Dice, Reader, bytes};

/// Fragments of CSV files and of look-alikes.
const TOKENS: [&[u8]; 22] = [
    b"\"",
    b"\"\"",
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\0",
    b"\x1f\x8b\x08",
    b"NA",
    b"true",
    b"987654.321",
    b"SECRETVALUE",
    b"\"SECRETVALUE\n987654.321\"",
    b" ",
    b"'",
    b"\\",
    b"number,number",
];

pub(super) const READER: Reader =
    Reader { name: "csv", seeds, mutate, read: |bytes| data::read(bytes, "t.csv") };

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    // A header that does not match the schema is refused at once, so half of the mutations keep it.
    let header = bytes.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    if dice.below(2) == 0 {
        return bytes::mutate(bytes, dice, &TOKENS);
    }
    let mut lines = bytes.split_off(header);
    bytes::mutate(&mut lines, dice, &TOKENS);
    bytes.extend(lines);
}

fn seeds() -> Vec<Vec<u8>> {
    let header = "number,count,flag,level,note,income";
    let lines = [
        "987654.321,7,true,a,a word: SECRETVALUE,31.5",
        ",3,no,SECRETVALUE,,",
        "1e3,-4,1,b,\"word, \"\"quoted\"\" SECRETVALUE\",987654.321",
        "12,x987654.321,SECRETVALUE,a,word word,1",
    ];
    let file = |end: &str, repeat: usize| {
        let lines = lines.iter().cycle().take(lines.len() * repeat);
        std::iter::once(&header).chain(lines).flat_map(|line| [line, end]).collect::<String>().into_bytes()
    };
    let mut marked = b"\xef\xbb\xbf".to_vec();
    marked.extend(file("\r\n", 1));
    vec![file("\n", 1), file("\n", 8), marked]
}
