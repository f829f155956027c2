//! Coding parameters: what the headers say about packets and about each component.
//!
//! ```text
//! SIZ    0xff51  Lsiz  Rsiz: u16  8 sizes: u32 each  Csiz: u16  Csiz × (Ssiz XRsiz YRsiz: u8)
//! COD    0xff52  Lcod  Scod: u8  order: u8  layers: u16  colour transform: u8  SP
//! COC    0xff53  Lcoc  component: u8, or u16 from 257 components on  Scoc: u8  SP
//! SP     levels: u8  width, height of code blocks as exponents - 2: u8  style: u8  wavelet: u8  [precincts: u8 each]
//! QCD    0xff5c  Lqcd  Sqcd: u8  steps: u8 or u16 each
//! QCC    0xff5d  Lqcc  component  Sqcc: u8  steps
//! ```
//! Source: ITU-T T.800, A.5.1, A.6.1 to A.6.5.

/// Marker codes (ITU-T T.800, table A.2).
const COD: u8 = 0x52;
const COC: u8 = 0x53;
const QCD: u8 = 0x5c;
const QCC: u8 = 0x5d;
const POC: u8 = 0x5f;
const CRG: u8 = 0x63;

/// The largest number of levels for which all sizes fit into 32 bits. Encoders use 5 or 6.
const MOST_LEVELS: u8 = 24;

/// The coding parameters of a codestream of one tile.
#[derive(Clone, Debug)]
pub struct Coding {
    pub order: Order,
    pub layers: u32,
    /// True if the first three components are luma and two of chroma.
    pub has_colour_transform: bool,
    /// True if packets may begin with an SOP marker.
    pub has_start_markers: bool,
    /// True if packet headers end with an EPH marker.
    pub has_end_markers: bool,
    pub components: Vec<ComponentCoding>,
}

/// The order of packets (ITU-T T.800, table A.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Layer,
    Resolution,
    ResolutionPosition,
    Position,
    Component,
}

/// The coding parameters of a component.
#[derive(Clone, Debug)]
pub struct ComponentCoding {
    /// Bits per sample.
    pub precision: u8,
    pub parameters: Parameters,
    steps: Steps,
}

/// The parameters of a component's wavelet transform and code blocks, from COD or COC.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Levels of the wavelet transform.
    pub levels: u8,
    /// Width and height of a code block, as exponents of 2.
    pub block: [u8; 2],
    pub style: Style,
    /// True for the 5/3 wavelet of integers, false for the 9/7 wavelet of floats.
    pub is_reversible: bool,
    /// Width and height of each resolution's precincts, as exponents of 2.
    pub precincts: Vec<[u8; 2]>,
}

/// The style of code blocks (ITU-T T.800, table A.19).
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Some passes are raw bits, without arithmetic coding.
    pub bypass: bool,
    /// Probabilities are reset after each pass.
    pub reset: bool,
    /// Each pass ends its segment.
    pub terminates: bool,
    /// Contexts do not use the stripe below.
    pub is_causal: bool,
    /// A segmentation symbol of four bits follows each clean-up pass.
    pub has_symbols: bool,
}

/// The guard bits, and the step sizes of all bands, from QCD or QCC.
#[derive(Clone, Debug)]
struct Steps {
    guard_bits: u8,
    quantization: Quantization,
}

/// Step sizes (ITU-T T.800, A.6.4).
#[derive(Clone, Debug)]
enum Quantization {
    /// The exponent of each band.
    None(Vec<u8>),
    /// Exponent and mantissa of the lowest band, from which the others are derived.
    Derived(u8, u16),
    /// Exponent and mantissa of each band.
    Expounded(Vec<(u8, u16)>),
}

/// Returns the segments of a main header as they apply to a tile whose header has others: its COD replaces COD and all
/// COC, its QCD likewise, and its POC replaces POC (ITU-T T.800, A.6.1 to A.6.6). Of two segments for a component, the
/// last counts.
pub fn for_tile(main: &[u8], tile: &[u8]) -> Vec<u8> {
    let own: Vec<u8> = segments(tile).filter_map(|segment| segment.get(1).copied()).collect();
    let is_replaced = |segment: &[u8]| {
        let by = |marker: u8| own.contains(&marker);
        match segment.get(1) {
            Some(&(COD | COC)) => by(COD),
            Some(&(QCD | QCC)) => by(QCD),
            Some(&POC) => by(POC),
            _ => false,
        }
    };
    let kept = segments(main).filter(|segment| !is_replaced(segment));
    kept.chain(segments(tile)).flatten().copied().collect()
}

/// Returns marker segments, each with its marker, as far as they are valid.
fn segments(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = match bytes {
            // Markers without a segment (ITU-T T.800, A.1).
            [0xff, 0x30..=0x3f, ..] => 2,
            [0xff, _, high, low, ..] => 2 + usize::from(u16::from_be_bytes([*high, *low])),
            _ => return None,
        };
        let (segment, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        Some(segment)
    })
}

impl Coding {
    /// Reads the marker segment SIZ and the segments after it. Returns `None` if they need something unsupported:
    /// components of different sizes, regions of interest, packet headers apart from their packets, changes of the
    /// packets' order.
    pub fn of(siz: &[u8], headers: &[u8]) -> Option<Self> {
        let (sizes, rest) = siz.get(40..)?.as_chunks::<3>();
        if !rest.is_empty() || sizes.is_empty() || sizes.iter().any(|&[_, x, y]| (x, y) != (1, 1)) {
            return None;
        }
        let wide = sizes.len() > 256;
        let (mut coding, mut parameters) = (None, vec![None; sizes.len()]);
        let (mut steps, mut own_steps) = (None, vec![None; sizes.len()]);
        for segment in segments(headers) {
            let [_, marker, _, _, content @ ..] = segment else { continue };
            let mut content = Reader(content);
            match *marker {
                COD => coding = Some(Self::read(&mut content)?),
                QCD => steps = Some(Steps::read(&mut content)?),
                COC => {
                    let component = content.component(wide)?;
                    let has_precincts = content.byte()? & 1 != 0;
                    *parameters.get_mut(component)? = Some(Parameters::read(&mut content, has_precincts)?);
                }
                QCC => {
                    let component = content.component(wide)?;
                    *own_steps.get_mut(component)? = Some(Steps::read(&mut content)?);
                }
                CRG => {}
                _ => return None,
            }
        }
        let (mut coding, default) = coding?;
        let components =
            sizes.iter().zip(parameters).zip(own_steps).map(|((&[size, ..], own), own_steps)| {
                let parameters = own.unwrap_or_else(|| default.clone());
                let steps = own_steps.or_else(|| steps.clone())?;
                let precision = (size & 0x7f) + 1;
                let is_quantized = !matches!(steps.quantization, Quantization::None(_));
                (parameters.is_reversible != is_quantized && precision <= 16).then_some(ComponentCoding {
                    precision,
                    parameters,
                    steps,
                })
            });
        coding.components = components.collect::<Option<_>>()?;
        Some(coding)
    }

    /// Reads COD. The components are still missing; the parameters are those of all without a COC.
    fn read(content: &mut Reader<'_>) -> Option<(Self, Parameters)> {
        let flags = content.byte()?;
        let coding = Self {
            order: Order::read(content)?,
            layers: content.number().filter(|&layers| layers > 0)?.into(),
            has_colour_transform: match content.byte()? {
                0 => false,
                1 => true,
                _ => return None,
            },
            has_start_markers: flags & 2 != 0,
            has_end_markers: flags & 4 != 0,
            components: Vec::new(),
        };
        Some((coding, Parameters::read(content, flags & 1 != 0)?))
    }
}

impl Order {
    fn read(content: &mut Reader<'_>) -> Option<Self> {
        Some(match content.byte()? {
            0 => Self::Layer,
            1 => Self::Resolution,
            2 => Self::ResolutionPosition,
            3 => Self::Position,
            4 => Self::Component,
            _ => return None,
        })
    }
}

impl ComponentCoding {
    /// Returns the number of bit planes of a band, and its step size. `kind` is 0 for LL, 1 for HL, 2 for LH, 3 for HH.
    pub fn band(&self, resolution: usize, kind: u8) -> Option<(u8, f32)> {
        let index = match resolution {
            0 => 0,
            _ => 3 * (resolution - 1) + usize::from(kind),
        };
        let (exponent, mantissa) = match &self.steps.quantization {
            Quantization::None(exponents) => (*exponents.get(index)?, 0),
            // Equation E-5: the exponent falls with each level.
            Quantization::Derived(exponent, mantissa) => {
                (exponent.checked_sub(u8::try_from(resolution.saturating_sub(1)).ok()?)?, *mantissa)
            }
            Quantization::Expounded(steps) => *steps.get(index)?,
        };
        // Equation E-2.
        let planes = (self.steps.guard_bits + exponent).checked_sub(1)?;
        if self.parameters.is_reversible {
            return Some((planes, 1.0));
        }
        // Equations E-3 and E-4: HL and LH have one bit more than LL, HH two.
        let gain = [0, 1, 1, 2][usize::from(kind & 3)];
        let range = i32::from(self.precision) + gain - i32::from(exponent);
        Some((planes, 2f32.powi(range) * (1.0 + f32::from(mantissa) / 2048.0)))
    }
}

impl Parameters {
    fn read(content: &mut Reader<'_>, has_precincts: bool) -> Option<Self> {
        let levels = content.byte().filter(|&levels| levels <= MOST_LEVELS)?;
        let block = [content.byte()?.checked_add(2)?, content.byte()?.checked_add(2)?];
        if block.iter().any(|&side| side > 10) || block[0] + block[1] > 12 {
            return None;
        }
        // Higher bits belong to other parts of the standard; bit 4 (predictable termination) does not affect decoding.
        let style = content.byte().filter(|style| style & !0x3f == 0)?;
        let is_reversible = content.byte().filter(|&wavelet| wavelet <= 1)? == 1;
        let precincts = (0..=levels).map(|resolution| {
            if !has_precincts {
                return Some([15, 15]);
            }
            let sizes = content.byte().map(|sizes| [sizes & 15, sizes >> 4]);
            sizes.filter(|sizes| resolution == 0 || !sizes.contains(&0))
        });
        Some(Self {
            levels,
            block,
            style: Style {
                bypass: style & 1 != 0,
                reset: style & 2 != 0,
                terminates: style & 4 != 0,
                is_causal: style & 8 != 0,
                has_symbols: style & 32 != 0,
            },
            is_reversible,
            precincts: precincts.collect::<Option<_>>()?,
        })
    }
}

impl Steps {
    fn read(content: &mut Reader<'_>) -> Option<Self> {
        let style = content.byte()?;
        let step = |number: u16| ((number >> 11) as u8, number & 0x7ff);
        let quantization = match style & 31 {
            0 => Quantization::None(content.0.iter().map(|number| number >> 3).collect()),
            1 => {
                let (exponent, mantissa) = step(content.number()?);
                Quantization::Derived(exponent, mantissa)
            }
            2 => Quantization::Expounded(
                content.0.as_chunks().0.iter().map(|&number| step(u16::from_be_bytes(number))).collect(),
            ),
            _ => return None,
        };
        Some(Self { guard_bits: style >> 5, quantization })
    }
}

/// The content of a marker segment.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    fn component(&mut self, wide: bool) -> Option<usize> {
        if wide { self.number().map(usize::from) } else { self.byte().map(usize::from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
        [&[0xff, marker, 0, content.len() as u8 + 2], content].concat()
    }

    /// Returns COD with these levels, or COC with these levels for a component.
    fn levels(component: Option<u8>, levels: u8) -> Vec<u8> {
        let shared = [levels, 4, 4, 0, 1];
        match component {
            None => segment(COD, &[&[0, 0, 0, 2, 0], &shared[..]].concat()),
            Some(component) => segment(COC, &[&[component, 0], &shared[..]].concat()),
        }
    }

    fn coding(segments: &[u8]) -> Option<Coding> {
        let siz = [&[0; 40][..], &[7, 1, 1].repeat(3)].concat();
        let steps = segment(QCD, &[&[0x40][..], &[0x40; 40]].concat());
        Coding::of(&siz, &[segments, &steps].concat())
    }

    #[test]
    fn a_tiles_header_replaces_the_main_header() {
        let levels_of = |main: &[Vec<u8>], tile: &[Vec<u8>]| {
            let coding = coding(&for_tile(&main.concat(), &tile.concat())).unwrap();
            coding.components.iter().map(|component| component.parameters.levels).collect::<Vec<_>>()
        };
        let main = [levels(None, 5), levels(Some(1), 4)];
        assert_eq!(levels_of(&main, &[]), [5, 4, 5]);
        assert_eq!(levels_of(&main, &[levels(Some(1), 3), levels(Some(2), 2)]), [5, 3, 2]);
        assert_eq!(levels_of(&main, &[levels(None, 1)]), [1, 1, 1]);
        assert_eq!(levels_of(&main, &[levels(None, 1), levels(Some(0), 2)]), [2, 1, 1]);
    }

    #[test]
    fn a_change_of_the_packet_order_is_left_to_the_other_decoder() {
        let change = segment(POC, &[0, 0, 0, 1, 6, 3, 2]);
        assert!(coding(&levels(None, 5)).is_some());
        assert!(coding(&[levels(None, 5), change.clone()].concat()).is_none());
        assert!(coding(&for_tile(&levels(None, 5), &change)).is_none());
    }
}
