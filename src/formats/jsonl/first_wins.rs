//! Leaves out of the inference the records that `--on-error skip` will skip because a value has another type than in an earlier
//! record. Such a record must not determine the types of its other fields, nor add fields.
//!
//! Parts of an input are observed in parallel, without the records before them. Nearly always they clash with nothing, and are
//! merged as a whole. Otherwise their records are observed again, in order and one by one, after those before them.

use crate::json::seen::{FirstSeen, Kind, SeenMembers, SeenNode};
use crate::json::settle::kinds;

/// Whether records clash with each other.
pub fn is_mixed(records: &SeenMembers) -> bool {
    clashes(&SeenMembers::default(), records)
}

/// Whether a value of `later` has another type than the values of `earlier` at its position.
pub fn clashes(earlier: &SeenMembers, later: &SeenMembers) -> bool {
    later.list.iter().filter(|theirs| theirs.count > 0).any(|theirs| clash(earlier.find(&theirs.name), &theirs.node))
}

fn clash(earlier: Option<&SeenNode>, later: &SeenNode) -> bool {
    let first = |kind: Kind| earlier.map_or(FirstSeen::NEVER, |earlier| earlier[kind]).min(later[kind]);
    let kinds = kinds(first);
    let is_set = |kind| first(kind).is_set();
    let no_type_holds_all = if kinds.float.is_set() {
        is_set(Kind::BeyondFloat)
    } else {
        is_set(Kind::Beyond64Bits) || (is_set(Kind::BeyondInt64) && is_set(Kind::Negative))
    };
    if no_type_holds_all || kinds.found().nth(1).is_some() {
        return true;
    }
    if let Some(element) = later.element.as_deref().filter(|_| later[Kind::List].is_set())
        && clash(earlier.and_then(|earlier| earlier.element.as_deref()), element)
    {
        return true;
    }
    match later.members.as_deref().filter(|_| later[Kind::Object].is_set()) {
        None => false,
        Some(members) => match earlier.and_then(|earlier| earlier.members.as_deref()) {
            Some(earlier) => clashes(earlier, members),
            None => is_mixed(members),
        },
    }
}
