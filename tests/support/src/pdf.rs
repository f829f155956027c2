//! Writes minimal PDFs: uncompressed objects and a cross-reference table.

use crate::Picture;
use crate::files::{self, Jpeg};

/// A document under construction. Its pages are in the order in which they were added.
#[derive(Default)]
pub struct Pdf {
    /// Objects from number 3 on: 1 is the catalogue, 2 the page list.
    objects: Vec<Vec<u8>>,
    pages: Vec<usize>,
    /// Additional entries of the catalogue.
    catalogue: String,
    /// The trailer's entry for the document information dictionary.
    information: String,
}

impl Pdf {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a page with a size in points and a content stream. Helvetica is available as font F1.
    pub fn page(self, width: u32, height: u32, content: &str) -> Self {
        self.page_with(
            width,
            height,
            content,
            "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>",
        )
    }

    /// Adds a page with additional entries in its dictionary.
    pub fn page_with(mut self, width: u32, height: u32, content: &str, more: &str) -> Self {
        let content = self.object(&stream("", content.as_bytes()));
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents {content} 0 R {more} >>"
        );
        let page = self.object(page.as_bytes());
        self.pages.push(page);
        self
    }

    /// Adds entries to the catalogue.
    pub fn catalogue(mut self, more: &str) -> Self {
        self.catalogue += more;
        self
    }

    /// Adds the document information dictionary.
    pub fn information(mut self, entries: &str) -> Self {
        let number = self.object(format!("<< {entries} >>").as_bytes());
        self.information = format!("/Info {number} 0 R");
        self
    }

    /// Adds an object and returns its number.
    pub fn object(&mut self, content: &[u8]) -> usize {
        self.objects.push(content.to_vec());
        self.objects.len() + 2
    }

    pub fn bytes(self) -> Vec<u8> {
        let kids: String = self.pages.iter().map(|page| format!("{page} 0 R ")).collect();
        let catalogue = format!("<< /Type /Catalog /Pages 2 0 R {} >>", self.catalogue).into_bytes();
        let list = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", self.pages.len()).into_bytes();
        let mut file = b"%PDF-1.7\n".to_vec();
        let mut table = "0000000000 65535 f \n".to_owned();
        let objects = [catalogue, list].into_iter().chain(self.objects);
        let mut count = 1;
        for object in objects {
            table += &format!("{:010} 00000 n \n", file.len());
            file.extend(format!("{count} 0 obj\n").bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
            count += 1;
        }
        let start = file.len();
        let end = format!(
            "xref\n0 {count}\n{table}trailer << /Size {count} /Root 1 0 R {} >>\nstartxref\n{start}\n%%EOF\n",
            self.information
        );
        file.extend(end.bytes());
        file
    }
}

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {dictionary} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// Returns a PDF with one US Letter page filled by a JPEG, followed by `more` content.
pub fn scan(picture: &Picture, more: &str) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let dictionary = format!(
        "/Type /XObject /Subtype /Image /Width {} /Height {} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode",
        picture.width, picture.height
    );
    let image = pdf.object(&stream(&dictionary, &files::jpeg(picture, Jpeg::default())));
    let resources = format!(
        "/Resources << /XObject << /I {image} 0 R >> /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    );
    pdf.page_with(612, 792, &format!("q 612 0 0 792 0 0 cm /I Do Q {more}"), &resources).bytes()
}

/// Adds a TrueType font, embedded. Returns the number of its object.
pub fn embedded_font(pdf: &mut Pdf, file: &[u8]) -> usize {
    let file = pdf.object(&stream(&format!("/Length1 {}", file.len()), file));
    let descriptor = format!(
        "<< /Type /FontDescriptor /FontName /Embedded /Flags 32 /FontBBox [-1000 -300 1500 1200] /ItalicAngle 0 /Ascent 900 \
         /Descent -200 /CapHeight 700 /StemV 80 /FontFile2 {file} 0 R >>"
    );
    let descriptor = pdf.object(descriptor.as_bytes());
    let widths = "600 ".repeat(95);
    let font = format!(
        "<< /Type /Font /Subtype /TrueType /BaseFont /Embedded /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar 126 \
         /Widths [{widths}] /FontDescriptor {descriptor} 0 R >>"
    );
    pdf.object(font.as_bytes())
}

/// A mask of a picture in a PDF, of this size: a stencil, or one of shades of grey.
#[derive(Clone, Copy)]
pub enum Mask {
    Stencil(u32, u32),
    Soft(u32, u32),
}

/// Adds a grey picture of this size without compression, and returns its number.
pub fn grey_picture(pdf: &mut Pdf, (width, height): (u32, u32), mask: Option<Mask>) -> usize {
    let image = "/Type /XObject /Subtype /Image";
    let mask = match mask {
        None => String::new(),
        Some(Mask::Stencil(across, down)) => {
            let bits = vec![0x55; (across.div_ceil(8) * down) as usize];
            let head = format!("{image} /ImageMask true /Width {across} /Height {down} /BitsPerComponent 1");
            format!("/Mask {} 0 R", pdf.object(&stream(&head, &bits)))
        }
        Some(Mask::Soft(across, down)) => {
            let greys = vec![200; (across * down) as usize];
            let head =
                format!("{image} /ColorSpace /DeviceGray /Width {across} /Height {down} /BitsPerComponent 8");
            format!("/SMask {} 0 R", pdf.object(&stream(&head, &greys)))
        }
    };
    let head =
        format!("{image} /Width {width} /Height {height} /ColorSpace /DeviceGray /BitsPerComponent 8 {mask}");
    pdf.object(&stream(&head, &vec![90; (width * height) as usize]))
}

/// Adds a drawing that is used as an object, with additional entries, and returns its number.
pub fn drawing(pdf: &mut Pdf, content: &str, resources: &str, more: &str) -> usize {
    let head =
        format!("/Type /XObject /Subtype /Form /BBox [0 0 1000 1000] /Resources << {resources} >> {more}");
    pdf.object(&stream(&head, content.as_bytes()))
}

/// An element of the structure tree: its type, the index of the element that holds it, the numbers of its marked content,
/// and other entries.
pub type Element<'a> = (&'a str, Option<usize>, &'a [usize], &'a str);

/// Returns a PDF of a page of 400 by 400 points with a structure tree. The elements are objects from number 5 on.
/// `Item` is a type of its own for a list item.
pub fn tagged(content: &str, elements: &[Element<'_>]) -> Vec<u8> {
    const FIRST: usize = 5;
    let root = FIRST + elements.len();
    let font = "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>";
    let mut pdf = Pdf::new().page_with(400, 400, content, &format!("/StructParents 0 {font}"));
    let children = |above: Option<usize>| {
        let children = elements.iter().zip(FIRST..).filter(move |((_, parent, ..), _)| *parent == above);
        children.map(|(_, number)| format!("{number} 0 R ")).collect::<String>()
    };
    let mut parents = Vec::new();
    for (index, &(kind, above, content, more)) in elements.iter().enumerate() {
        let parent = above.map_or(root, |above| FIRST + above);
        let ids: String = content.iter().map(|id| format!("{id} ")).collect();
        parents.resize(parents.len().max(content.iter().max().map_or(0, |most| most + 1)), "null".to_owned());
        content.iter().for_each(|&id| parents[id] = format!("{} 0 R", FIRST + index));
        let kids = children(Some(index));
        let element =
            format!("<< /Type /StructElem /S /{kind} /P {parent} 0 R /Pg 4 0 R /K [{ids}{kids}] {more} >>");
        pdf.object(element.as_bytes());
    }
    let (kids, parents) = (children(None), parents.join(" "));
    pdf.object(
        format!(
            "<< /Type /StructTreeRoot /K [{kids}] /RoleMap << /Item /Other /Other /LI >> /ParentTree << /Nums [0 [{parents}]] >> >>"
        )
        .as_bytes(),
    );
    pdf.catalogue(&format!("/MarkInfo << /Marked true >> /StructTreeRoot {root} 0 R")).bytes()
}

/// Returns a PDF with a filled-in form field, an annotation, and text in a font that is not embedded.
pub fn form() -> Vec<u8> {
    let mut pdf = Pdf::new();
    let font = pdf.object(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    let looks = stream(
        &format!(
            "/Type /XObject /Subtype /Form /BBox [0 0 100 20] /Resources << /Font << /F1 {font} 0 R >> >>"
        ),
        b"BT /F1 18 Tf 2 4 Td (filled in) Tj ET",
    );
    let looks = pdf.object(&looks);
    let square =
        pdf.object(&stream("/Type /XObject /Subtype /Form /BBox [0 0 20 20]", b"1 0 0 rg 0 0 20 20 re f"));
    let field = pdf.object(
        format!("<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (filled in) /DA (/F1 18 Tf 0 g) /F 4 /Rect [10 370 110 390] /AP << /N {looks} 0 R >> >>")
            .as_bytes(),
    );
    let note = pdf.object(
        format!("<< /Type /Annot /Subtype /Stamp /F 4 /Rect [120 370 140 390] /AP << /N {square} 0 R >> >>")
            .as_bytes(),
    );
    pdf.catalogue = format!("/AcroForm << /Fields [{field} 0 R] /DR << /Font << /F1 {font} 0 R >> >> >>");
    let more = format!("/Annots [{field} 0 R {note} 0 R] /Resources << /Font << /F1 {font} 0 R >> >>");
    pdf.page_with(200, 400, "BT /F1 24 Tf 10 260 Td (not embedded) Tj ET", &more).bytes()
}
