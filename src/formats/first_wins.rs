//! Leaves out of the inference the records that `--on-error skip` will skip because a value has another type than in an earlier
//! record. Such a record must not determine the types of its other fields, nor add fields.
//!
//! Blocks are observed in parallel, without the records before them. Most records clash with none, so they are observed in
//! groups; a group with a clash is divided. What remains of a block is merged as a whole, unless it clashes with the blocks
//! before it; then its records are observed again, after those.

use crate::error::Result;

/// Number of records that are observed together at first, and the parts into which a group with a clash is divided.
const GROUP: usize = 64;
const PARTS: usize = 8;

/// Whether the values of some records have one type; what is worse is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clash {
    /// They have one, and so have those of any of these records.
    None,
    /// They have one, but those of some of these records do not.
    InOrder,
    /// They have none, but would have one with the values of further records.
    SoFar,
    /// They have none, whatever follows.
    Always,
}

/// What has been observed of some records.
pub trait Observations: Default {
    /// These records, undecoded.
    type Records: Records<Seen = Self>;

    /// How the types of `later` records clash with these and with each other.
    fn clash(&self, later: &Self) -> Clash;

    /// Adds observations of later records.
    fn add(&mut self, later: Self);

    /// The observed records, if those that clash with earlier ones are left out.
    fn kept(&mut self) -> &mut Option<Kept<Self::Records>>;
}

/// Undecoded records.
pub trait Records {
    /// What is observed of them.
    type Seen: Observations<Records = Self>;
    /// A place between two of them.
    type Place<'a>: Copy
    where
        Self: 'a;

    /// The place before the first.
    fn start(&self) -> Self::Place<'_>;

    /// Observes at most `most` records from `place`, which moves to their end, and returns how many: fewer only at the end.
    ///
    /// # Errors
    /// A record without which the others cannot be read either.
    fn observe<'a>(&'a self, place: &mut Self::Place<'a>, most: usize) -> Result<(Self::Seen, usize)>;
}

/// Observed records, kept until those before them have been observed.
pub struct Kept<R> {
    blocks: Vec<R>,
    /// Whether one was left out that would not clash with further values before it.
    is_open: bool,
}

/// Observes the records that do not clash with those before them.
///
/// # Errors
/// See [`Records::observe`].
pub fn observe<R: Records>(records: R) -> Result<R::Seen> {
    let mut seen = R::Seen::default();
    let is_open = observe_after(&mut seen, &records)?;
    *seen.kept() = Some(Kept { blocks: vec![records], is_open });
    Ok(seen)
}

/// Adds observations of the records that follow.
pub fn join<S: Observations>(earlier: &mut S, mut later: S) {
    let mut kept = later.kept().take();
    match &mut kept {
        Some(Kept { blocks, is_open }) if *is_open || earlier.clash(&later) > Clash::None => {
            *is_open = false;
            for block in blocks.iter() {
                // An error would have been found before.
                *is_open |= observe_after(earlier, block).unwrap_or(true);
            }
        }
        _ => earlier.add(later),
    }
    match (earlier.kept(), kept) {
        (Some(before), Some(mut more)) => {
            before.blocks.append(&mut more.blocks);
            before.is_open |= more.is_open;
        }
        (before, more) => *before = before.take().or(more),
    }
}

/// Observes the records that do not clash with those before them, and returns [`Kept::is_open`].
fn observe_after<R: Records>(seen: &mut R::Seen, records: &R) -> Result<bool> {
    let mut all = Grouped { seen, records, is_open: false };
    let mut place = records.start();
    while all.observe(&mut place, GROUP)? {}
    Ok(all.is_open)
}

struct Grouped<'a, R: Records> {
    seen: &'a mut R::Seen,
    records: &'a R,
    is_open: bool,
}

impl<'a, R: Records> Grouped<'a, R> {
    /// Observes the next records, at most that many. Returns whether there may be more.
    fn observe(&mut self, place: &mut R::Place<'a>, most: usize) -> Result<bool> {
        let start = *place;
        let (group, found) = self.records.observe(place, most)?;
        let clash = self.seen.clash(&group);
        if clash == Clash::None || (most == 1 && clash == Clash::InOrder) {
            self.seen.add(group);
        } else if most == 1 {
            self.is_open |= clash == Clash::SoFar;
        } else {
            *place = start;
            for _ in 0..PARTS {
                if !self.observe(place, most / PARTS)? {
                    break;
                }
            }
        }
        Ok(found == most)
    }
}
