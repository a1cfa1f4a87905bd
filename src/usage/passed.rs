//! Pictures and sound that passed of an answer beside its text.

/// Pictures and sound that passed, whole or in part, in base64 or by their address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Pictures that came or had begun: whole ones, and those of which no more than a partial one came, or the word that they
    /// are being made.
    pub pictures: u64,
    /// Partial pictures.
    pub partial_pictures: u64,
    /// Bytes of the data of pictures.
    pub picture_bytes: u64,
    /// Bytes of the data of sound.
    pub sound_bytes: u64,
    /// Of these, bytes of sound that is not compressed.
    pub pcm_bytes: u64,
}

impl Passed {
    /// Adds what else passed.
    pub(super) fn add(&mut self, more: &Self) {
        for (sum, more) in [
            (&mut self.pictures, more.pictures),
            (&mut self.partial_pictures, more.partial_pictures),
            (&mut self.picture_bytes, more.picture_bytes),
            (&mut self.sound_bytes, more.sound_bytes),
            (&mut self.pcm_bytes, more.pcm_bytes),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}
