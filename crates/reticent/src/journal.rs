//! The journal of a private run: its releases, kept beside the model file until that is written and the ledger is settled.
//!
//! All inference is done on releases, so a run that reads them back is where it was. Only the releases that are missing are computed from
//! the records, with fresh noise. Releases are public; the token of the ledger is not, so the file is its owner's alone. Noise keys
//! are never written.
//!
//! The file begins with [`MAGIC`], which ends with the version of the format. Frames follow: the length of the content as 4 bytes, the lowest first; 4 bytes of the SHA-256 of
//! the digest before and that length; the content; and the digest, which is the SHA-256 of the digest before, the length and the
//! content. The first frame is the [`Header`]; each of the others is what one synchronisation has written, all or nothing.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reticent_files::{Access, AtomicFile};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Version 3 has elements of sums of outer products as they are; version 2 identified schemas by their canonical form. All had the same frames.
const MAGIC: &[u8] = b"reticent journal 3\n";
/// The same up to the version.
const NAME: &[u8] = b"reticent journal ";
/// Releases wait for each other so long, or until they are so many bytes, before they are written.
const PERIOD: Duration = Duration::from_secs(1);
const WAITING: usize = 16 << 20;

pub(crate) type Digest = [u8; 32];

/// Which run the journal belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Model, data, plan and budget: a run that is resumed must be the same.
    pub(crate) of: Value,
    /// The ledger's token of the run, if it is charged to one. Whoever has it can settle the run.
    pub(crate) token: Option<String>,
}

/// An entry of a journal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// A sum, or the index of a draw: public.
    Release { what: String, step: u64, values: Vec<f64> },
    /// The run was resumed. A random number, so that two runs that are resumed from one point have different digests.
    Resumed(String),
    /// The SHA-256 of a model file that was about to be written.
    Model(Digest),
}

/// The path of the journal of a model file.
pub(crate) fn beside(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

pub(crate) fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// A journal that is being written. It is locked as long as this lives.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    digest: Digest,
    waiting: Vec<u8>,
    synced: Instant,
    /// A write has failed. Whatever follows would be behind half a frame.
    failed: bool,
}

impl Journal {
    /// Begins a journal, on the disk when this returns.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is one.
    pub(crate) fn create(path: &Path, header: &Header) -> io::Result<Self> {
        let whole = AtomicFile::create(path, Access::Owner)?;
        let (mut file, mut digest) = (whole.file()?, sha256(MAGIC));
        file.write_all(MAGIC)?;
        file.write_all(&frame(&mut digest, &serde_json::to_vec(header)?)?)?;
        Ok(Self::new(whole.finish_new()?, path, digest))
    }

    fn new(file: File, path: &Path, digest: Digest) -> Self {
        let (path, waiting, synced) = (path.to_owned(), Vec::new(), Instant::now());
        Self { file, path, digest, waiting, synced, failed: false }
    }

    /// Adds an entry. It is on the disk after the next [`sync`](Self::sync).
    pub(crate) fn append(&mut self, item: &Item) {
        write_item(item, &mut self.waiting);
    }

    /// Whether it is time to synchronise.
    pub(crate) fn is_due(&self) -> bool {
        self.waiting.len() >= WAITING || (!self.waiting.is_empty() && self.synced.elapsed() >= PERIOD)
    }

    /// Writes waiting entries. They are on the disk when it returns.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if self.failed {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.failed = true;
        let mut digest = self.digest;
        let frame = frame(&mut digest, &self.waiting)?;
        self.file.write_all(&frame)?;
        self.file.sync_data()?;
        (self.failed, self.digest, self.synced) = (false, digest, Instant::now());
        self.waiting.clear();
        Ok(())
    }

    /// Of all that is on the disk.
    pub(crate) fn digest(&self) -> String {
        hex(&self.digest)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the journal, when it is not needed any more.
    pub(crate) fn remove(self) -> io::Result<()> {
        let Self { file, path, .. } = self;
        // Closed first: a temporary name of the same file may have been left, and is removed when nobody has it locked.
        drop(file);
        reticent_files::remove(&path)
    }
}

/// A journal that was left, locked and read through.
pub(crate) struct Left {
    file: File,
    path: PathBuf,
    pub(crate) header: Header,
    /// Of each frame, the newest last.
    pub(crate) digests: Vec<Digest>,
    /// Of model files that were about to be written.
    pub(crate) models: Vec<Digest>,
    pub(crate) releases: u64,
    /// Where the last whole frame ends, and what comes after it.
    end: u64,
    pub(crate) tail: Tail,
}

/// What comes after the last whole frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Nothing.
    None,
    /// A frame that was not written to its end: nothing that follows from it was shown.
    Torn,
    /// Something that is no such frame.
    Damaged,
}

/// Why a journal cannot be used.
#[derive(Debug)]
pub(crate) enum Fault {
    Missing,
    /// Another process has it locked.
    InUse,
    NotAJournal,
    /// A journal in the format of another version.
    OtherVersion,
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Left {
    /// Locks and reads a journal.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let file = match reticent_files::open_private(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Fault::Missing),
            opened => opened?,
        };
        // File systems without locks cannot be helped.
        if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
            || !reticent_files::is_at(&file, path)
        {
            return Err(Fault::InUse);
        }
        let mut frames = match Frames::open(file.try_clone()?)? {
            Opened::Frames(frames) => frames,
            Opened::OtherVersion => return Err(Fault::OtherVersion),
            Opened::NotAJournal => return Err(Fault::NotAJournal),
        };
        let Next::Frame(first) = frames.next()? else { return Err(Fault::NotAJournal) };
        let header: Header = serde_json::from_slice(&first).map_err(|_| Fault::NotAJournal)?;
        let (mut digests, mut models, mut releases) = (vec![frames.digest], Vec::new(), 0);
        let (end, tail) = loop {
            let end = frames.at;
            let items = match frames.next()? {
                Next::Frame(content) => items(&content),
                Next::End(tail) => break (end, tail),
            };
            let Some(items) = items else { break (end, Tail::Damaged) };
            digests.push(frames.digest);
            for item in items {
                match item {
                    Item::Release { .. } => releases += 1,
                    Item::Model(digest) => models.push(digest),
                    Item::Resumed(_) => {}
                }
            }
        };
        Ok(Self { file, path: path.to_owned(), header, digests, models, releases, end, tail })
    }

    /// Where what is no whole frame begins.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Abandons the run.
    pub(crate) fn remove(self) -> io::Result<()> {
        let Self { file, path, .. } = self;
        drop(file);
        reticent_files::remove(&path)
    }

    /// Resumes the run: a new file with the whole frames and a new one replaces the old. What a failing disk may have kept of the old
    /// one in memory alone is written anew.
    pub(crate) fn resume(mut self, nonce: String) -> io::Result<(Journal, Replay)> {
        let whole = AtomicFile::create(&self.path, Access::Owner)?;
        let mut to = whole.file()?;
        self.file.rewind()?;
        let (mut left, mut buffer) = (self.end, vec![0; 1 << 20]);
        while left > 0 {
            let piece = &mut buffer[..left.min(1 << 20) as usize];
            self.file.read_exact(piece)?;
            to.write_all(piece)?;
            left -= piece.len() as u64;
        }
        let mut digest = *self.digests.last().ok_or(ErrorKind::InvalidData)?;
        let mut content = Vec::new();
        write_item(&Item::Resumed(nonce), &mut content);
        to.write_all(&frame(&mut digest, &content)?)?;
        let journal = Journal::new(whole.finish()?, &self.path, digest);
        let replay = Replay::open(&self.path)?;
        Ok((journal, replay))
    }
}

/// Reads the releases of a journal back, one frame in memory at a time.
pub(crate) struct Replay {
    frames: Frames,
    items: std::vec::IntoIter<Item>,
    next: Option<Item>,
}

impl Replay {
    fn open(path: &Path) -> io::Result<Self> {
        // A handle of its own, which reads from the start while the other writes at the end.
        let Opened::Frames(mut frames) = Frames::open(reticent_files::open_private(path)?)? else {
            return Err(ErrorKind::InvalidData.into());
        };
        frames.next()?;
        let mut replay = Self { frames, items: Vec::new().into_iter(), next: None };
        replay.step()?;
        Ok(replay)
    }

    /// The next release, if there is one.
    pub(crate) fn peek(&self) -> Option<(&str, u64)> {
        match &self.next {
            Some(Item::Release { what, step, .. }) => Some((what, *step)),
            _ => None,
        }
    }

    /// Takes it.
    pub(crate) fn take(&mut self) -> io::Result<Option<Vec<f64>>> {
        let taken = match self.next.take() {
            Some(Item::Release { values, .. }) => Some(values),
            _ => None,
        };
        self.step()?;
        Ok(taken)
    }

    fn step(&mut self) -> io::Result<()> {
        loop {
            match self.items.next() {
                Some(item @ Item::Release { .. }) => {
                    self.next = Some(item);
                    return Ok(());
                }
                Some(_) => {}
                None => match self.frames.next()? {
                    Next::Frame(content) => {
                        self.items = items(&content).ok_or(ErrorKind::InvalidData)?.into_iter();
                    }
                    Next::End(_) => return Ok(()),
                },
            }
        }
    }
}

/// Reads frames and checks their digests.
struct Frames {
    from: BufReader<File>,
    digest: Digest,
    at: u64,
    /// Of the file when it was opened.
    length: u64,
}

enum Next {
    Frame(Vec<u8>),
    End(Tail),
}

/// What a file begins as.
enum Opened {
    Frames(Frames),
    OtherVersion,
    NotAJournal,
}

impl Frames {
    fn open(file: File) -> io::Result<Opened> {
        let length = file.metadata()?.len();
        let mut from = BufReader::new(file);
        let mut magic = vec![0; MAGIC.len()];
        if length < MAGIC.len() as u64 {
            return Ok(Opened::NotAJournal);
        }
        from.read_exact(&mut magic)?;
        let at = MAGIC.len() as u64;
        Ok(match magic == MAGIC {
            true => Opened::Frames(Self { from, digest: sha256(MAGIC), at, length }),
            false if magic.starts_with(NAME) && magic[NAME.len()].is_ascii_digit() => Opened::OtherVersion,
            false => Opened::NotAJournal,
        })
    }

    fn next(&mut self) -> io::Result<Next> {
        let left = self.length - self.at;
        if left < 8 {
            return Ok(Next::End(if left == 0 { Tail::None } else { Tail::Torn }));
        }
        let (mut size, mut check) = ([0; 4], [0; 4]);
        self.from.read_exact(&mut size)?;
        self.from.read_exact(&mut check)?;
        if check != size_check(&self.digest, size) {
            // A file that was made longer, and not filled, before the power went out.
            let mut rest = Vec::new();
            let zeros = [size, check] == [[0; 4]; 2] && all_zero(&mut self.from, &mut rest)?;
            return Ok(Next::End(if zeros { Tail::Torn } else { Tail::Damaged }));
        }
        let whole = 8 + u64::from(u32::from_le_bytes(size)) + 32;
        if left < whole {
            return Ok(Next::End(Tail::Torn));
        }
        let mut content = vec![0; u32::from_le_bytes(size) as usize];
        self.from.read_exact(&mut content)?;
        let mut stated = [0; 32];
        self.from.read_exact(&mut stated)?;
        let digest = chained(&self.digest, size, &content);
        if digest != stated {
            return Ok(Next::End(if left == whole { Tail::Torn } else { Tail::Damaged }));
        }
        (self.digest, self.at) = (digest, self.at + whole);
        Ok(Next::Frame(content))
    }
}

fn all_zero(from: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<bool> {
    buffer.resize(1 << 16, 0);
    loop {
        match from.read(buffer)? {
            0 => return Ok(true),
            count if buffer[..count].iter().any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
}

fn size_check(before: &Digest, size: [u8; 4]) -> [u8; 4] {
    let hash = Sha256::new().chain_update(before).chain_update(size).finalize();
    [hash[0], hash[1], hash[2], hash[3]]
}

fn chained(before: &Digest, size: [u8; 4], content: &[u8]) -> Digest {
    Sha256::new().chain_update(before).chain_update(size).chain_update(content).finalize().into()
}

/// A frame that follows the one with this digest, which becomes its own.
fn frame(digest: &mut Digest, content: &[u8]) -> io::Result<Vec<u8>> {
    let size = u32::try_from(content.len()).map_err(|_| ErrorKind::FileTooLarge)?.to_le_bytes();
    let check = size_check(digest, size);
    *digest = chained(digest, size, content);
    Ok([&size[..], &check, content, &*digest].concat())
}

fn write_item(item: &Item, to: &mut Vec<u8>) {
    let text = |to: &mut Vec<u8>, text: &str| {
        to.extend((text.len() as u32).to_le_bytes());
        to.extend(text.as_bytes());
    };
    match item {
        Item::Release { what, step, values } => {
            to.push(0);
            text(to, what);
            to.extend(step.to_le_bytes());
            to.extend((values.len() as u32).to_le_bytes());
            to.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        Item::Resumed(nonce) => {
            to.push(1);
            text(to, nonce);
        }
        Item::Model(digest) => {
            to.push(2);
            to.extend(digest);
        }
    }
}

/// What a frame holds; nothing if it is not what this version writes.
fn items(mut from: &[u8]) -> Option<Vec<Item>> {
    let mut found = Vec::new();
    while let Some((kind, rest)) = from.split_first() {
        from = rest;
        found.push(match kind {
            0 => {
                let what = read_text(&mut from)?;
                let step = u64::from_le_bytes(*read_bytes(&mut from)?);
                let count = u32::from_le_bytes(*read_bytes(&mut from)?) as usize;
                let (values, rest) = from.split_at_checked(count.checked_mul(8)?)?;
                from = rest;
                let values = values.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
                Item::Release { what, step, values }
            }
            1 => Item::Resumed(read_text(&mut from)?),
            2 => Item::Model(*read_bytes(&mut from)?),
            _ => return None,
        });
    }
    Some(found)
}

fn read_bytes<'a, const N: usize>(from: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (bytes, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(bytes)
}

fn read_text(from: &mut &[u8]) -> Option<String> {
    let length = u32::from_le_bytes(*read_bytes(from)?) as usize;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests;
