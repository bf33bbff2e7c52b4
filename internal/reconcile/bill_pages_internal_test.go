package reconcile

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"weir/internal/must"
)

// TestPagesThatLie refuses pages that unpack to more than they say, and those of which a few bytes stand for billions of
// values.
func TestPagesThatLie(t *testing.T) {
	t.Parallel()
	text := make([]byte, 1<<20)
	var gzipped bytes.Buffer
	w := gzip.NewWriter(&gzipped)
	must.Get(w.Write(text))(t)
	must.Do(t, w.Close())
	encoder := must.Get(zstd.NewWriter(nil))(t)
	for codec, packed := range map[format.CompressionCodec][]byte{
		format.Gzip: gzipped.Bytes(), format.Snappy: snappy.Encode(nil, text), format.Zstd: encoder.EncodeAll(text, nil),
	} {
		for says, want := range map[int]string{len(text): "", len(text) - 1: "more bytes unpacked", 0: "more bytes unpacked", 33 << 20: "want at most"} {
			page := format.PageHeader{CompressedPageSize: int32(len(packed)), UncompressedPageSize: int32(says)}
			err := checkPage(bytes.NewReader(packed), &page, codec)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, %d bytes that say %d: got %v, want %q", codec, len(text), says, err, want)
			}
		}
		page := format.PageHeader{CompressedPageSize: int32(len(packed)), UncompressedPageSize: int32(len(text))}
		page.DataPageHeader = thrift.Null[format.DataPageHeader]{V: format.DataPageHeader{NumValues: 1 << 30}, Valid: true}
		if err := checkPage(bytes.NewReader(packed), &page, codec); err == nil {
			t.Errorf("%s, a billion values: got no error", codec)
		}
		if err := checkPage(bytes.NewReader(packed[:len(packed)-1]), &page, codec); err == nil {
			t.Errorf("%s, a page that is cut: got no error", codec)
		}
	}
}
