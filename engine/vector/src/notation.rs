//! Numbers, matrices and paths as an SVG writes them, in few bytes.

use hayro_interpret::kurbo::{Affine, BezPath, PathEl, Point, Vec2};
use resvg::tiny_skia::PathBuilder;

use crate::limits::MAX_COORDINATE;
use crate::refusal::Refusal;

/// Returns the attribute of a matrix from a space of `from` units per point, or of pixels, to the SVG's.
pub fn transform(place: Affine, from: f64, unit: f64) -> String {
    let coefficients = (Affine::scale(unit) * place * Affine::scale(1.0 / from)).as_coeffs();
    format!("matrix({})", coefficients.map(number).join(" "))
}

/// Returns a number with six digits that count, and no exponent. What is not a number is 0.
pub fn number(of: f64) -> String {
    if !of.is_finite() || of.abs() < 1e-9 {
        return "0".to_owned();
    }
    let digits = (5.0 - of.abs().log10().floor()).clamp(0.0, 9.0);
    let text = format!("{of:.*}", digits as usize);
    if !text.contains('.') {
        return text;
    }
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if matches!(text, "" | "-0") { "0".to_owned() } else { text.to_owned() }
}

/// Writes a path's data: whole numbers, relative after the first point of the path. Returns the number of segments.
pub fn write(path: &BezPath, unit: f64, data: &mut String) -> Result<usize, Refusal> {
    let mut writer = PathData { data, command: ' ', at: (0, 0), start: (0, 0) };
    for (index, element) in path.elements().iter().enumerate() {
        let to = |point: Point| near(point.to_vec2() * unit);
        match *element {
            PathEl::MoveTo(next) if index == 0 => writer.begin(to(next)?),
            PathEl::MoveTo(next) => writer.moved(to(next)?),
            PathEl::LineTo(next) => writer.line(to(next)?),
            PathEl::QuadTo(control, next) => writer.curve('q', &[to(control)?, to(next)?]),
            PathEl::CurveTo(one, two, next) => writer.curve('c', &[to(one)?, to(two)?, to(next)?]),
            PathEl::ClosePath => writer.close(),
        }
    }
    Ok(path.elements().len())
}

/// Begins the data of a path at a place in units.
pub fn begin(at: Vec2, data: &mut String) -> Result<(), Refusal> {
    PathData { data, command: ' ', at: (0, 0), start: (0, 0) }.begin(near(at)?);
    Ok(())
}

fn near(Vec2 { x, y }: Vec2) -> Result<(i64, i64), Refusal> {
    let is_near = x.abs() <= MAX_COORDINATE && y.abs() <= MAX_COORDINATE;
    if is_near { Ok((nearest(x), nearest(y))) } else { Err(Refusal::Coordinates) }
}

/// Rounds a number. `f64::round` is a call of the C library on processors as old as those that we compile for.
fn nearest(number: f64) -> i64 {
    (number + 0.5_f64.copysign(number)) as i64
}

struct PathData<'a> {
    data: &'a mut String,
    /// The last command, which need not be repeated.
    command: char,
    at: (i64, i64),
    /// The first point of the figure.
    start: (i64, i64),
}

impl PathData<'_> {
    fn begin(&mut self, to: (i64, i64)) {
        self.put('M', &[to.0, to.1]);
        (self.at, self.start) = (to, to);
    }

    fn moved(&mut self, to: (i64, i64)) {
        // After `m`, further numbers would be lines.
        self.command = ' ';
        self.put('m', &[to.0 - self.at.0, to.1 - self.at.1]);
        (self.at, self.start) = (to, to);
    }

    fn line(&mut self, to: (i64, i64)) {
        let (x, y) = (to.0 - self.at.0, to.1 - self.at.1);
        match (x, y) {
            (x, 0) => self.put('h', &[x]),
            (0, y) => self.put('v', &[y]),
            (x, y) => self.put('l', &[x, y]),
        }
        self.at = to;
    }

    fn curve(&mut self, command: char, points: &[(i64, i64)]) {
        let mut numbers = [0; 6];
        for (pair, point) in numbers.chunks_exact_mut(2).zip(points) {
            pair.copy_from_slice(&[point.0 - self.at.0, point.1 - self.at.1]);
        }
        self.put(command, &numbers[..2 * points.len()]);
        self.at = points.last().copied().unwrap_or(self.at);
    }

    fn close(&mut self) {
        self.data.push('z');
        (self.command, self.at) = ('z', self.start);
    }

    fn put(&mut self, command: char, numbers: &[i64]) {
        let mut follows_number = self.command == command;
        if !follows_number {
            self.data.push(command);
        }
        for &number in numbers {
            if follows_number && number >= 0 {
                self.data.push(' ');
            }
            self.data.push_str(itoa::Buffer::new().format(number));
            follows_number = true;
        }
        self.command = command;
    }
}

/// Adds a path whose data [`write`] has written, scaled by these factors.
pub fn read(data: &str, (across, down): (f64, f64), path: &mut PathBuilder) {
    let at = |Point { x, y }: Point| ((x * across) as f32, (y * down) as f32);
    for element in BezPath::from_svg(data).unwrap_or_default() {
        let (x, y) = element.end_point().map(at).unwrap_or_default();
        match element {
            PathEl::MoveTo(_) => path.move_to(x, y),
            PathEl::LineTo(_) => path.line_to(x, y),
            PathEl::QuadTo(control, _) => {
                let (x1, y1) = at(control);
                path.quad_to(x1, y1, x, y);
            }
            PathEl::CurveTo(one, two, _) => {
                let ((x1, y1), (x2, y2)) = (at(one), at(two));
                path.cubic_to(x1, y1, x2, y2, x, y);
            }
            PathEl::ClosePath => path.close(),
        }
    }
}
