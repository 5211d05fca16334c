//! The memory of a release beyond the records themselves does not grow with their number.

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, Sums, Wall};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards every call to the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's guarantee is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's guarantee is passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Copy;

impl Query for Copy {
    fn width(&self) -> usize {
        20
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        out.fill(record[0]);
    }
}

/// Peak memory during ten releases in bytes, beyond that before them.
fn peak(records: Records, rows: usize, sampler: Sampler) -> usize {
    let mut plan = Plan::new(rows, Adjacency::ReplaceOne);
    let geometry = Geometry::Ball { radius: 1.0 };
    let sums = Sums { what: "x".into(), width: 20, geometry, sampler, noise_multiplier: 5.0, steps: 10 };
    let id = plan.sums(sums).unwrap();
    let privacy = Privacy::new(50.0, 1e-9, Adjacency::ReplaceOne).unwrap();
    let source = NoiseSource::from_os().unwrap();
    let mut wall = Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap();
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    for _ in 0..10 {
        wall.sum(id, &Copy).unwrap();
    }
    PEAK.load(Relaxed) - before
}

fn kept(rows: usize) -> Records {
    Records::new(vec![0.1; rows], 1).unwrap()
}

/// A thousand rows at a time.
fn streamed(rows: usize) -> Records {
    let block = vec![0.1; 1000];
    let pass = move |_: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> std::ops::ControlFlow<()>| {
        let _ = (0..rows / 1000).try_for_each(|_| each(&block));
    };
    Records::streamed(rows, 1, Box::new(pass)).unwrap()
}

#[test]
fn memory_does_not_grow_with_the_number_of_records() {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    one_thread.install(|| {
        for sampler in [Sampler::Full, Sampler::Fixed { batch: 50 }] {
            let peak = |rows| peak(kept(rows), rows, sampler);
            peak(1_000); // allocations made once per process
            let (few, many) = (peak(1_000), peak(1_000_000));
            // The sampled rows of a fixed batch are kept in a tree, whose shape varies a little.
            assert!(many <= few + 2_048, "{sampler}: {few} bytes for a thousand, {many} for a million");
        }
        // A pass stores the order of its records: 8 bytes each, and no more.
        let pass = peak(kept(1_000_000), 1_000_000, Sampler::Pass { batch: 50_000 });
        assert!((8_000_000..8_100_000).contains(&pass), "{pass}");
        let all = |rows| peak(streamed(rows), rows, Sampler::Full);
        let (few, many) = (all(1_000), all(1_000_000));
        assert!(many <= few + 2_048, "streamed: {few} bytes for a thousand, {many} for a million");
    });
}
