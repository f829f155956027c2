//! The order in which the packets of a codestream come.
//!
//! Source: ITU-T T.800, B.12.

use super::coding::Order;
use super::geometry::{Area, Resolution};

/// A precinct of a component, which has a packet in each layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precinct {
    pub component: u16,
    pub resolution: u8,
    pub number: u32,
    position: [u32; 2],
}

/// The precincts of all components in order.
pub struct PacketOrder {
    precincts: Vec<Precinct>,
    order: Order,
    layers: u32,
}

impl PacketOrder {
    /// The order of these components' resolutions, all of a picture of this area.
    pub fn new(components: &[Vec<Resolution>], area: Area, order: Order, layers: u32) -> Self {
        let mut precincts = Vec::new();
        for (component, resolutions) in components.iter().enumerate() {
            for (number, resolution) in resolutions.iter().enumerate() {
                let reduction = (resolutions.len() - 1 - number) as u8;
                precincts.extend((0..resolution.precinct_count() as u32).map(|precinct| Precinct {
                    component: component as u16,
                    resolution: number as u8,
                    number: precinct,
                    position: resolution.position(precinct, area, reduction),
                }));
            }
        }
        precincts.sort_by_key(|precinct| {
            let Precinct { component, resolution, number, position: [x, y] } = *precinct;
            let (component, resolution) = (u32::from(component), u32::from(resolution));
            match order {
                Order::Layer | Order::Resolution => [resolution, component, number, 0, 0],
                Order::ResolutionPosition => [resolution, y, x, component, number],
                Order::Position => [y, x, component, resolution, number],
                Order::Component => [component, y, x, resolution, number],
            }
        });
        Self { precincts, order, layers }
    }

    /// The memory that it takes for each precinct, sorting included.
    pub const BYTES: u64 = 2 * size_of::<Precinct>() as u64;

    /// The packets: each is a precinct and a layer.
    pub fn packets(&self) -> impl Iterator<Item = (Precinct, u32)> {
        let order = self.order;
        // Layers change slowest among these.
        let together = move |one: &Precinct, other: &Precinct| match order {
            Order::Layer => true,
            Order::Resolution => one.resolution == other.resolution,
            _ => false,
        };
        self.precincts.chunk_by(together).flat_map(|group| {
            (0..self.layers).flat_map(move |layer| group.iter().map(move |it| (*it, layer)))
        })
    }
}
