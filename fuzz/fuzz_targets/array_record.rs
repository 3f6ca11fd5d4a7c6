#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tatter_fuzz::array_record::run(bytes));
libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tatter_fuzz::structure::fuzzed("array_record", bytes, size, max_size, seed, |bytes, size| {
        libfuzzer_sys::fuzzer_mutate(bytes, size, max_size)
    })
});
