use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

use super::*;
use crate::{Bounds, open};

const PACKET: &str = "<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>\
    <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description rdf:about='' \
    xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:rights><rdf:Alt><rdf:li xml:lang='x-default'>of XMP</rdf:li></rdf:Alt>\
    </dc:rights></rdf:Description></rdf:RDF></x:xmpmeta>  <?xpacket end='w'?>";

/// Returns a TIFF of one directory without a picture, in any of its three forms. The tags are bytes or ASCII.
fn tiff(is_big: bool, is_little: bool, tags: &[(u16, &[u8])]) -> Vec<u8> {
    let number = |number: usize, bytes: usize| {
        let big = (number as u64).to_be_bytes()[8 - bytes..].to_vec();
        if is_little { big.into_iter().rev().collect() } else { big }
    };
    let mut file = if is_little { b"II".to_vec() } else { b"MM".to_vec() };
    let (word, count) = if is_big {
        file.extend([number(43, 2), number(8, 2), number(0, 2), number(16, 8)].concat());
        (8, 8)
    } else {
        file.extend([number(42, 2), number(8, 4)].concat());
        (4, 2)
    };
    file.extend(number(tags.len(), count));
    let mut behind = Vec::new();
    let start = file.len() + tags.len() * (4 + 2 * word) + word;
    for (tag, value) in tags {
        let kind = if matches!(*tag, ARTIST | COPYRIGHT) { 2 } else { 1 };
        file.extend([number((*tag).into(), 2), number(kind, 2), number(value.len(), word)].concat());
        if value.len() <= word {
            file.extend_from_slice(value);
            file.resize(file.len() + word - value.len(), 0);
        } else {
            file.extend(number(start + behind.len(), word));
            behind.extend_from_slice(value);
        }
    }
    [file, number(0, word), behind].concat()
}

fn exif(artist: &[u8], copyright: &[u8]) -> Vec<u8> {
    tiff(false, false, &[(ARTIST, artist), (COPYRIGHT, copyright)])
}

fn iptc(datasets: &[(u8, u8, &[u8])]) -> Vec<u8> {
    let dataset = |(record, number, content): &(u8, u8, &[u8])| {
        let length = (content.len() as u16).to_be_bytes();
        [&[0x1c, *record, *number], length.as_slice(), content].concat()
    };
    datasets.iter().flat_map(dataset).collect()
}

fn resources(iptc: &[u8]) -> Vec<u8> {
    let length = (iptc.len() as u32).to_be_bytes();
    [b"8BIM\x04\x25\x04name\0\0\0\0\x03abc\0".as_slice(), b"8BIM\x04\x04\0\0", &length, iptc].concat()
}

fn jpeg(segments: &[(u8, &[u8])]) -> Vec<u8> {
    let segment = |(code, content): &(u8, &[u8])| {
        [&[0xff, *code], (content.len() as u16 + 2).to_be_bytes().as_slice(), content].concat()
    };
    let segments: Vec<u8> = segments.iter().flat_map(segment).collect();
    [&[0xff, 0xd8], segments.as_slice(), &[0xff, 0xda, 0, 3, 1, 0xff, 0xe1, 0, 4]].concat()
}

fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let chunk = |(kind, content): &(&[u8; 4], &[u8])| {
        [(content.len() as u32).to_be_bytes().as_slice(), *kind, content, b"sums"].concat()
    };
    let chunks: Vec<u8> = chunks.iter().flat_map(chunk).collect();
    [b"\x89PNG\r\n\x1a\n".as_slice(), &chunks].concat()
}

fn webp(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let chunk = |(kind, content): &(&[u8; 4], &[u8])| {
        let padding = vec![0; content.len() % 2];
        [kind.as_slice(), &(content.len() as u32).to_le_bytes(), content, &padding].concat()
    };
    let chunks: Vec<u8> = chunks.iter().flat_map(chunk).collect();
    [b"RIFF\0\0\0\0WEBP".as_slice(), &chunks].concat()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Returns files of all kinds with a block of each kind. EXIF states all, IPTC two, XMP one.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let exif = exif(b"of EXIF\0", b"of EXIF\0");
    let iptc = iptc(&[(1, 90, b"\x1b%G"), (2, 110, b"of IPTC"), (2, 116, b"of IPTC")]);
    let resources = resources(&iptc);
    let in_jpeg = |name: &[u8], content: &[u8]| [name, content].concat();
    let [app_exif, app_xmp] =
        [in_jpeg(b"Exif\0\0", &exif), in_jpeg(b"http://ns.adobe.com/xap/1.0/\0", PACKET.as_bytes())];
    // A block may go on in another segment.
    let (first, rest) = resources.split_at(40);
    let [app_first, app_rest] = [first, rest].map(|part| in_jpeg(b"Photoshop 3.0\0", part));
    let tags = |photoshop: bool| {
        let iptc = if photoshop { (PHOTOSHOP, resources.as_slice()) } else { (IPTC, iptc.as_slice()) };
        [(ARTIST, b"of EXIF\0".as_slice()), (XMP, PACKET.as_bytes()), (COPYRIGHT, b"of EXIF\0"), iptc]
    };
    let itxt = |is_compressed: u8, text: &[u8]| {
        [b"XML:com.adobe.xmp\0".as_slice(), &[is_compressed, 0], b"en\0translated\0", text].concat()
    };
    let [header, pixels, end] = [(b"IHDR", b"".as_slice()), (b"IDAT", b"pixels"), (b"IEND", b"")];
    vec![
        (
            "JPEG",
            jpeg(&[
                (0xe0, b"JFIF"),
                (0xe1, &app_exif),
                (0xed, &app_first),
                (0xed, &app_rest),
                (0xe1, &app_xmp),
            ]),
        ),
        ("TIFF", tiff(false, true, &tags(false))),
        ("TIFF MM", tiff(false, false, &tags(true))),
        ("BigTIFF", tiff(true, true, &tags(false))),
        ("PNG", png(&[header, (b"iTXt", &itxt(0, PACKET.as_bytes())), (b"eXIf", &exif), pixels, end])),
        (
            "PNG behind",
            png(&[
                header,
                pixels,
                pixels,
                (b"iTXt", &itxt(1, &zlib(PACKET.as_bytes()))),
                (b"eXIf", &exif),
                end,
            ]),
        ),
        (
            "PNG texts",
            png(&[
                header,
                (b"tEXt", b"Author\0of EXIF"),
                (b"tEXt", b"Copyright\0of EXIF"),
                (b"iTXt", &itxt(0, PACKET.as_bytes())),
                end,
            ]),
        ),
        (
            "WebP",
            webp(&[(b"VP8X", &[0; 10]), (b"VP8L", b"odd"), (b"EXIF", &exif), (b"XMP ", PACKET.as_bytes())]),
        ),
        ("WebP named", webp(&[(b"EXIF", &app_exif), (b"XMP ", PACKET.as_bytes())])),
    ]
}

fn read_bytes(bytes: &[u8]) -> Metadata {
    read(&SourceFile::from(bytes.to_vec()))
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn xmp_counts_before_iptc_and_iptc_before_exif_in_all_files() {
    for (name, file) in files() {
        let credit = some("of IPTC").filter(|_| !name.starts_with("PNG") && !name.starts_with("WebP"));
        let expected =
            Metadata { creator: some("of EXIF"), credit, copyright: some("of XMP"), ..Metadata::default() };
        assert_eq!(read_bytes(&file), expected, "{name}");
    }
    // Without XMP.
    let iptc = iptc(&[(2, 116, b"of IPTC")]);
    let file = tiff(false, true, &[(COPYRIGHT, b"of EXIF\0"), (IPTC, &iptc)]);
    assert_eq!(read_bytes(&file).copyright, some("of IPTC"));
}

#[test]
fn other_formats_have_the_packet_as_it_is() {
    for head in [b"\0\0\0\x18ftypavif".as_slice(), b"\0\0\0\x0cJXL \r\n\x87\n", b"GIF89a", b"8BPS\0\x01", b""]
    {
        let file = [head, &[0; 500], PACKET.as_bytes(), &[0; 500]].concat();
        assert_eq!(read_bytes(&file).copyright, some("of XMP"), "{}", head.escape_ascii());
    }
}

#[test]
fn an_open_picture_has_the_metadata_of_its_file() {
    let file = [b"P6 1 1 255\nabc".as_slice(), PACKET.as_bytes()].concat();
    let mut reader = open(file, Bounds::default()).unwrap();
    reader.read_rows(&mut [0; 3]).unwrap();
    assert_eq!(reader.take_metadata().read().copyright, some("of XMP"));
    assert_eq!(reader.take_metadata().read(), Metadata::default(), "it is taken once");
}

#[test]
fn texts_of_iptc_are_utf_8_or_latin_1_and_by_lines_repeat() {
    for (declared, name, expected) in [
        (b"\x1b%G".as_slice(), "Ä".as_bytes(), "Ä"),
        (b"", "Ä".as_bytes(), "Ä"),
        (b"", b"\xc4", "Ä"),
        (b"\x1b%G", b"\xc4", "Ä"),
    ] {
        let block = iptc(&[(1, 90, declared), (2, 80, name), (2, 80, b" "), (2, 80, b"Bee")]);
        assert_eq!(of_iptc(&block).creator, some(&format!("{expected}, Bee")));
    }
    let long = iptc(&[(2, 110, b"Agency"), (2, 110, b"Other")]);
    assert_eq!(
        of_iptc(&[long.as_slice(), &[0x1c, 2, 80, 0x80, 4, 0, 0, 0, 1, b'a']].concat()).credit,
        some("Agency")
    );
}

#[test]
fn texts_of_exif_have_parts_and_padding() {
    assert_eq!(of_exif(&exif(b"Ann\0\0   \0", b"Ann\0Editor\0")).copyright, some("Ann; Editor"));
    assert_eq!(
        of_exif(&exif(b"   \0", b" \0Editor\0")),
        Metadata { copyright: some("Editor"), ..Metadata::default() }
    );
    assert_eq!(of_exif(&exif(b"Gr\xfcn\0", b"\0")).creator, some("Grün"));
    assert_eq!(of_exif(&exif(b"Ann", b"")).creator, some("Ann"), "it is in the entry itself");
}

#[test]
fn exif_of_other_formats_is_behind_its_name() {
    let exif = exif(b"Ann\0", b"Ann\0");
    for (before, between) in [
        (b"\0\0\0\x18ftypheic Exif mime".as_slice(), b"\0\0\0\x06Exif\0\0".as_slice()),
        (b"\0\0\0\x0cJXL \r\n\x87\n", b"Exif\0\0\0\0"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", b"uuidJpgTiffExif->JP2"),
    ] {
        let file = [before, &[7; 1000], between, &exif, PACKET.as_bytes()].concat();
        let found = read_bytes(&file);
        assert_eq!((found.creator, found.copyright), (some("Ann"), some("of XMP")), "{before:?}");
    }
    let apart = [b"Exif".as_slice(), &[0; 30], &exif].concat();
    let far = [&vec![0; xmp::MAX_BYTES as usize], b"Exif".as_slice(), &exif, PACKET.as_bytes()].concat();
    assert_eq!([read_bytes(&apart), read_bytes(&far)], [Metadata::default(), Metadata::default()]);
    assert_eq!(read_bytes(&[&b"Exif".repeat(20), exif.as_slice()].concat()), Metadata::default());
}

#[test]
fn hostile_blocks_are_bounded() {
    let long = "é".repeat(30_000);
    let megabytes = vec![b'a'; 2 << 20];
    for file in [
        jpeg(&[(0xe1, &[b"Exif\0\0".as_slice(), &exif(long.as_bytes(), b"")].concat())]),
        tiff(false, true, &[(ARTIST, long.as_bytes())]),
        png(&[(b"tEXt", &[b"Author\0", long.as_bytes()].concat())]),
        tiff(false, true, &[(IPTC, &iptc(&[(2, 80, &long.as_bytes()[..30_000])]))]),
    ] {
        assert_eq!(read_bytes(&file).creator.map(|text| text.chars().count()), Some(1000));
    }
    let bomb = zlib(&[PACKET.as_bytes(), &vec![b' '; 8 << 20], b"</x:xmpmeta>"].concat());
    let itxt = [b"XML:com.adobe.xmp\0\x01\0\0\0".as_slice(), &bomb].concat();
    assert_eq!(
        read_bytes(&png(&[(b"iTXt", &itxt)])).copyright,
        some("of XMP"),
        "only its beginning is unpacked"
    );
    for file in [
        tiff(
            false,
            true,
            &[(ARTIST, &megabytes), (XMP, &megabytes), (IPTC, &megabytes), (PHOTOSHOP, &megabytes)],
        ),
        png(&[(b"tEXt", &[b"Author\0", megabytes.as_slice()].concat())]),
        webp(&[(b"XMP ", &megabytes), (b"EXIF", &megabytes)]),
        // Those that are far behind others.
        png(&[&[(b"tEXt", b"a\0b".as_slice()); 100][..], &[(b"tEXt", b"Author\0Ann")]].concat()),
        jpeg(
            &[
                &[(0xe1, &[0; 65_000][..]); 17][..],
                &[(0xe1, &[b"Exif\0\0".as_slice(), &exif(b"Ann", b"")].concat())],
            ]
            .concat(),
        ),
        [vec![0xff, 0xd8], vec![0xff; 3 << 20]].concat(),
    ] {
        assert_eq!(read_bytes(&file), Metadata::default());
    }
}

#[test]
fn any_change_of_a_file_ends_in_bounded_texts() {
    let files: Vec<Vec<u8>> = files().into_iter().map(|(_, file)| file).collect();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6);
    let cut = prop::option::weighted(0.2, any::<prop::sample::Index>());
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) },
        |(file in prop::sample::select(files), changes in changes, cut in cut)| {
            let mut bytes = file;
            for (index, value) in changes {
                let at = index.index(bytes.len());
                bytes[at] = value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let Metadata { title, creator, credit, copyright, rights, alternative } = read_bytes(&bytes);
            for text in [title, creator, credit, copyright, rights, alternative].into_iter().flatten() {
                prop_assert!((1..=1000).contains(&text.chars().count()), "{}", text);
            }
        }
    );
}
