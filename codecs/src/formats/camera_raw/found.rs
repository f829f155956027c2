//! What containers of camera raw files tell.

/// A place in the file where a JPEG may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub start: u64,
    pub length: u64,
}

/// What a container has to say.
#[derive(Default)]
pub struct Found {
    pub places: Vec<Place>,
    /// The camera's orientation, for previews that have none of their own.
    pub orientation: Option<u32>,
    /// Whether the first directory cannot be read.
    pub is_broken: bool,
}
