//! Whole jobs, as a user runs them: wall time, throughput and peak memory of the process.
//!
//! ```text
//! cargo bench --bench jobs                    all jobs on about 64 MB of each data set
//! TATTER_BENCH_MB=256 cargo bench --bench jobs -- tokens
//! ```
//!
//! The data is generated once under `target/bench-data`: tokens (one ragged vector of small integers), recsys (12
//! lists and 6 scalars), docs (nested sections, sentences, words). Each job runs with one and with
//! two threads, in turn; medians are printed. Nothing is asserted: these figures belong to a machine.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark may stop at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Name, data set, extension of the input, arguments with `{in}` and `{out}`, extension of the output.
const JOBS: &[(&str, &str, &str, &str, &str)] = &[
    ("count jsonl", "tokens", "jsonl", "count {in} -o {out}", "txt"),
    ("jsonl -> jsonl", "tokens", "jsonl", "convert {in} -o {out}", "jsonl"),
    ("jsonl -> jsonl", "recsys", "jsonl", "convert {in} -o {out}", "jsonl"),
    ("jsonl -> jsonl", "docs", "jsonl", "convert {in} -o {out}", "jsonl"),
    ("batch, to-dense", "tokens", "jsonl", "batch 256 then to-dense --shape tokens=[?,<=512] --default tokens=0 {in} -o {out}", "arrow"),
    (
        "padded npz batches",
        "tokens",
        "jsonl",
        "cast tokens=int32 then batch 256 then to-dense --shape tokens=[?,<=512] --default tokens=0 --lengths {in} -o {out}",
        "d/batch-#####.npz",
    ),
    ("arrow -> npz", "docs", "arrow", "convert {in} -o {out}", "npz"),
    ("npz -> arrow", "docs", "npz", "convert {in} -o {out}", "arrow"),
    ("promote, batch", "docs", "jsonl", "promote sections.sentences --as s then batch 32 {in} -o {out}", "arrow"),
    ("jsonl -> parquet", "tokens", "jsonl", "convert {in} -o {out}", "parquet"),
    ("jsonl -> parquet", "recsys", "jsonl", "convert {in} -o {out}", "parquet"),
    ("jsonl -> parquet", "docs", "jsonl", "convert {in} -o {out}", "parquet"),
    ("count tfrecord", "recsys", "tfrecord", "count {in} -o {out}", "txt"),
    ("tfrecord -> parquet", "tokens", "tfrecord", "convert --scalar id,label {in} -o {out}", "parquet"),
    ("tfrecord -> parquet", "recsys", "tfrecord", "convert --scalar auto {in} -o {out}", "parquet"),
    ("parquet -> tfrecord", "tokens", "parquet", "convert {in} -o {out}", "tfrecord"),
    ("parquet -> tfrecord", "recsys", "parquet", "convert {in} -o {out}", "tfrecord"),
    ("map", "tokens", "jsonl", "map {expr} {in} -o {out}", "arrow"),
    ("pack", "tokens", "parquet", "pack -f tokens --length 2048 --overflow split {in} -o {out}", "arrow"),
    ("stats", "tokens", "parquet", "stats {in} -o {out}", "txt"),
    ("stats", "recsys", "parquet", "stats {in} -o {out}", "txt"),
];

/// The expression of the `map` job.
const EXPRESSION: &str = "y = reduce_sum(tokens * 2 + 1, axis=0); first = tokens[:3]";

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let megabytes: usize = std::env::var("TATTER_BENCH_MB").ok().and_then(|v| v.parse().ok()).unwrap_or(64);
    let runs: usize = std::env::var("TATTER_BENCH_RUNS").ok().and_then(|v| v.parse().ok()).unwrap_or(3);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-data");
    fs::create_dir_all(&data).unwrap();
    println!("{:20} {:7} {:>7} {:>9} {:>9} {:>6} {:>9}", "job", "data", "MB", "1: MB/s", "2: MB/s", "ratio", "peak MiB");
    for (name, set, extension, args, output) in JOBS {
        if !only.is_empty() && !only.iter().any(|o| name.contains(o.as_str()) || set.contains(o.as_str())) {
            continue;
        }
        let Some(input) = input(&data, set, extension, megabytes) else {
            println!("{name:20} {set:7} (no {extension} yet)");
            continue;
        };
        let size = fs::metadata(&input).unwrap().len() as f64 / 1e6;
        let (mut times, mut peak) = ([Vec::new(), Vec::new()], 0);
        for run in 0..=runs {
            for threads in [1, 2] {
                let out = data.join(format!("out.{output}"));
                fs::create_dir_all(out.parent().unwrap()).unwrap();
                let (time, memory) = measure(args, &input, &out, threads);
                if run > 0 {
                    times[threads - 1].push(time);
                    peak = peak.max(memory);
                }
            }
        }
        let [one, two] = times.map(|mut t| {
            t.sort();
            t[t.len() / 2].as_secs_f64()
        });
        println!("{name:20} {set:7} {size:7.1} {:9.0} {:9.0} {:6.2} {:9}", size / one, size / two, one / two, peak >> 10);
    }
}

/// Runs the job; its wall time and peak memory in KiB.
fn measure(args: &str, input: &Path, out: &Path, threads: usize) -> (Duration, u64) {
    let filled = args.split(' ').map(|a| match a {
        "{in}" => input.display().to_string(),
        "{out}" => out.display().to_string(),
        "{expr}" => EXPRESSION.to_owned(),
        other => other.to_owned(),
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_tatter"));
    command.args(filled).args(["--threads", &threads.to_string(), "-q"]).stdout(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let finished = loop {
        if let Some(finished) = child.try_wait().unwrap() {
            break finished;
        }
        if let Some(kib) = fs::read_to_string(&status)
            .ok()
            .and_then(|text| text.lines().find(|l| l.starts_with("VmHWM:"))?.split_whitespace().nth(1)?.parse::<u64>().ok())
        {
            peak = peak.max(kib);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let time = started.elapsed();
    assert!(finished.success(), "{args}: {finished}");
    (time, peak)
}

/// The data set in that format: JSON Lines are generated, the rest is converted from them.
fn input(data: &Path, set: &str, extension: &str, megabytes: usize) -> Option<PathBuf> {
    let path = data.join(format!("{set}-{megabytes}.{extension}"));
    if path.exists() {
        return Some(path);
    }
    if extension == "jsonl" {
        generate(&path, set, megabytes << 20);
        return Some(path);
    }
    let source = input(data, set, "jsonl", megabytes)?;
    let status = Command::new(env!("CARGO_BIN_EXE_tatter")).arg("convert").arg(&source).arg("-o").arg(&path).arg("-q").status();
    status.ok().filter(|s| s.success()).map(|_| path)
}

/// A small deterministic generator (xorshift64*): the same data everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    fn below(&mut self, n: f64) -> usize {
        (self.unit() * n) as usize
    }
    /// Small numbers often, large ones seldom.
    fn skewed(&mut self, n: f64) -> usize {
        let u = self.unit();
        (u * u * n) as usize
    }
    /// A length around `mean`, log-normal, empty with probability `empty`.
    fn length(&mut self, mean: f64, sigma: f64, most: usize, empty: f64) -> usize {
        if self.unit() < empty {
            return 0;
        }
        let normal: f64 = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        ((mean.ln() - sigma * sigma / 2.0 + sigma * normal).exp().round() as usize).min(most)
    }
}

fn list(line: &mut String, n: usize, mut item: impl FnMut(&mut String)) {
    line.push('[');
    for i in 0..n {
        if i > 0 {
            line.push(',');
        }
        item(line);
    }
    line.push(']');
}

fn generate(path: &Path, set: &str, nbytes: usize) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let vocabulary: Vec<String> = (0..20_000)
        .map(|i| {
            let n = 2 + random.below(8.0);
            let mut word: String = (0..n).map(|_| char::from(b'a' + random.below(26.0) as u8)).collect();
            match i % 1000 {
                0..20 => word.push_str(["é", "ü", "漢字", "мир", "😀"][i % 5]),
                20 => word.push_str("\\n"),
                _ => {}
            }
            word
        })
        .collect();
    let (mut file, mut line, mut written, mut id) = (fs::File::create(path).unwrap(), String::new(), 0, 0u64);
    while written < nbytes {
        line.clear();
        for _ in 0..100 {
            match set {
                "tokens" => tokens(&mut line, &mut random, id),
                "recsys" => recsys(&mut line, &mut random, &vocabulary),
                _ => docs(&mut line, &mut random, &vocabulary, id),
            }
            id += 1;
        }
        file.write_all(line.as_bytes()).unwrap();
        written += line.len();
    }
}

fn tokens(line: &mut String, random: &mut Random, id: u64) {
    let _ = write!(line, "{{\"id\":{id},\"tokens\":");
    let n = random.length(60.0, 1.0, 2048, 0.02);
    list(line, n, |line| {
        let _ = write!(line, "{}", random.skewed(50_000.0));
    });
    let _ = writeln!(line, ",\"label\":{}}}", random.below(10.0));
}

fn recsys(line: &mut String, random: &mut Random, vocabulary: &[String]) {
    let (user, time, price) = (random.next() % 9_000_000_000, random.next() % 10_000_000_000, random.unit() * 100.0);
    let _ = write!(line, "{{\"user_id\":{user},\"ts\":{time},\"price\":{price:.2},\"clicked\":{}", random.below(2.0));
    if random.unit() < 0.95 {
        let _ = write!(line, ",\"age\":{}", 18 + random.below(60.0));
    } else {
        line.push_str(",\"age\":null");
    }
    for (name, mean, sigma, empty) in
        [("items", 20.0, 0.9, 0.05), ("shops", 8.0, 0.8, 0.05), ("cands", 10.0, 0.3, 0.0), ("queries", 4.0, 0.6, 0.15)]
    {
        let _ = write!(line, ",\"{name}\":");
        let n = random.length(mean, sigma, 200, empty);
        list(line, n, |line| {
            let _ = write!(line, "{}", random.skewed(5_000_000.0));
        });
    }
    for (name, mean, sigma, empty) in
        [("weights", 20.0, 0.9, 0.05), ("scores", 10.0, 0.3, 0.0), ("dwell", 6.0, 1.1, 0.2), ("ctx", 8.0, 0.2, 0.0)]
    {
        let _ = write!(line, ",\"{name}\":");
        let n = random.length(mean, sigma, 200, empty);
        list(line, n, |line| {
            let _ = write!(line, "{}", random.unit() as f32);
        });
    }
    for (name, mean, sigma, empty) in
        [("categories", 9.0, 0.9, 0.05), ("brands", 6.0, 0.5, 0.02), ("words", 4.0, 0.6, 0.15), ("tags", 2.0, 0.7, 0.4)]
    {
        let _ = write!(line, ",\"{name}\":");
        let n = random.length(mean, sigma, 100, empty);
        list(line, n, |line| {
            let _ = write!(line, "\"{}\"", vocabulary[random.skewed(4000.0)]);
        });
    }
    line.push_str("}\n");
}

fn docs(line: &mut String, random: &mut Random, vocabulary: &[String], id: u64) {
    let _ = write!(line, "{{\"id\":{id},\"title\":\"{} {}\",\"sections\":", vocabulary[random.skewed(2e4)], vocabulary[random.skewed(2e4)]);
    let n = random.length(5.0, 0.6, 20, 0.02);
    list(line, n, |line| {
        let _ = write!(line, "{{\"heading\":\"{}\",\"sentences\":", vocabulary[random.skewed(2e4)]);
        let n = random.length(9.0, 0.7, 60, 0.02);
        list(line, n, |line| {
            let n = random.length(14.0, 0.6, 60, 0.01);
            list(line, n, |line| {
                let _ = write!(line, "\"{}\"", vocabulary[random.skewed(2e4)]);
            });
        });
        line.push('}');
    });
    line.push_str("}\n");
}
