package pdf_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/pdf"
	"weir/internal/worktest"
)

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

// object builds one of a file: a stream if it has a body.
func object(n int, dict, body string) string {
	if body == "" {
		return fmt.Sprintf("%d 0 obj\n%s\nendobj\n", n, dict)
	}
	return fmt.Sprintf("%d 0 obj\n%s /Length %d >>\nstream\n%s\nendstream\nendobj\n", n, strings.TrimSuffix(dict, ">>"), len(body), body)
}

func deflated(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

// packed builds a stream with the objects in it. The first has that number.
func packed(n, first int, objects ...string) string {
	head, all := "", ""
	for i, o := range objects {
		head += fmt.Sprintf("%d %d ", first+i, len(all))
		all += o + " "
	}
	return object(n, fmt.Sprintf("<< /Type /ObjStm /N %d /First %d /Filter /FlateDecode >>", len(objects), len(head)), deflated(head+all))
}

func catalog(kids string) string {
	return object(1, "<< /Type /Catalog /Pages 2 0 R >>", "") + object(2, "<< /Type /Pages /Count 1 /Kids ["+kids+"] >>", "")
}

func page(n int, contents string) string {
	return object(n, "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 5 0 R >> >> /Contents "+contents+" >>", "")
}

// one builds a file of a page with that content and that font.
func one(content, font string) string {
	return "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + object(4, "<< /Filter /FlateDecode >>", deflated(content)) + object(5, font, "")
}

// mapping builds a mapping of codes to characters with such lines.
func mapping(lines string) string {
	return "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange " + lines + " endcmap end"
}

// with builds a file of a page whose font has such a mapping.
func with(content, font, lines string) string {
	return one(content, font) + object(6, "<< >>", mapping(lines))
}

// nested builds streams, each within the one before, followed by empty blocks.
func nested(streams, blocks int) string {
	var b strings.Builder
	for i := range streams {
		head := fmt.Sprintf("%d 0 obj <</ObjStm/Filter/FlateDecode>>stream\n\x78\x01", 100+i)
		if n := byte(len(head)); i > 0 {
			b.Write([]byte{0, n, 0, ^n, 0xff}) // a block that is not compressed (RFC 1951, section 3.2.4)
		}
		b.WriteString(head)
	}
	b.WriteString(strings.Repeat("\x00\x00\x00\xff\xff", blocks) + "\x01\x00\x00\xff\xff\x00\x00\x00\x01")
	return b.String()
}

// numbered builds that number of objects.
func numbered(objects int) string {
	var b strings.Builder
	for i := range objects {
		fmt.Fprintf(&b, "%d 0 obj ", 100+i)
	}
	return b.String()
}

// read reads a PDF that a request of some length has.
func read(b []byte) (pdf.Size, bool) {
	room := pdf.RoomFor(len(b) + 1<<20)
	return pdf.Read(b, &room)
}

// hiding builds a file whose stream of objects has two more pages, with head before its keyword. In head, %s is its
// description.
func hiding(head string) string {
	description := "/Type /ObjStm /N 2 /First 8 /Filter /FlateDecode /Length 999"
	return one("BT /F1 12 Tf (Hello) Tj ET", helvetica) + "9 0 obj\n" + strings.Replace(head, "%s", description, 1) +
		"stream\n" + deflated("20 0 21 17 << /Type /Page >> << /Type /Page >>") + "\nendstream\nendobj\n"
}

// TestReadPagesAndText checks the pages and the text that are read, and the unbounded files.
func TestReadPagesAndText(t *testing.T) {
	t.Parallel()
	const hello = "BT /F1 12 Tf (Hello) Tj ET"
	own := "<< /Type /Font /Subtype /Type1 /FirstChar 0 /ToUnicode 6 0 R >>"
	wide := "<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 6 0 R >>"
	content := object(4, "<< >>", hello)
	for _, tt := range []struct {
		name, file string
		want       pdf.Size // zero for none
	}{
		{"a page", one(hello, helvetica), pdf.Size{Pages: 1, Text: 6}},
		{"kerning", one("BT [(He) -20 (l) 4 (lo)] TJ ET", helvetica), pdf.Size{Pages: 1, Text: 6}},
		{"letters apart on a line", one("BT (a) Tj 9 0 Td (b) Tj 12.5 0 Td (c) Tj ET", helvetica), pdf.Size{Pages: 1, Text: 4}},
		{"letters on lines of their own", one("BT (a) Tj 0 -12 Td (b) Tj T* (c) Tj ET", helvetica), pdf.Size{Pages: 1, Text: 6}},
		{"digits apart on a line", one("BT (1) Tj 9 0 Td (2) Tj 9 0 Td (3) Tj ET", helvetica), pdf.Size{Pages: 1, Text: 6}},
		{"digits", one("BT <48656C6C6F> Tj ET", helvetica), pdf.Size{Pages: 1, Text: 6}},
		{"brackets in a string", one(`BT (a(b\)c)\(\101) Tj ET`, helvetica), pdf.Size{Pages: 1, Text: 9}},
		{"a string that does not end", one("BT (Hello", helvetica), pdf.Size{Pages: 1, Text: 6}},
		{"beyond ASCII", one("BT <80> Tj ET", helvetica), pdf.Size{Pages: 1, Text: 4}},
		{"a font with an encoding of its own", one(hello, "<< /Type /Font /Subtype /Type1 /Encoding << /Differences [65 /ffi] >> >>"), pdf.Size{Pages: 1, Text: 16}},
		{"a font that maps its codes", with("BT (AAB) Tj ET", own, "1 beginbfchar <41> <006600660069> <42> <0042> endbfchar"), pdf.Size{Pages: 1, Text: 8}},
		{"a font of two bytes", with("BT <00410042> Tj ET", wide, "1 beginbfrange <0041> <0042> <0061> endbfrange"), pdf.Size{Pages: 1, Text: 3}},
		{"a range that leaves ASCII", with("BT <0041> Tj ET", wide, "1 beginbfrange <0041> <0042> <007f> endbfrange"), pdf.Size{Pages: 1, Text: 3}},
		{"a range of texts", with("BT <0041> Tj ET", wide, "1 beginbfrange <0041> <0042> [<0061> <00610062>] endbfrange"), pdf.Size{Pages: 1, Text: 3}},
		{"a code that is not mapped", with("BT <0043> Tj ET", wide, "1 beginbfchar <0041> <0061> endbfchar"), pdf.Size{Pages: 1, Text: 4}},
		{"a code for a whole text", with("BT <41414141> Tj ET", own, "1 beginbfchar <41> <"+strings.Repeat("0041", 200)+"> endbfchar"), pdf.Size{Pages: 1, Text: 801}},
		{"two pages", "%PDF-1.7\n" + catalog("3 0 R 7 0 R") + page(3, "4 0 R") + page(7, "[4 0 R 4 0 R]") + content + object(5, helvetica, ""), pdf.Size{Pages: 2, Text: 18}},
		{"objects in a stream", "%PDF-1.7\n" + catalog("3 0 R") + packed(9, 3, "<< /Type /Page /Contents 4 0 R >>") + content, pdf.Size{Pages: 1, Text: 6}},
		{"an image beside the text", one(hello, helvetica) + object(8, "<< /Subtype /Image /Filter /DCTDecode >>", "\xff\xd8((((("), pdf.Size{Pages: 1, Text: 6}},
		{"escapes in names", strings.ReplaceAll(one(hello, helvetica), "/Kids", "/K#69ds"), pdf.Size{Pages: 1, Text: 6}},

		{"no file", "Hello", pdf.Size{}},
		{"no page", "%PDF-1.7\n", pdf.Size{}},
		{"encrypted", one(hello, helvetica) + "trailer << /Encrypt 9 0 R >>", pdf.Size{}},
		{"a form", one("/X1 Do", helvetica) + object(8, "<< /Subtype /Form >>", hello), pdf.Size{}},
		{"a form, its name escaped", one("/X1 Do", helvetica) + object(8, "<< /Subtype /#46orm >>", hello), pdf.Size{}},
		{"a form within a stream of objects", one(hello, helvetica) + packed(9, 20, "<< /Subtype /Form >>"), pdf.Size{}},
		{"a replacement text", one(hello, helvetica) + object(8, "<< /ActualText (long) >>", ""), pdf.Size{}},
		{"another filter", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + object(4, "<< /Filter /LZWDecode >>", hello), pdf.Size{}},
		{"two filters", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + object(4, "<< /Filter [/FlateDecode /FlateDecode] >>", deflated(deflated(hello))), pdf.Size{}},
		{"a filter elsewhere", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + object(4, "<< /Filter 9 0 R >>", deflated(hello)), pdf.Size{}},
		{"a predictor", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + object(4, "<< /Filter /FlateDecode /DecodeParms << /Predictor 12 >> >>", deflated(hello)), pdf.Size{}},
		{"pages elsewhere", strings.Replace(one(hello, helvetica), "/Kids [3 0 R]", "/Kids 9 0 R", 1), pdf.Size{}},
		{"a page twice", "%PDF-1.7\n" + catalog("3 0 R 3 0 R") + page(3, "4 0 R") + content, pdf.Size{}},
		{"a page in two lists", one(hello, helvetica) + object(9, "<< /Kids [3 0 R] >>", ""), pdf.Size{}},
		{"content that is a list", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "9 0 R") + object(9, "[4 0 R 4 0 R]", "") + content, pdf.Size{}},
		{"content that is a list and a stream", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + content + object(4, "[8 0 R 8 0 R]", "") + object(8, "<< >>", hello), pdf.Size{}},
		{"content that is a list in a stream of objects", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + content + packed(9, 4, "[8 0 R 8 0 R]") + object(8, "<< >>", hello), pdf.Size{}},
		{"a length elsewhere", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + "4 0 obj << /Length 9 0 R >> stream\n" + hello + "\nendstream endobj", pdf.Size{}},
		{"codes of any length", one(hello, "<< /Subtype /Type0 /Encoding /GBK-EUC-H >>"), pdf.Size{}},
		{"glyphs of many characters", one(hello, "<< /Subtype /Type1 /Encoding << /Differences [65 /uni00410042] >> >>"), pdf.Size{}},
		{"a mapping that is not there", one(hello, own), pdf.Size{}},
		{"a mapping in another filter", one(hello, own) + object(6, "<< /Filter /RunLengthDecode >>", mapping("")), pdf.Size{}},
		{"characters that grow", with(hello, own, "1 beginbfchar <48> <FDFA> endbfchar"), pdf.Size{}},
		{"characters of too many codes", with(hello, own, "1 beginbfrange "+strings.Repeat("<0000><00ff><0041> ", 600)+"endbfrange"), pdf.Size{}},
		{"streams within one another", "%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + nested(200, 200_000), pdf.Size{}},
		{"too many fonts", one(hello, helvetica) + strings.Repeat("/Type1 ", 1000), pdf.Size{}},
		{"too many objects", one(hello, helvetica) + numbered(200_000), pdf.Size{}},
		{"a bomb", one(strings.Repeat("(a)", 4<<20), helvetica), pdf.Size{}},
		{"pages behind white space", hiding("<< %s >>" + strings.Repeat(" ", 100) + "\n"), pdf.Size{Pages: 3, Text: 6}},
		{"pages behind a comment", hiding("<< %s >> %" + strings.Repeat("c", 200) + "\n"), pdf.Size{Pages: 3, Text: 6}},
		{"pages behind comments", hiding("<< %s >>\n%" + strings.Repeat("c", 90) + "\r%" + strings.Repeat("c", 90) + "\n"), pdf.Size{Pages: 3, Text: 6}},
		{"pages behind a comment, and one behind the keyword", strings.Replace(hiding("<< %s >>\n%"+strings.Repeat("c", 200)+"\n"), "stream\n", "stream%\n", 1), pdf.Size{}},
		{"a string of digits without an end", hiding("<< %s /X <41 \n"), pdf.Size{}},
		{"pages behind an object in a string", hiding("<< %s /X (7 0 obj <<) >>\n"), pdf.Size{}},
		{"pages behind objects in a string", hiding("<< %s /X (endobj\n7 0 obj\n<<) >>\n"), pdf.Size{}},
		{"pages behind an object in a string with an escape", hiding(`<< %s /X (endobj 7 0 obj << \( ) >>` + "\n"), pdf.Size{}},
		{"pages behind an object in a string of digits", hiding("<< %s /X <endobj 7 0 obj <<> >>\n"), pdf.Size{}},
		{"pages behind an object in a comment", hiding("<< %s % endobj 7 0 obj <<\n >>\n"), pdf.Size{}},
		{"pages behind an object in a comment with its end", hiding("<< %s % endobj 7 0 obj << >>\n >>\n"), pdf.Size{}},
	} {
		got, ok := read([]byte(tt.file))
		if !ok {
			got = pdf.Size{}
		}
		if got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestTextIsBounded checks that no drawn text is longer than the text that is read, for any split into strings.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.StringMatching(`[ -~]{0,40}`)).Draw(t, "texts")
		content, drawn := "BT", 0
		for _, text := range texts {
			drawn += len(text)
			if rapid.Bool().Draw(t, "hexadecimal") {
				content += fmt.Sprintf(" <%x> Tj", text)
				continue
			}
			content += " (" + strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text) + ") Tj"
		}
		got, ok := read([]byte(one(content, helvetica)))
		if !ok || got.Pages != 1 || got.Text < int64(drawn) || got.Text > int64(drawn+len(texts)) {
			t.Fatalf("%q: got %+v, %t, want %d bytes of text, and one between two", content, got, ok, drawn)
		}
	})
}

// FuzzRead checks that any bytes need linear time and memory.
func FuzzRead(f *testing.F) {
	f.Add([]byte(one("BT (Hello) Tj ET", helvetica)))
	f.Add([]byte("%PDF-1.7\n" + catalog("3 0 R") + packed(9, 3, "<< /Type /Page /Contents 4 0 R >>")))
	f.Add([]byte("%PDF-1.7\n" + catalog("3 0 R") + page(3, "4 0 R") + nested(20, 200)))
	f.Add([]byte(with("(a) Tj", "<< /Type /Font /Subtype /Type0 /ToUnicode 6 0 R >>", "1 beginbfrange "+strings.Repeat("<0000><00ff><0041> ", 3000)+"endbfrange")))
	f.Add([]byte("%PDF-1.7\n" + strings.Repeat("1 0 obj<<>>stream\n", 50)))
	f.Add([]byte("%PDF-1.7\n" + strings.Repeat("/Type1/Kids[/Contents/ToUnicode 1 0 R", 50)))
	f.Fuzz(func(t *testing.T, b []byte) {
		worktest.Check(t, b, func(b []byte) {
			room := pdf.RoomFor(len(b))
			pdf.Read(b, &room)
		})
	})
}
