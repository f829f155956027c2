//! The contexts of coefficients, by what is known of their neighbours, as tables.
//!
//! Source: ITU-T T.800, D.3.1 to D.3.3.

/// Where a neighbour of nine stands: the rows from the top, each from the left. The coefficient itself is bit 4.
const NEIGHBOURS: usize = 512;

/// The contexts of significance, for the neighbours that are significant, of the bands low, high across, high down, high both
/// ways (table D.1).
pub static SIGNIFICANCE: [[u8; NEIGHBOURS]; 4] =
    [significance(0), significance(1), significance(2), significance(3)];

/// The contexts of signs, and in bit 7 whether the sign is inverted (tables D.2 and D.3). From bit 0 on: is the left one
/// negative, is the one above significant, is the right one negative, is the left one significant, is the one above
/// negative, is the right one significant, is the one below negative, is it significant.
pub static SIGN: [u8; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let across = sum(index >> 3, index) + sum(index >> 5, index >> 2);
        let down = sum(index >> 1, index >> 4) + sum(index >> 7, index >> 6);
        let (across, down) = (limited(across), limited(down));
        let is_inverted = across < 0 || (across == 0 && down < 0);
        let (across, down) = if is_inverted { (-across, -down) } else { (across, down) };
        let context = 9 + (if across == 1 { 3 + down } else { down }) as u8;
        table[index] = context | if is_inverted { 0x80 } else { 0 };
        index += 1;
    }
    table
};

/// What a neighbour adds: nothing, 1, or -1 when it is negative.
const fn sum(is_significant: usize, is_negative: usize) -> i32 {
    match (is_significant & 1, is_negative & 1) {
        (0, _) => 0,
        (_, 0) => 1,
        _ => -1,
    }
}

const fn limited(sum: i32) -> i32 {
    if sum > 1 {
        1
    } else if sum < -1 {
        -1
    } else {
        sum
    }
}

const fn significance(band: usize) -> [u8; NEIGHBOURS] {
    let mut table = [0; NEIGHBOURS];
    let mut index = 0;
    while index < NEIGHBOURS {
        let across = (index >> 3 & 1) + (index >> 5 & 1);
        let down = (index >> 1 & 1) + (index >> 7 & 1);
        let diagonal = (index & 1) + (index >> 2 & 1) + (index >> 6 & 1) + (index >> 8 & 1);
        table[index] = match band {
            1 => beside(down, across, diagonal),
            3 => diagonally(across + down, diagonal),
            _ => beside(across, down, diagonal),
        };
        index += 1;
    }
    table
}

const fn beside(first: usize, second: usize, diagonal: usize) -> u8 {
    match (first, second, diagonal) {
        (2, _, _) => 8,
        (1, 1.., _) => 7,
        (1, 0, 1..) => 6,
        (1, 0, 0) => 5,
        (_, 2, _) => 4,
        (_, 1, _) => 3,
        (_, _, 2..) => 2,
        (_, _, 1) => 1,
        _ => 0,
    }
}

const fn diagonally(beside: usize, diagonal: usize) -> u8 {
    match (diagonal, beside) {
        (3.., _) => 8,
        (2, 1..) => 7,
        (2, 0) => 6,
        (1, 2..) => 5,
        (1, 1) => 4,
        (1, 0) => 3,
        (_, 2..) => 2,
        (_, 1) => 1,
        _ => 0,
    }
}
