//! The words of a tagged page, element by element.

use edgezoom_text::Block;

use super::coordinates::ToPage;
use super::letters::{Item, by_place};
use super::structure::Tagged;
use crate::formats::lines::{Letter, Space, around, is_rtl, rect};

/// Returns the blocks of a tagged page. Letters outside its structure, as those of headers, come last: screen readers
/// leave them out, but readers see, search and select them.
pub fn blocks_of(mut items: Vec<(Option<usize>, Item)>, tagged: &Tagged, to_page: &ToPage) -> Vec<Block> {
    // The sort is stable: letters of a piece keep their order.
    items.sort_by_key(|(piece, _)| piece.unwrap_or(usize::MAX));
    let items = spell(items, tagged);
    let corners = |[left, bottom, right, top]: [f64; 4]| to_page.corners((left, bottom), (right, top));
    let mut places: Vec<Option<[f64; 4]>> =
        tagged.elements.iter().map(|element| element.at.map(corners)).collect();
    let mut of_elements = vec![Vec::new(); tagged.elements.len()];
    let piece = |piece: &Option<usize>| piece.and_then(|piece| tagged.pieces.get(piece));
    let mut outside = Vec::new();
    let mut items = items.into_iter().peekable();
    while let Some((first, item)) = items.next() {
        let mut of_element = vec![item];
        let element = piece(&first).map(|piece| piece.element);
        let mut picture = piece(&first).and_then(|piece| piece.picture);
        while let Some((next, item)) =
            items.next_if(|(next, _)| piece(next).map(|piece| piece.element) == element)
        {
            picture = picture.or(piece(&next).and_then(|piece| piece.picture));
            of_element.push(item);
        }
        if let Some(place) = picture.and_then(|picture| places.get_mut(picture)) {
            let letters = of_element.iter().filter_map(|item| match item {
                Item::Letter(letter) => Some(letter.at),
                Item::Space(_) => None,
            });
            *place = letters.fold(*place, |place, at| Some(place.map_or(at, |place| around(place, at))));
        }
        let blocks = by_place(of_element.into_iter());
        match element.and_then(|element| of_elements.get_mut(element)) {
            Some(lines) => *lines = blocks.into_iter().flat_map(|block| block.lines).collect(),
            None => outside = blocks,
        }
    }
    let elements = tagged.elements.iter().zip(places).zip(of_elements);
    let blocks = elements.filter_map(|((element, place), lines)| match (&element.alternative, place) {
        (Some(alternative), Some(place)) => Some(Block::picture(rect(place), alternative.clone())),
        _ => (!lines.is_empty()).then(|| Block::lines(element.role, lines)),
    });
    blocks.chain(outside).collect()
}

/// Puts the letters that elements have instead of those that are drawn into the same place.
fn spell(items: Vec<(Option<usize>, Item)>, tagged: &Tagged) -> Vec<(Option<usize>, Item)> {
    let text_of = |(piece, _): &(Option<usize>, Item)| tagged.pieces.get((*piece)?)?.spelled;
    let mut spelled = Vec::with_capacity(items.len());
    for run in items.chunk_by(|one, other| text_of(one) == text_of(other)) {
        let letters = || {
            run.iter().filter_map(|(_, item)| match item {
                Item::Letter(letter) => Some(*letter),
                Item::Space(_) => None,
            })
        };
        let text = run.first().and_then(text_of).and_then(|number| tagged.spelled.get(number));
        let at = letters().map(|letter| letter.at).reduce(around);
        let highest = letters().map(|letter| letter.height()).fold(0.0, f64::max);
        let (Some(text), Some(at), Some((piece, _)), Some(first)) = (text, at, run.first(), letters().next())
        else {
            spelled.extend_from_slice(run);
            continue;
        };
        let whole = Letter { at, ..first };
        let is_line = whole.height() < 1.5 * highest;
        if !is_line
            || text.chars().filter(|letter| !letter.is_whitespace()).eq(letters().map(|letter| letter.letter))
        {
            spelled.extend_from_slice(run);
            continue;
        }
        let [left, top, right, bottom] = at;
        let width = (right - left) / text.chars().count() as f64;
        for (letter, number) in text.chars().zip(0..) {
            let number = f64::from(if text.chars().any(is_rtl) {
                text.chars().count() as i32 - 1 - number
            } else {
                number
            });
            let part = [left + width * number, top, left + width * (number + 1.0), bottom];
            let at = if first.angle == 0.0 { part } else { at };
            let letter = Letter { letter, at, is_hyphen: false, ..first };
            let item = if letter.letter.is_whitespace() {
                Item::Space(Space::Written)
            } else {
                Item::Letter(letter)
            };
            spelled.push((*piece, item));
        }
        spelled.extend(run.last().filter(|(_, item)| matches!(item, Item::Space(_))).copied());
    }
    spelled
}
