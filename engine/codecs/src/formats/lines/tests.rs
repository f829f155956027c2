use super::*;

/// Adds text whose letters are 10 wide and 20 high.
fn write(lines: &mut Lines, text: &str, left: f64, top: f64) {
    for (index, letter) in text.chars().enumerate() {
        let left = left + 10.0 * index as f64;
        push(lines, letter, [left, top, left + 10.0, top + 20.0], 0.0);
    }
}

fn push(lines: &mut Lines, letter: char, at: [f64; 4], angle: f64) {
    match letter {
        ' ' => lines.push_space(Space::Written),
        _ => lines.push(Letter { letter, at, angle, is_hyphen: false }),
    }
}

fn texts(blocks: &[Block]) -> Vec<String> {
    blocks.iter().map(Block::joined).collect()
}

#[test]
fn words_have_places_in_their_line() {
    let mut lines = Lines::default();
    write(&mut lines, "two words", 100.0, 50.0);
    let blocks = lines.finish();
    let line = &blocks[0].lines[0];
    assert_eq!((line.at, line.text.as_str()), (Rect::new(100, 50, 90, 20), "two words"));
    assert_eq!(line.spans, [0, 30, 10, 50]);
}

#[test]
fn columns_that_are_drawn_row_by_row_are_apart() {
    let mut lines = Lines::default();
    write(&mut lines, "left", 0.0, 0.0);
    write(&mut lines, "right", 200.0, 0.0);
    assert_eq!(texts(&lines.finish()), ["left", "right"]);
}

#[test]
fn lines_at_a_usual_distance_are_a_paragraph_and_a_hyphen_joins_them() {
    let mut lines = Lines::default();
    write(&mut lines, "an exam", 0.0, 0.0);
    lines.push(Letter { letter: '-', at: [70.0, 0.0, 80.0, 20.0], angle: 0.0, is_hyphen: true });
    write(&mut lines, "ple of it", 0.0, 24.0);
    write(&mut lines, "Another", 0.0, 80.0);
    assert_eq!(texts(&lines.finish()), ["an example of it", "Another"]);
}

#[test]
fn a_line_of_hebrew_begins_at_its_right_edge_and_its_number_is_read_forwards() {
    let mut lines = Lines::default();
    for (letter, left) in "אב 12 ג".chars().zip([60.0, 50.0, 40.0, 20.0, 30.0, 10.0, 0.0]) {
        push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
    }
    let blocks = lines.finish();
    let line = &blocks[0].lines[0];
    assert_eq!((line.rtl, line.text.as_str(), blocks.len()), (true, "אב 12 ג", 1));
    let places: Vec<u32> = line.words().map(|(_, place)| place.left).collect();
    assert_eq!(places, [50, 20, 0]);
}

#[test]
fn a_year_and_a_word_stand_in_a_line_of_hebrew() {
    let mut lines = Lines::default();
    let places = [270, 260, 250, 210, 220, 230, 240, 200, 190, 180, 170, 120, 130, 140, 150, 160, 110, 100];
    for (letter, left) in "אב 1948 גד tides ה".chars().zip(places.map(f64::from)) {
        push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
    }
    assert_eq!(texts(&lines.finish()), ["אב 1948 גד tides ה"]);
}

#[test]
fn words_from_top_to_bottom_have_places_too() {
    let mut lines = Lines::default();
    for (index, letter) in "ab c".chars().enumerate() {
        let top = 10.0 * index as f64;
        push(&mut lines, letter, [0.0, top, 20.0, top + 10.0], 90.0);
    }
    let blocks = lines.finish();
    let line = &blocks[0].lines[0];
    assert_eq!((line.angle, line.at, &line.spans[..]), (90, Rect::new(0, 0, 20, 40), &[0, 20, 10, 10][..]));
}

#[test]
fn an_accent_that_is_drawn_apart_is_a_mark_of_its_letter() {
    let mut lines = Lines::default();
    write(&mut lines, "d", 0.0, 0.0);
    push(&mut lines, '´', [11.0, 0.0, 19.0, 20.0], 0.0);
    push(&mut lines, 'ı', [10.0, 0.0, 20.0, 20.0], 0.0);
    write(&mut lines, "a", 20.0, 0.0);
    push(&mut lines, '¸', [21.0, 0.0, 29.0, 20.0], 0.0);
    write(&mut lines, "´s", 30.0, 0.0);
    assert_eq!(texts(&lines.finish()), ["di\u{301}a\u{327}´s"]);
}

#[test]
fn a_single_gap_is_a_space_and_even_ones_are_none() {
    let of = |places: &[f64], text: &str| {
        let mut lines = Lines::default();
        for (letter, &left) in text.chars().zip(places) {
            push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
        }
        texts(&lines.finish())
    };
    assert_eq!(of(&[0.0, 14.0, 24.0, 34.0], "abay"), ["a bay"]);
    assert_eq!(of(&[0.0, 14.0, 28.0, 42.0], "tide"), ["tide"]);
    assert_eq!(of(&[0.0, 14.0, 24.0], "กขค"), ["กขค"]);
}

#[test]
fn letters_that_are_set_apart_evenly_are_a_word() {
    let mut lines = Lines::default();
    for (letter, left) in "HARBOUR".chars().zip([0.0, 18.0, 36.0, 54.0, 78.0, 96.0, 114.0]) {
        push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
        lines.push_space(Space::Added);
    }
    for (letter, left) in "a1".chars().zip([0.0, 18.0]) {
        push(&mut lines, letter, [left, 40.0, left + 10.0, 60.0], 0.0);
        lines.push_space(Space::Added);
    }
    assert_eq!(texts(&lines.finish()), ["HARB OUR", "a 1"]);
}

#[test]
fn a_space_as_wide_as_the_gaps_beside_it_is_none() {
    // Letters that are 10 wide, their left edges, and the letter before which a space is added.
    let of = |text: &str, places: [f64; 6], space: usize| {
        let mut lines = Lines::default();
        for (index, (letter, left)) in text.chars().zip(places).enumerate() {
            if index == space {
                lines.push_space(Space::Added);
            }
            push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
        }
        texts(&lines.finish())
    };
    assert_eq!(of("anchor", [0.0, 14.0, 28.0, 42.0, 56.0, 70.0], 5), ["anchor"]);
    assert_eq!(of("anchor", [0.0, 10.0, 20.0, 30.0, 40.0, 50.0], 1), ["anchor"]);
    assert_eq!(of("allsea", [0.0, 14.0, 28.0, 46.0, 60.0, 74.0], 3), ["all sea"]);
    assert_eq!(of("allsea", [0.0, 10.0, 20.0, 32.0, 42.0, 52.0], 3), ["all sea"]);
}

#[test]
fn a_gap_within_a_word_of_arabic_is_no_space() {
    let mut lines = Lines::default();
    // PDFium gives words from right to left, and their letters from left to right. The font says a wrong width of one.
    for (word, left) in [("ایرد", 60.0), ("رون", 20.0)] {
        for (index, letter) in word.chars().enumerate() {
            let left = left + 10.0 * index as f64 + if index > 1 { 3.0 } else { 0.0 };
            push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
        }
        lines.push_space(Space::Added);
    }
    assert_eq!(texts(&lines.finish()), ["دریا نور"]);
}

#[test]
fn columns_of_prose_that_are_drawn_row_by_row_follow_each_other_and_cells_do_not() {
    let of = |cells: &[[&str; 2]]| {
        let mut lines = Lines::default();
        for (row, [left, right]) in cells.iter().enumerate() {
            write(&mut lines, left, 0.0, 24.0 * row as f64);
            write(&mut lines, right, 300.0, 24.0 * row as f64);
        }
        texts(&lines.finish())
    };
    let columns = [
        ["the tide is out", "when it returns"],
        ["and the boats of", "all of them may"],
        ["the harbour lie", "sail as soon as"],
        ["on the mud until", "the wind allows"],
    ];
    assert_eq!(
        of(&columns),
        [
            "the tide is out and the boats of the harbour lie on the mud until",
            "when it returns all of them may sail as soon as the wind allows"
        ]
    );
    let cells = [
        ["port", "a height of six"],
        ["Dover", "a little below"],
        ["Brest", "quite above it"],
        ["Cork", "about as high"],
    ];
    assert_eq!(of(&cells).concat(), cells.concat().concat());
}

#[test]
fn letters_below_each_other_are_columns_from_right_to_left() {
    let mut lines = Lines::default();
    for (column, text) in [(0.0, "ています"), (40.0, "潮が満ち")] {
        for (row, letter) in text.chars().enumerate() {
            let top = 21.0 * row as f64;
            push(&mut lines, letter, [column, top, column + 20.0, top + 20.0], 0.0);
        }
    }
    let blocks = lines.finish();
    let lines: Vec<(u16, &str)> =
        blocks.iter().flat_map(|block| &block.lines).map(|line| (line.angle, line.text.as_str())).collect();
    assert_eq!(lines, [(90, "潮が満ち"), (90, "ています")]);
}

#[test]
fn a_large_capital_belongs_to_the_word_beside_it() {
    let mut lines = Lines::default();
    push(&mut lines, 'T', [0.0, 0.0, 40.0, 50.0], 0.0);
    write(&mut lines, "ides rise", 44.0, 5.0);
    write(&mut lines, "twice a day", 44.0, 29.0);
    let mut blocks = lines.finish();
    put_capitals(&mut blocks);
    assert_eq!(texts(&blocks), ["Tides rise twice a day"]);
    assert_eq!(blocks[0].lines[0].spans, [0, 84, 10, 40]);
}

#[test]
fn parts_of_a_line_of_hebrew_are_one_and_brackets_match() {
    let mut lines = Lines::default();
    // The left part comes first; its bracket is as it is seen, that of the right part, too.
    for (letter, left) in "ד(".chars().zip([10.0, 0.0]) {
        push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
    }
    for (letter, left) in ")אב".chars().zip([50.0, 40.0, 30.0]) {
        push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
    }
    assert_eq!(texts(&lines.finish()), ["(אב ד)"]);
}
