package reconcile

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"weir/internal/llm"
	"weir/internal/must"
)

// TestPagesAreThoseThatAreRead checks the pages from the place where the library begins to read: at the dictionary,
// also if it follows the data.
func TestPagesAreThoseThatAreRead(t *testing.T) {
	t.Parallel()
	pageOf := func(values, size int32) []byte {
		head := format.PageHeader{Type: format.DataPage, CompressedPageSize: size, UncompressedPageSize: size}
		head.DataPageHeader = thrift.Null[format.DataPageHeader]{V: format.DataPageHeader{NumValues: values}, Valid: true}
		return append(must.Get(thrift.Marshal(new(thrift.CompactProtocol), &head))(t), bytes.Repeat([]byte("x"), int(size))...)
	}
	bad := pageOf(1<<30, 1)
	good := pageOf(1, 1)
	good = pageOf(1, int32(1+len(bad)-len(good))) // of equal length, so that only it is read there
	file := slices.Concat([]byte("PAR1"), good, bad)
	for _, tt := range []struct {
		dictionary int64
		size       int
		want       bool
	}{{0, len(good), true}, {4, len(good), true}, {int64(4 + len(good)), len(bad), false}, {-1, len(good), false}, {0, len(good) + len(bad), false}} {
		column := format.ColumnMetaData{DataPageOffset: 4, DictionaryPageOffset: tt.dictionary, TotalCompressedSize: int64(tt.size)}
		if err := checkPages(bytes.NewReader(file), &column); (err == nil) != tt.want {
			t.Errorf("a dictionary at %d, %d bytes: got %v, want read: %t", tt.dictionary, tt.size, err, tt.want)
		}
	}
}

// TestNestedFilesShareOneBound bounds the total size of nested files.
func TestNestedFilesShareOneBound(t *testing.T) {
	t.Parallel()
	const bill = "BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ServiceName\n1,USD,Usage,2026-11-20,S\n"
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range []string{"a", "b", "c"} {
		entry := must.Get(w.Create(name))(t)
		must.Get(entry.Write([]byte(bill)))(t)
	}
	must.Do(t, w.Close())
	for left, want := range map[int64]bool{int64(3*len(bill) + 1): true, int64(2 * len(bill)): false} {
		r := billReader{bill: &Bill{Costs: map[string]llm.Money{}, Periods: map[Period]llm.Money{}}, seen: map[string]bool{}, left: left}
		if err := r.unpack(bytes.NewReader(archive.Bytes()), 0); (err == nil) != want {
			t.Errorf("three files of %d bytes within %d: got %v, want read: %t", len(bill), left, err, want)
		}
	}
}

// TestPagesWithFalseSizesAreRefused refuses pages that unpack to more than they claim, and those with a few bytes for
// billions of values.
func TestPagesWithFalseSizesAreRefused(t *testing.T) {
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
		for says, want := range map[int]string{len(text): "", len(text) - 1: "more unpacked bytes", 0: "more unpacked bytes", 33 << 20: "the maximum is"} {
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
