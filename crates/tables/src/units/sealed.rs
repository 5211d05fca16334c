//! Blocks of bytes in a temporary file that only this process can read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};

/// A temporary file of encrypted blocks.
///
/// # Privacy
/// It has no name, so no other process can open it and it is gone with this one. Each block is the exclusive or of its bytes and a stream of ChaCha20
/// of its own, under a key from the operating system that is kept in memory only: what is left on the disk afterwards is random to whoever
/// reads it. Attacked by `nothing_on_the_disk_is_readable`.
pub(super) struct Sealed {
    file: File,
    key: [u8; 32],
    /// Where each block begins, and its length.
    blocks: Vec<(u64, usize)>,
    end: u64,
}

impl Sealed {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, key: key()?, blocks: Vec::new(), end: 0 })
    }

    /// Writes a block, which is encrypted in place; returns its number.
    pub(super) fn append(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let number = self.blocks.len();
        self.encrypt(number, bytes);
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(bytes)?;
        self.blocks.push((self.end, bytes.len()));
        self.end += bytes.len() as u64;
        Ok(number)
    }

    /// Reads a block.
    pub(super) fn read(&mut self, number: usize) -> io::Result<Vec<u8>> {
        let (start, length) = self.blocks[number];
        let mut bytes = vec![0; length];
        self.file.seek(SeekFrom::Start(start))?;
        self.file.read_exact(&mut bytes)?;
        self.encrypt(number, &mut bytes);
        Ok(bytes)
    }

    /// Encrypts or decrypts. No stream is used for two blocks.
    fn encrypt(&self, number: usize, bytes: &mut [u8]) {
        let mut stream = ChaCha20Rng::from_seed(self.key);
        stream.set_stream(number as u64);
        let mut mask = [0; 1024];
        for part in bytes.chunks_mut(mask.len()) {
            stream.fill_bytes(&mut mask);
            part.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        }
    }
}

/// A key from the operating system.
pub(super) fn key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_on_the_disk_is_readable() {
        let mut sealed = Sealed::new().unwrap();
        let secret = b"patient 4711 has a rare disease".repeat(100);
        let numbers = [0, 1].map(|_| sealed.append(&mut secret.clone()).unwrap());
        let mut stored = Vec::new();
        sealed.file.seek(SeekFrom::Start(0)).unwrap();
        sealed.file.read_to_end(&mut stored).unwrap();
        assert_eq!(stored.len(), 2 * secret.len());
        assert!(!stored.windows(6).any(|part| secret.windows(6).any(|known| part == known)));
        // The same block twice is not the same bytes: their difference would be that of the plain texts.
        assert_ne!(stored[..secret.len()], stored[secret.len()..]);
        // Random bytes: each bit is 1 in half of them. The share of ones has a standard error of 0.5 / sqrt(49,600) = 0.0022.
        let ones: u32 = stored.iter().map(|byte| byte.count_ones()).sum();
        assert!((f64::from(ones) / (8.0 * stored.len() as f64) - 0.5).abs() < 0.013);
        for number in numbers {
            assert_eq!(sealed.read(number).unwrap(), secret);
        }
        assert_ne!(Sealed::new().unwrap().key, sealed.key);
    }
}
