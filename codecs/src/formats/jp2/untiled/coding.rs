//! How a codestream's samples are coded: what its main header says of each component.
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

/// The markers. Source: ITU-T T.800, table A.2.
const COD: u8 = 0x52;
const COC: u8 = 0x53;
const QCD: u8 = 0x5c;
const QCC: u8 = 0x5d;
const CRG: u8 = 0x63;

/// The most levels for which all sizes fit into 32 bits. Encoders make 5 or 6.
const MOST_LEVELS: u8 = 24;

/// How all components are coded.
#[derive(Clone, Debug)]
pub struct Coding {
    pub order: Order,
    pub layers: u32,
    /// Whether the first three components are one of luma and two of chroma.
    pub has_colour_transform: bool,
    /// Whether packets may begin with a marker, and whether their headers end with one.
    pub has_start_markers: bool,
    pub has_end_markers: bool,
    pub components: Vec<ComponentCoding>,
}

/// The order of packets. Source: ITU-T T.800, table A.16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Layer,
    Resolution,
    ResolutionPosition,
    Position,
    Component,
}

/// How a component is coded.
#[derive(Clone, Debug)]
pub struct ComponentCoding {
    /// The bits of a sample.
    pub precision: u8,
    /// The levels of the wavelet transform.
    pub levels: u8,
    /// Width and height of a code block, as exponents of 2.
    pub block: [u8; 2],
    pub style: Style,
    /// Whether the wavelet transform is the one of integers.
    pub is_reversible: bool,
    /// Width and height of precincts as exponents of 2, for each resolution.
    pub precincts: Vec<[u8; 2]>,
    guard_bits: u8,
    quantization: Quantization,
}

/// How code blocks are coded. Source: ITU-T T.800, table A.19.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Some passes are bits without arithmetic coding.
    pub bypass: bool,
    /// Probabilities begin anew with each pass.
    pub reset: bool,
    /// Each pass ends its segment.
    pub terminates: bool,
    /// A stripe knows nothing of the one below.
    pub is_causal: bool,
    /// Four bits stand after each clean-up pass.
    pub has_symbols: bool,
}

/// The sizes of steps. Source: ITU-T T.800, A.6.4.
#[derive(Clone, Debug)]
enum Quantization {
    /// An exponent for each band.
    None(Vec<u8>),
    /// Exponent and mantissa of the lowest band, from which all others follow.
    Derived(u8, u16),
    /// Exponent and mantissa of each band.
    Expounded(Vec<(u8, u16)>),
}

impl Coding {
    /// Reads the marker segment SIZ and those after it. `None` when this decoder does not read what they ask for:
    /// components of different sizes, regions of interest, changing orders.
    pub fn of(siz: &[u8], mut segments: &[u8]) -> Option<Self> {
        let (sizes, rest) = siz.get(40..)?.as_chunks::<3>();
        if !rest.is_empty() || sizes.is_empty() || sizes.iter().any(|&[_, x, y]| (x, y) != (1, 1)) {
            return None;
        }
        let wide = sizes.len() > 256;
        let (mut default, mut own) = (None, vec![None; sizes.len()]);
        let (mut steps, mut own_steps) = (None, vec![None; sizes.len()]);
        while let [0xff, marker, rest @ ..] = segments {
            if (0x30..=0x3f).contains(marker) {
                segments = rest;
                continue;
            }
            let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
            let mut content = Reader(rest.get(2..length)?);
            match *marker {
                COD => default = Some(Default::read(&mut content)?),
                QCD => steps = Some(read_steps(&mut content)?),
                COC => {
                    let component = content.component(wide)?;
                    let has_precincts = content.byte()? & 1 != 0;
                    *own.get_mut(component)? = Some(Parameters::read(&mut content, has_precincts)?);
                }
                QCC => {
                    let component = content.component(wide)?;
                    *own_steps.get_mut(component)? = Some(read_steps(&mut content)?);
                }
                CRG => {}
                _ => return None,
            }
            segments = rest.get(length..)?;
        }
        let default = default?;
        let components = sizes.iter().zip(own).zip(own_steps).map(|((&[size, ..], own), own_steps)| {
            let parameters = own.unwrap_or_else(|| default.parameters.clone());
            parameters.component((size & 0x7f) + 1, own_steps.or_else(|| steps.clone())?)
        });
        Some(Self {
            order: default.order,
            layers: default.layers,
            has_colour_transform: default.has_colour_transform,
            has_start_markers: default.has_start_markers,
            has_end_markers: default.has_end_markers,
            components: components.collect::<Option<_>>()?,
        })
    }
}

impl ComponentCoding {
    /// The bit planes of a band, and the size of its steps. `kind` counts the bands of a resolution: 0 is the low one, then 1
    /// for those that are high across, 2 down, 3 both.
    pub fn band(&self, resolution: usize, kind: u8) -> Option<(u8, f32)> {
        let index = match resolution {
            0 => 0,
            _ => 3 * (resolution - 1) + usize::from(kind),
        };
        let (exponent, mantissa) = match &self.quantization {
            Quantization::None(exponents) => (*exponents.get(index)?, 0),
            // Equation E-5: the exponent falls with each level.
            Quantization::Derived(exponent, mantissa) => {
                (exponent.checked_sub(u8::try_from(resolution.saturating_sub(1)).ok()?)?, *mantissa)
            }
            Quantization::Expounded(steps) => *steps.get(index)?,
        };
        // Equation E-2.
        let planes = (self.guard_bits + exponent).checked_sub(1)?;
        if self.is_reversible {
            return Some((planes, 1.0));
        }
        // Equations E-3 and E-4: a band that is high once or twice has one or two bits more.
        let gain = [0, 1, 1, 2][usize::from(kind & 3)];
        let range = i32::from(self.precision) + gain - i32::from(exponent);
        Some((planes, 2f32.powi(range) * (1.0 + f32::from(mantissa) / 2048.0)))
    }
}

/// What COD says.
struct Default {
    order: Order,
    layers: u32,
    has_colour_transform: bool,
    has_start_markers: bool,
    has_end_markers: bool,
    parameters: Parameters,
}

impl Default {
    fn read(content: &mut Reader<'_>) -> Option<Self> {
        let flags = content.byte()?;
        Some(Self {
            order: match content.byte()? {
                0 => Order::Layer,
                1 => Order::Resolution,
                2 => Order::ResolutionPosition,
                3 => Order::Position,
                4 => Order::Component,
                _ => return None,
            },
            layers: u32::from(content.number()?),
            has_colour_transform: match content.byte()? {
                0 => false,
                1 => true,
                _ => return None,
            },
            has_start_markers: flags & 2 != 0,
            has_end_markers: flags & 4 != 0,
            parameters: Parameters::read(content, flags & 1 != 0)?,
        })
    }
}

/// What COD and COC say of components.
#[derive(Clone)]
struct Parameters {
    levels: u8,
    block: [u8; 2],
    style: Style,
    is_reversible: bool,
    precincts: Vec<[u8; 2]>,
}

impl Parameters {
    fn read(content: &mut Reader<'_>, has_precincts: bool) -> Option<Self> {
        let levels = content.byte().filter(|&levels| levels <= MOST_LEVELS)?;
        let block = [content.byte()?.checked_add(2)?, content.byte()?.checked_add(2)?];
        if block.iter().any(|&side| side > 10) || block[0] + block[1] > 12 {
            return None;
        }
        // A set bit beyond these is of another part of the standard, but for the one that changes nothing.
        let style = content.byte().filter(|style| style & !0x3f == 0)?;
        let is_reversible = content.byte().filter(|&wavelet| wavelet <= 1)? == 1;
        let precincts = (0..=levels).map(|resolution| match has_precincts {
            false => Some([15, 15]),
            true => content
                .byte()
                .map(|sizes| [sizes & 15, sizes >> 4])
                .filter(|sizes| resolution == 0 || !sizes.contains(&0)),
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

    fn component(
        self,
        precision: u8,
        (guard_bits, quantization): (u8, Quantization),
    ) -> Option<ComponentCoding> {
        let Self { levels, block, style, is_reversible, precincts } = self;
        let is_quantized = !matches!(quantization, Quantization::None(_));
        if is_reversible == is_quantized || precision > 16 {
            return None;
        }
        Some(ComponentCoding {
            precision,
            levels,
            block,
            style,
            is_reversible,
            precincts,
            guard_bits,
            quantization,
        })
    }
}

/// The guard bits and the steps of QCD or QCC.
fn read_steps(content: &mut Reader<'_>) -> Option<(u8, Quantization)> {
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
    Some((style >> 5, quantization))
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
