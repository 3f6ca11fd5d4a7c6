//! The seed of a verb that draws random numbers.

use crate::options::Options;
use crate::random::{Random, Stream};

/// The option `--seed`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Seed {
    /// Seed for random numbers [default: the global --seed]
    #[arg(id = "seed", long, value_name = "N")]
    pub given: Option<u64>,
}

impl Seed {
    /// The random numbers of the verb.
    pub fn random(&self, stream: Stream, options: &Options) -> Random {
        Random::of(stream, self.given.unwrap_or(options.seed))
    }

    /// The options with this seed, for expressions that draw random numbers.
    pub fn options(&self, options: &Options) -> Options {
        Options { seed: self.given.unwrap_or(options.seed), ..options.clone() }
    }
}
