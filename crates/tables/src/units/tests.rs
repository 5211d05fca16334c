use super::*;
use std::collections::HashSet;

/// Rows of one number each: unit and value.
type Rows = Vec<(Option<UnitKey>, f64)>;

fn collected(rows: &Rows, most: Option<usize>, max: usize) -> UnitRows {
    let mut collector = Collector::new(1, most, max).unwrap();
    // In several blocks, as a file is read.
    for block in rows.chunks(7) {
        let (units, values): (Vec<_>, Vec<_>) = block.iter().copied().unzip();
        collector.add(&values, &units).unwrap();
    }
    collector.finish().unwrap()
}

/// The rows of each unit.
fn units(rows: &mut UnitRows, wanted: Option<&[usize]>) -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    rows.pass(wanted, &mut |values, starts| {
        assert_eq!(starts.last(), Some(&values.len()));
        found.extend(starts.windows(2).map(|pair| values[pair[0]..pair[1]].to_vec()));
        ControlFlow::Continue(())
    });
    found
}

fn as_set(units: &[Vec<f64>]) -> HashSet<Vec<u64>> {
    units.iter().map(|unit| unit.iter().map(|value| value.to_bits()).collect()).collect()
}

/// 3,000 rows of 400 units in no order, and some that are units of their own.
fn shuffled() -> Rows {
    let unit = |row: u64| {
        (!row.is_multiple_of(13)).then_some(UnitKey::from(row * 7919 % 400) * 0x1234_5678_9abc_def1)
    };
    (0..3000).map(|row| (unit(row), row as f64)).collect()
}

/// In memory and in a file, all rows of a unit are together, in the order of the file, whatever is between them.
#[test]
fn rows_of_a_unit_are_together() {
    let rows = shuffled();
    let mut expected: HashMap<UnitKey, Vec<f64>> = HashMap::new();
    let mut alone: Vec<Vec<f64>> = Vec::new();
    for (unit, value) in &rows {
        match unit {
            Some(unit) => expected.entry(*unit).or_default().push(*value),
            None => alone.push(vec![*value]),
        }
    }
    let expected: Vec<Vec<f64>> = expected.into_values().chain(alone).collect();
    for max in [usize::MAX, 500, 0] {
        let mut found = collected(&rows, None, max);
        assert_eq!(found.count(), expected.len());
        assert_eq!(matches!(found.store, Store::Kept(_)), max == usize::MAX);
        let all = units(&mut found, None);
        assert_eq!(as_set(&all), as_set(&expected));
        assert_eq!(all, units(&mut found, None), "each pass gives the same");
        // Those of some indices are the same ones.
        let wanted = [0, 3, 4, 150, found.count() - 1];
        let some = units(&mut found, Some(&wanted));
        assert_eq!(some, wanted.map(|unit| all[unit].clone()));
        assert!(units(&mut found, Some(&[])).is_empty());
    }
}

/// The guarantee: the other units have the same rows in the same order, whatever the rows of one are, and however many.
#[test]
fn exchanging_a_unit_changes_that_unit_alone() {
    let rows = shuffled();
    let victim = rows.iter().find_map(|(unit, _)| *unit).unwrap();
    let without: Rows = rows.iter().filter(|(unit, _)| *unit != Some(victim)).copied().collect();
    // Another unit instead, with 40 rows here and there.
    let mut exchanged = without.clone();
    (0..40).for_each(|row| exchanged.insert(row * 60, (Some(5), 1e6 + row as f64)));
    for max in [usize::MAX, 0] {
        let [before, gone, after] =
            [&rows, &without, &exchanged].map(|rows| as_set(&units(&mut collected(rows, None, max), None)));
        assert_eq!(before.difference(&gone).count(), 1);
        assert_eq!(gone.difference(&before).count(), 0);
        assert_eq!((gone.difference(&after).count(), after.difference(&gone).count()), (0, 1));
        assert_eq!(collected(&rows, None, max).count(), collected(&exchanged, None, max).count());
    }
}

/// Of a unit with 50 rows, 5 count, each as likely as any other: over 400 runs each row is among them 40 times, with a standard deviation of 6. A unit
/// with fewer has all of its rows.
#[test]
fn rows_beyond_the_limit_are_left_out_by_coins() {
    let rows: Rows = (0..53).map(|row| (Some(UnitKey::from(u8::from(row >= 50))), f64::from(row))).collect();
    for max in [usize::MAX, 0] {
        let mut times = [0; 50];
        for _ in 0..400 {
            let found = units(&mut collected(&rows, Some(5), max), None);
            assert!(found.contains(&vec![50.0, 51.0, 52.0]));
            let many = found.iter().find(|unit| unit[0] < 50.0).unwrap();
            assert!(many.len() == 5 && many.is_sorted());
            many.iter().for_each(|value| times[*value as usize] += 1);
        }
        // Six standard deviations.
        assert!(times.iter().all(|times| (4..=76).contains(times)), "{times:?}");
    }
}

/// Of a unit with more rows than 32 MB hold, so many are kept.
#[test]
fn one_unit_of_all_rows_does_not_fill_the_memory() {
    let (width, rows) = (1 << 12, 6000);
    let most = max_rows(width);
    assert_eq!(most, 1024);
    let mut collector = Collector::new(width, None, 0).unwrap();
    for row in 0..rows {
        collector.add(&vec![f64::from(row); width], &[Some(1)]).unwrap();
    }
    let mut found = collector.finish().unwrap();
    assert_eq!((found.count(), &found.rows[..]), (1, &[1024][..]));
    found.pass(None, &mut |values, starts| {
        assert_eq!((values.len(), starts), (most * width, &[0, most][..]));
        assert!(values.chunks_exact(width).all(|row| row.iter().all(|value| *value == row[0])));
        ControlFlow::Continue(())
    });
}

#[test]
fn a_pass_ends_when_it_is_told_to() {
    let mut found = collected(&shuffled(), None, 0);
    let mut calls = 0;
    found.pass(None, &mut |_, _| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert_eq!(calls, 1);
}

/// Rows of 64 kB: every part of 2048 would keep the room of one.
#[test]
fn wide_rows_leave_no_room_behind() {
    let mut parts = Parts::new().unwrap();
    for (width, count) in [(3, 20_000), (1 << 13, 64)] {
        for row in 0..count {
            parts.add(&Row { unit: UnitKey::from(row % 32), coin: row, values: &vec![1.0; width] }).unwrap();
            let room = |part: &(Vec<u8>, Vec<usize>)| part.0.capacity();
            assert!(room(&parts.waiting[row as usize % 32]) <= 2 * PART_BYTES, "{width} {row}");
        }
    }
    let held: usize = parts.waiting.iter().map(|(waiting, _)| waiting.capacity()).sum();
    assert!(held <= 2 * PARTS * PART_BYTES, "{held}");
}

/// In a process whose folder for temporary files is missing: few rows are the same error as many, and there is none only if there are files for all of them.
#[cfg(unix)]
#[test]
fn a_folder_without_temporary_files_is_an_error_for_any_rows() {
    const CHILD: &str = "RETICENT_TEST_NO_TEMPORARY_FILES";
    if std::env::var_os(CHILD).is_some() {
        for max in [usize::MAX, 0] {
            let made = Collector::new(1, None, max).err();
            assert_eq!(made, Some(TableError::NoTemporary { kind: io::ErrorKind::NotFound }));
        }
        return;
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "units::tests::a_folder_without_temporary_files_is_an_error_for_any_rows"])
        .env(CHILD, "1")
        .env("TMPDIR", "/nowhere/at/all")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
}
