//! Runs each fuzz target over its seeds and a few changes of the structures in them, without a fuzzer, so that an outdated
//! target fails here.

// Fuzzers use the rest.
#[allow(dead_code)]
#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_target_runs_over_its_seeds() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let listed = |folder: &str| -> BTreeSet<String> {
        let names = std::fs::read_dir(fuzz.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let known: BTreeSet<String> = targets::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed("fuzz_targets"), known);
    assert_eq!(listed("seeds").into_iter().filter(|name| name != "made").collect::<BTreeSet<_>>(), known);
    for (name, run) in targets::TARGETS {
        for seed in std::fs::read_dir(fuzz.join("seeds").join(name)).unwrap() {
            let bytes = std::fs::read(seed.unwrap().path()).unwrap();
            run(&bytes);
            let mut random = targets::structure::Random::new(1);
            (0..5).filter_map(|_| targets::structure::mutate(name, &bytes, &mut random)).for_each(|changed| run(&changed));
        }
    }
}
