//! Why a page has no vectors. Its pixels are shown at every zoom then, so a refusal is no failure.

/// The reason why a page has no vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Blending depends on the pixels below; browsers differ and are slow.
    #[error("the page blends colours")]
    Blending,
    /// Masks are bitmaps of the page's size.
    #[error("the page has a mask")]
    Mask,
    /// Filters are computed on pixels.
    #[error("the page has a filter")]
    Filter,
    /// A gradient that bands of colour do not show exactly: a mesh, a translucent one, one that ends within the shape.
    #[error("the page has a gradient that paths cannot show")]
    Gradient,
    /// A pattern that is translucent, strokes a line, or has too many cells.
    #[error("the page has a pattern that paths cannot show")]
    Pattern,
    /// A picture that cannot be read or encoded.
    #[error("the page has a picture that cannot be embedded")]
    Picture,
    /// The pictures are too large.
    #[error("the page's pictures are too large")]
    Pictures,
    /// Letters of a font or encoding that is not in the file.
    #[error("the page has letters of a font or encoding that is not embedded")]
    Letters,
    /// A redaction is marked, but what it hides is still in the file.
    #[error("the page has redactions")]
    Redactions,
    /// Layers that the renderer of the pixels may hide where the interpreter shows them.
    #[error("the document has layers with uncommon rules")]
    Layers,
    /// The page's size or a coordinate is not a number, or too far away.
    #[error("the page has coordinates beyond the bounds")]
    Coordinates,
    /// Too many segments.
    #[error("the page has too many segments")]
    Segments,
    /// Too many lines beside each other, each of which a browser looks at for a row of pixels.
    #[error("the page has too many lines beside each other")]
    Edges,
    /// Too many clips or groups, or too deep.
    #[error("the page has too many clips or groups")]
    Groups,
    /// Too much is painted over each other.
    #[error("the page is painted too often")]
    Area,
    /// Too many dashes.
    #[error("the page has too many dashes")]
    Dashes,
    /// The SVG is too long.
    #[error("the page's vectors are too large")]
    Bytes,
    /// The interpreter takes too many steps.
    #[error("the page is too complex")]
    Steps,
    /// The interpreter failed.
    #[error("the page cannot be interpreted")]
    Interpreter,
    /// The page is empty or a scan: its pixels are all there is.
    #[error("the page has nothing but pictures")]
    NoOutlines,
    /// Its vectors, or those of the pages before it, took too long.
    #[error("the time for vectors is used up")]
    Time,
    /// The drawing does not look like the page's pixels.
    #[error("the vectors do not look like the page")]
    Unlike,
}
