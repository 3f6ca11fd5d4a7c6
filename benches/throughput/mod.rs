//! What the benchmarks of expressions share: how many records, and the table of what is measured.

use std::hint::black_box;
use std::time::Instant;
use tatter::chunk::Chunk;
use tatter::expr::Program;
use tatter::options::Options;
use tatter::schema::Schema;

/// The number after `--`, or 4,096: columns of about 1 MiB.
pub fn records() -> usize {
    std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(4_096)
}

/// Prints the throughput of each expression: its name, its text, and the bytes that go in for each of `n` values.
pub fn print(expressions: &[(&str, &str, u64)], schema: &Schema, chunk: &Chunk, n: usize) {
    println!("{:<28} {:>10}", "GiB of values a second", "tatter");
    for (name, text, width) in expressions {
        let program = Program::bind(&format!("out = {text}"), schema, &Options::default()).unwrap();
        let seconds = best(|| drop(black_box(program.apply(chunk.clone()).unwrap())));
        println!("{name:<28} {:>10.2}", (n as u64 * width) as f64 / seconds / (1u64 << 30) as f64);
    }
}

/// The best of 60 runs; what other programs do on the machine counts least in it.
fn best(run: impl Fn()) -> f64 {
    let timed = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..60).map(timed).fold(f64::INFINITY, f64::min)
}
