use super::*;
use rand::{Rng, SeedableRng};
use rand_chacha::{ChaCha8Rng, ChaCha12Rng, ChaCha20Rng};

/// Undoes the interleaving: the bytes of block `n`.
fn block(words: &[u32], n: usize) -> Vec<u8> {
    let batch = &words[n / 8 * BATCH..];
    (0..16).flat_map(|w| batch[w * 8 + n % 8].to_le_bytes()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

fn counting_key() -> [u32; 8] {
    from_fn(|i| u32::from_le_bytes(from_fn(|j| (4 * i + j) as u8)))
}

fn cipher(key: [u32; 8], nonce: [u32; 2], counter: u64, rounds: Rounds) -> ChaCha {
    ChaCha { key: Zeroizing::new(key), nonce, counter, rounds }
}

fn keystream(mut cipher: ChaCha, batches: usize) -> Vec<u32> {
    let mut words = vec![0; batches * BATCH];
    words.as_chunks_mut().0.iter_mut().for_each(|batch| cipher.fill(batch));
    words
}

fn first_block(rounds: Rounds, key: [u32; 8], nonce: [u32; 2], counter: u64) -> Vec<u8> {
    block(&keystream(cipher(key, nonce, counter, rounds), 1), 0)
}

#[test]
fn chacha_matches_published_vectors() {
    // RFC 8439, 2.3.2: the 96-bit nonce and 32-bit counter laid over our 64-bit counter and nonce.
    assert_eq!(
        first_block(Rounds::Twenty, counting_key(), [0x4a00_0000, 0], 0x0900_0000_0000_0001),
        hex("10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e
             d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e")
    );
    // RFC 8439, A.1, test vectors 1 and 2.
    assert_eq!(
        first_block(Rounds::Twenty, [0; 8], [0; 2], 0),
        hex("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
             da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586")
    );
    assert_eq!(
        first_block(Rounds::Twenty, [0; 8], [0; 2], 1),
        hex("9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed
             29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f")
    );
    // draft-strombergson-chacha-test-vectors-01, TC1, 256-bit key.
    assert_eq!(
        first_block(Rounds::Eight, [0; 8], [0; 2], 0),
        hex("3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e
             984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42")
    );
    assert_eq!(
        first_block(Rounds::Twelve, [0; 8], [0; 2], 0),
        hex("9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f
             0564f879d27ae3c02ce82834acfa8c793a629f2ca0de6919610be82f411326be")
    );
}

#[test]
fn chacha_matches_rand_chacha() {
    macro_rules! check {
        ($rounds:expr, $peer:ty) => {
            // The last start makes the low half of the counter carry inside a batch.
            for start in [0, 5, (1 << 32) - 3] {
                let words = keystream(cipher(counting_key(), [7, 9], start, $rounds), 3);
                let mut peer = <$peer>::from_seed(from_fn(|i| i as u8));
                peer.set_stream(9 << 32 | 7);
                peer.set_word_pos(u128::from(start) * 16);
                for n in 0..3 * 8 {
                    let mut expected = vec![0; 64];
                    peer.fill_bytes(&mut expected);
                    assert_eq!(block(&words, n), expected, "block {n} after {start}");
                }
            }
        };
    }
    check!(Rounds::Eight, ChaCha8Rng);
    check!(Rounds::Twelve, ChaCha12Rng);
    check!(Rounds::Twenty, ChaCha20Rng);
}

#[test]
fn portable_equals_wide() {
    for start in [0, u64::from(u32::MAX) - 1] {
        let words = || keystream(cipher(counting_key(), [1, 2], start, Rounds::Twelve), 5);
        simd::tests::same(words);
    }
}

#[test]
fn the_callback_runs_after_every_double_round() {
    for rounds in [Rounds::Eight, Rounds::Twelve, Rounds::Twenty] {
        let mut calls = Vec::new();
        let mut words = [0; BATCH];
        cipher([3; 8], [0; 2], 0, rounds).batch::<[u32; 8]>(&mut words, || calls.push(calls.len()));
        assert_eq!(calls.len(), rounds as usize / 2);
        assert_eq!(words[..], keystream(cipher([3; 8], [0; 2], 0, rounds), 1));
    }
}

#[test]
fn the_purpose_is_the_nonce() {
    assert_eq!(ChaCha::new(&[3; 8], b"purpose ", Rounds::Twelve).nonce, [0x7072_7570, 0x2065_736f]);
}
