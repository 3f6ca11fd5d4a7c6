//! The options of verbs that take overlapping windows.

use super::args::positive;

/// Where windows start and what they hold.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Windowing {
    /// Length of a window
    #[arg(long, value_name = "W", value_parser = positive)]
    pub size: usize,
    /// Distance between the starts of consecutive windows [default: W]
    #[arg(long, value_name = "S", value_parser = positive)]
    shift: Option<usize>,
    /// Distance between consecutive items of a window
    #[arg(long, value_name = "K", default_value = "1", value_parser = positive)]
    pub stride: usize,
    /// Drop windows with fewer than W items
    #[arg(long)]
    pub drop_remainder: bool,
}

impl Windowing {
    /// Distance from the start of a window to the start of the next.
    pub fn shift(self) -> usize {
        self.shift.unwrap_or(self.size)
    }

    /// The number of values in the window that starts at `start`, out of `n` values.
    pub fn len(self, start: usize, n: usize) -> usize {
        (n - start).div_ceil(self.stride).min(self.size)
    }

    /// The start of each window over `n` values.
    pub fn starts(self, n: usize) -> impl Iterator<Item = usize> {
        (0..n).step_by(self.shift()).take_while(move |start| !self.drop_remainder || self.len(*start, n) == self.size)
    }
}
