use proptest::prelude::*;

use super::*;

fn findings(svg: &str) -> Findings {
    read(&Document::parse(svg).unwrap(), svg)
}

fn features(inside: &str) -> Features {
    findings(&drawing(inside)).features
}

fn drawing(inside: &str) -> String {
    format!("<svg xmlns='http://www.w3.org/2000/svg' xmlns:h='http://www.w3.org/1999/xhtml'>{inside}</svg>")
}

/// Returns a drawing as resvg reads it.
fn rewritten(svg: &str) -> String {
    edited(svg, findings(svg).edits).unwrap_or_else(|| svg.to_owned())
}

#[test]
fn each_feature_that_needs_a_browser_is_found() {
    for (inside, expected) in [
        ("<foreignObject><h:p>a</h:p></foreignObject>", Features::HTML),
        ("<switch><g/><foreignObject><h:p>a</h:p></foreignObject></switch>", Features::HTML),
        ("<path fill='var(--a, red)'/>", Features::VARIABLES),
        ("<style>:root{--a:red}.b{stroke: VAR(--a)}</style>", Features::VARIABLES),
        ("<path style='stroke-width:calc(1px + 2px)'/>", Features::VARIABLES),
        ("<path stroke-width='.5rem'/>", Features::VARIABLES),
        ("<style>.a{fill:red;.b{fill:blue}}</style>", Features::NESTING),
        ("<style>g{&amp; path{fill:blue}}</style>", Features::NESTING),
        ("<style>path:nth-child(2){fill:red}</style>", Features::SELECTORS),
        ("<style>:root{fill:red}</style>", Features::SELECTORS),
        ("<style>a ~ b{fill:red}</style>", Features::SELECTORS),
        ("<style>@media screen{a{fill:red}}</style>", Features::CONDITIONS),
        ("<style>@media print, (min-width: 1px) { a { fill: red } }</style>", Features::CONDITIONS),
        ("<style>@supports (d: none) {a{fill:red}}</style>", Features::CONDITIONS),
        ("<style>rect { width: 10px }</style>", Features::GEOMETRY),
        ("<circle style='fill:red;r:3px'/>", Features::GEOMETRY),
        ("<path style='d:path(\"M0 0h9\")'/>", Features::GEOMETRY),
        ("<g style='transform: rotate(45deg)'/>", Features::TRANSFORMS),
        ("<g style='transform:translate(10px, 5%)'/>", Features::TRANSFORMS),
        ("<g style='transform:translateX(3)'/>", Features::TRANSFORMS),
        ("<style>g{rotate:45deg}</style>", Features::TRANSFORMS),
        ("<g style='transform-box:fill-box'/>", Features::TRANSFORMS),
        ("<path fill='oklch(0.9 0.1 97)'/>", Features::COLOURS),
        ("<path style='fill:rgb(1 2 3 / 50%)'/>", Features::COLOURS),
        ("<path stroke='color(display-p3 1 0 0)'/>", Features::COLOURS),
        ("<path fill='CanvasText'/>", Features::COLOURS),
        (
            "<style>@font-face{font-family:'A b';src:url(data:font/woff2;base64,AA==)}text{font:9px 'A b'}</style>",
            Features::FONTS,
        ),
        (
            "<path><animate attributeName='opacity' from='0' to='1' dur='1s' fill='freeze'/></path>",
            Features::ANIMATIONS,
        ),
        ("<path><set attributeName='fill' to='red' begin='1s'/></path>", Features::ANIMATIONS),
        (
            "<style>a{opacity:0;animation: in 1s ease forwards}@keyframes in{to{opacity:1}}</style>",
            Features::ANIMATIONS,
        ),
        ("<path style='clip-path:circle(40%)'/>", Features::SHAPES),
        ("<path clip-path='inset(2px)'/>", Features::SHAPES),
        ("<style>[id='a' i]{fill:red}</style>", Features::SELECTORS),
        ("<text style='font-variant:small-caps'>a</text>", Features::TEXT),
        ("<path vector-effect='non-scaling-stroke'/>", Features::STROKES),
        ("<text style='text-transform:uppercase'>a</text>", Features::TEXT),
        ("<style>svg{background:linear-gradient(red,blue)}</style>", Features::BACKGROUND),
    ] {
        assert_eq!(features(inside).to_string(), expected.to_string(), "{inside}");
    }
}

#[test]
fn what_resvg_draws_as_browsers_do_needs_none() {
    for inside in [
        "<switch><foreignObject><h:p style='width:9px;fill:var(--a)'>a</h:p></foreignObject><text>a</text></switch>",
        "<foreignObject> </foreignObject>",
        "<style>/* {} */ .a, .b > c + d, e:first-child { fill: #ff000080; stroke:url(#a) }</style>",
        "<style><![CDATA[ .a{fill:rgb(1,2,3);font-family:'a;b{c'} ]]></style>",
        "<style>:root{--unused:red}a:hover{fill:var(--a);transform:rotate(3deg)}</style>",
        "<style>@media (prefers-color-scheme: dark){a{fill:red}} @media print {b{fill:red}}</style>",
        "<style>@import url('https://a.example/b.css'); @charset 'a'; .a{fill:red}</style>",
        "<style>@font-face{font-family:A;src:url(https://a.example/b.woff)}text{font-family:A}</style>",
        "<style>@font-face{font-family:Unused;src:url(data:font/woff2;base64,AA==)}</style>",
        "<style>a{animation:spin 1s infinite linear}@keyframes spin{to{transform:rotate(360deg)}}</style>",
        "<g><animateTransform attributeName='transform' dur='1s' repeatCount='indefinite'/></g>",
        "<path><animate attributeName='r' dur='1s' begin='a.click' fill='freeze'/></path>",
        "<path style='fill:hsl(120 50% 50%);stroke:#1e28d2ff;stroke-width:2px;opacity:50%'/>",
        "<path style='transform:matrix(1,0,0,1,10,5) scale(2);clip-path:url(#a);mask:none'/>",
        "<path style='filter:blur(2px);-inkscape-stroke:none;width:auto;d:none' fill='currentColor'/>",
        "<text style='width:30px;white-space:pre;rotate:none' x='1em' dx='1 2 3'>a</text>",
        "<image width='10%' height='2cm' href='data:image/png;base64,AA=='/>",
    ] {
        assert_eq!(features(inside), Features::default(), "{inside}: {}", features(inside));
    }
    let root = "<svg xmlns='http://www.w3.org/2000/svg' style='width:100%;max-width:9px;background:none'/>";
    assert_eq!(findings(root).features, Features::default());
}

#[test]
fn an_unknown_paint_keeps_the_attribute_or_the_earlier_rule() {
    for (svg, expected) in [
        ("<svg><a fill='#12345' stroke='cmyk(1,2)'/></svg>", "<svg><a  /></svg>"),
        (
            "<svg><a fill='red' style='fill:cmyk(0 1); stroke : blue'/></svg>",
            "<svg><a fill='red' style=' stroke : blue'/></svg>",
        ),
        (
            "<svg><style>a{fill:red;fill:nope(1) !important}</style></svg>",
            "<svg><style>a{fill:red;}</style></svg>",
        ),
        (
            "<svg><a style='fill:inherit;stroke:currentColor;color:context-fill'/></svg>",
            "<svg><a style='fill:inherit;stroke:currentColor;color:context-fill'/></svg>",
        ),
        ("<svg><a style=';; fill red;stroke:red; '/></svg>", "<svg><a style='stroke:red; '/></svg>"),
        (
            "<svg><a fill='Transparent' style='FILL:Red'/></svg>",
            "<svg><a fill='Transparent' style='fill:Red'/></svg>",
        ),
        (
            "<svg><a style='opacity:bogus;font-size:0;stroke-width:x'/></svg>",
            "<svg><a style='font-size:0;'/></svg>",
        ),
        (
            "<svg><a fill='currentcolor' style='fill:RebeccaPurple'/></svg>",
            "<svg><a fill='currentColor' style='fill:#663399'/></svg>",
        ),
        ("<svg><a style='font: bold 4px / 1.2 serif'/></svg>", "<svg><a style='font:bold 4px serif'/></svg>"),
        ("<svg><a style='transform:rotate(45);x:none'/></svg>", "<svg><a style='x:none'/></svg>"),
        ("<svg><a style='transform:translate(3 4)'/></svg>", "<svg><a style=''/></svg>"),
    ] {
        assert_eq!(rewritten(svg), expected);
        assert_eq!(findings(svg).features, Features::default(), "{svg}");
    }
}

#[test]
fn light_dark_becomes_its_light_colour() {
    for (svg, expected) in [
        (
            "<svg><a style='fill: light-dark(#fff, var(--dark, #121212)); x: none'/></svg>",
            "<svg><a style='fill:#fff; x: none'/></svg>",
        ),
        ("<svg><a fill='LIGHT-DARK(rgb(1, 2, 3), red)'/></svg>", "<svg><a fill='rgb(1, 2, 3)'/></svg>"),
        (
            "<svg><style>a{stroke:light-dark(light-dark(red,b),c)!important}</style></svg>",
            "<svg><style>a{stroke:red!important}</style></svg>",
        ),
    ] {
        assert_eq!(rewritten(svg), expected);
        assert_eq!(findings(svg).features, Features::default(), "{svg}");
    }
    let dark = "<svg style='color-scheme:dark'><a fill='light-dark(red,blue)'/></svg>";
    assert_eq!(findings(dark).features, Features::COLOURS);
}

#[test]
fn the_root_s_background_and_size_are_written_as_resvg_knows_them() {
    for (svg, expected) in [
        ("<svg style='background:#123456'/>", "<svg style='background-color:#123456'/>"),
        ("<svg style='background: light-dark(red, blue)'/>", "<svg style='background-color:red'/>"),
        (
            "<svg style='width:20px;height: 3cm' height='1'/>",
            "<svg width=\"20px\" style='width:20px;height: 3cm' height='3cm'/>",
        ),
    ] {
        assert_eq!(rewritten(svg), expected);
        assert_eq!(findings(svg).features, Features::default(), "{svg}");
    }
}

proptest! {
    #[test]
    fn any_style_is_read(css in "[ -~ä]{0,60}", parts in prop::collection::vec(
        prop::sample::select(vec!["@media", "{", "}", "(", ")", ";", ":", "'", "/*", "*/", "\\", "light-dark(", "fill:", ",", "!important"]), 0..20,
    )) {
        let css = css.replace(['&', '<', '\''], "") + &parts.concat().replace('\'', "");
        rewritten(&drawing(&format!("<style>{css}</style><g style='{css}'/>")));
    }
}
