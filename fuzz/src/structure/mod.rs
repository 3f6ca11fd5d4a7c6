//! Changes of decoded structures. Random bytes hardly ever get past checksums, lengths and headers: here the container is
//! decoded, a part of it changed, and all of it encoded again so that the reader reaches the change.

mod array_record;
mod arrow;
mod compressed;
mod header;
mod parquet;
mod protobuf;
mod random;
mod tfrecord;
mod thrift;
mod zip;

pub use random::Random;

/// Changes a structure; None if the bytes have none.
pub type Mutator = fn(&[u8], &mut Random) -> Option<Vec<u8>>;

/// The mutators of a target's inputs.
fn mutators(target: &str) -> &'static [Mutator] {
    match target {
        "tfrecord" => &[tfrecord::mutate, tfrecord::mutate, compressed::mutate],
        "columnar" => &[parquet::mutate, arrow::mutate],
        "arrays" | "matrices" => &[zip::mutate, header::mutate, compressed::mutate],
        "csv" | "json" | "text" | "webdataset" => &[compressed::mutate],
        "tfds" => &[shard],
        "array_record" => &[array_record::mutate],
        _ => &[],
    }
}

/// A file of a TFDS dataset is preceded by a byte that says which one it is.
fn shard(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let (which, file) = bytes.split_first()?;
    Some([&[*which], tfrecord::mutate(file, random)?.as_slice()].concat())
}

/// Changes one to four things in the structure of an input of the target; None if no mutator knows it.
pub fn mutate(target: &str, bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let all = mutators(target);
    if all.is_empty() {
        return None;
    }
    let first = random.below(all.len());
    let (mutator, mut changed) =
        (0..all.len()).map(|i| all[(first + i) % all.len()]).find_map(|mutator| Some((mutator, mutator(bytes, random)?)))?;
    for _ in 0..random.below(4) {
        let Some(again) = mutator(&changed, random) else { break };
        changed = again;
    }
    Some(changed)
}

/// The target of a fuzzer's mutator: either a structure or the fuzzer's own kind of change.
pub fn fuzzed(target: &str, bytes: &mut [u8], len: usize, max_len: usize, seed: u32, own: impl FnOnce(&mut [u8], usize) -> usize) -> usize {
    let mut random = Random::new(u64::from(seed));
    let changed = if random.one_in(2) { None } else { mutate(target, &bytes[..len], &mut random) };
    match changed.filter(|changed| changed.len() <= max_len) {
        Some(changed) => {
            bytes[..changed.len()].copy_from_slice(&changed);
            changed.len()
        }
        None => own(bytes, len),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?).into())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?) as usize)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?)).ok()
}

fn range(bytes: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(len)?)
}

#[cfg(test)]
mod tests {
    use super::{Random, arrow, compressed, header, parquet, tfrecord, zip};

    /// The share, in percent, of changed seeds that differ from the seed and that `reads` accepts as a container.
    fn share(seed: &[u8], mutate: super::Mutator, reads: impl Fn(&[u8]) -> bool) -> usize {
        let mut random = Random::new(1);
        let changed = (0..200).map(|_| mutate(seed, &mut random).expect("a container"));
        changed.filter(|changed| changed != seed && reads(changed)).count() / 2
    }

    #[test]
    fn changed_containers_are_still_containers() {
        let frame = tfrecord::framed(b"\x0a\x0c\x0a\x0a\x0a\x01a\x12\x05\x1a\x03\x0a\x01\x07");
        assert!(share(&frame, tfrecord::mutate, |bytes| tfrecord::frames(bytes).is_some()) > 70);
        let npy = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }".to_vec();
        let npy = [npy, vec![b' '; 60], b"\n".to_vec(), vec![0; 16]].concat();
        assert!(share(&npy, header::mutate, |bytes| bytes.starts_with(b"\x93NUMPY")) > 70);
        let archive = zip::archive(&[zip::Member::new(b"a.npy", npy)], b"types");
        assert!(share(&archive, zip::mutate, |bytes| zip::members(bytes).is_some()) > 70);
        assert!(share(b"{\"a\": 1}\n", compressed::mutate, |bytes| bytes.first() != Some(&b'{')) > 70);
    }

    #[test]
    fn columnar_seeds_have_structures() {
        let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/columnar");
        for (name, mutate) in
            [("lists.parquet", parquet::mutate as super::Mutator), ("lists.arrow", arrow::mutate), ("lists.arrows", arrow::mutate)]
        {
            let seed = std::fs::read(format!("{seeds}/{name}")).expect("a seed");
            assert!(share(&seed, mutate, |bytes| mutate(bytes, &mut Random::new(2)).is_some()) > 60, "{name}");
        }
    }
}
