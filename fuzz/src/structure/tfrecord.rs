//! TFRecord: frames with checksums around messages.

use super::{Random, protobuf, range, u64_at};
use tatter::io::masked_crc32c;

/// A frame with the right checksums.
pub fn framed(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    [&length[..], &masked_crc32c(&length).to_le_bytes(), payload, &masked_crc32c(payload).to_le_bytes()].concat()
}

/// The payloads, whatever the checksums.
pub fn frames(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut at, mut payloads) = (0, Vec::new());
    while at < bytes.len() {
        let len = u64_at(bytes, at)?;
        payloads.push(range(bytes, at + 12, len)?);
        at += 16 + len;
    }
    (at == bytes.len()).then_some(payloads)
}

/// Changes the message of a record, or the order of the records.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut payloads: Vec<Vec<u8>> = frames(bytes)?.into_iter().map(<[u8]>::to_vec).collect();
    let at = random.below(payloads.len());
    match payloads.get_mut(at) {
        Some(payload) if !random.one_in(10) => match protobuf::mutate(payload, random) {
            Some(changed) => *payload = changed,
            None => random.scramble(payload),
        },
        _ => random.rearrange(&mut payloads),
    }
    let mut out: Vec<u8> = payloads.iter().flat_map(|payload| framed(payload)).collect();
    if random.one_in(20) {
        random.scramble(&mut out);
    }
    Some(out)
}
