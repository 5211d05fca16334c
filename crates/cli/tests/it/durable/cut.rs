//! The power goes out: what was not synchronised is lost.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::{Fit, Folder, shim};

/// What a file holds, and what of it is on the disk. Names likewise.
#[derive(Clone, Default)]
struct Disk {
    files: BTreeMap<u64, Contents>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
}

#[derive(Clone, Default)]
struct Contents {
    now: Vec<u8>,
    durable: Vec<u8>,
}

/// What survives of what was not synchronised. A disk may keep any part of it; these are the extremes.
#[derive(Debug, Clone, Copy)]
enum Survives {
    Nothing,
    Names,
    Contents,
}

impl Disk {
    fn of(fit: &Fit) -> Self {
        let mut disk = Self::default();
        for (name, bytes) in fit.folder() {
            let node = std::fs::metadata(fit.path(&name)).unwrap().ino();
            disk.files.insert(node, Contents { now: bytes.clone(), durable: bytes });
            disk.names.insert(name, node);
        }
        disk.durable_names.clone_from(&disk.names);
        disk
    }

    fn after_a_cut(&self, survives: Survives) -> Folder {
        let names = if let Survives::Names = survives { &self.names } else { &self.durable_names };
        let contents = |node| {
            let file: &Contents = &self.files[node];
            if let Survives::Contents = survives { file.now.clone() } else { file.durable.clone() }
        };
        // As in a folder of the test, without the digests of records.
        let counted = names.iter().filter(|(name, _)| !name.ends_with(".prints"));
        counted.map(|(name, node)| (name.clone(), contents(node))).collect()
    }

    /// Does what a line of the log states. What is left of the log.
    fn step<'a>(&mut self, log: &'a [u8]) -> &'a [u8] {
        let end = log.iter().position(|byte| *byte == b'\n').unwrap();
        let (line, mut rest) = (std::str::from_utf8(&log[..end]).unwrap(), &log[end + 1..]);
        let name = |path: &str| Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
        let (kind, arguments) = line.split_at(1);
        let arguments = arguments.trim_start();
        let numbers: Vec<u64> = arguments.split(' ').map_while(|text| text.parse().ok()).collect();
        match kind {
            "C" => {
                self.files.insert(numbers[0], Contents::default());
                self.names.insert(name(arguments.split_once(' ').unwrap().1), numbers[0]);
            }
            "W" => {
                let (offset, length) = (numbers[1] as usize, numbers[2] as usize);
                let now = &mut self.files.get_mut(&numbers[0]).unwrap().now;
                now.resize(now.len().max(offset + length), 0);
                now[offset..offset + length].copy_from_slice(&rest[..length]);
                rest = &rest[length..];
            }
            "T" => self.files.get_mut(&numbers[0]).unwrap().now.resize(numbers[1] as usize, 0),
            "S" => {
                let file = self.files.get_mut(&numbers[0]).unwrap();
                file.durable.clone_from(&file.now);
            }
            "D" => self.durable_names.clone_from(&self.names),
            "R" | "L" | "U" => {
                let (from, to) = arguments.split_once('\t').unwrap();
                let node = self.names[&name(from)];
                if kind != "L" {
                    self.names.remove(&name(from));
                }
                if kind != "U" {
                    self.names.insert(name(to), node);
                }
            }
            _ => panic!("{line}"),
        }
        rest
    }
}

/// Cuts the power after each call of a command, and finishes the fit from what is left on the disk.
fn every_cut(fit: &Fit, command: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    let log = folder.path().join("log");
    let mut disk = Disk::of(fit);
    let output = fit.shimmed(&shim, command, &[("SHIM_LOG", log.to_str().unwrap())]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (log, done) = (std::fs::read(log).unwrap(), fit.folder());
    let (mut rest, mut step) = (&log[..], 0);
    let mut seen: Vec<Folder> = Vec::new();
    while !rest.is_empty() {
        rest = disk.step(rest);
        step += 1;
        for survives in [Survives::Nothing, Survives::Names, Survives::Contents] {
            let left = disk.after_a_cut(survives);
            if !seen.contains(&left) {
                fit.put(&left);
                fit.finish(&format!(
                    "{command}: the power went out after call {step}, of which survives {survives:?}"
                ));
                seen.push(left);
            }
        }
    }
    // The model of the disk is right: it ends as the folder did, and all of it is durable.
    assert!(step > 10 && seen.len() > 3);
    assert_eq!(disk.after_a_cut(Survives::Nothing), done);
}

#[test]
fn a_power_cut_loses_nothing() {
    let fit = Fit::of_one_release();
    every_cut(&fit, &fit.init());
    fit.clear();
    fit.must(&fit.init());
    every_cut(&fit, &fit.fit());
}
