package reconcile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	maxPageBytes  = 32 << 20 // of a page of a Parquet file, compressed or not; writers use pages of 1 MiB
	maxPageValues = 4 << 20
)

// checkPages checks the pages of a column before the library decodes them, because the library allocates memory as
// their headers demand. It checks the compressed and uncompressed sizes and the numbers of values; a few bytes can
// encode billions of values.
func checkPages(file io.ReaderAt, column *format.ColumnMetaData) error {
	if err := checkColumn(column); err != nil {
		return err
	}
	at := column.DataPageOffset
	if column.DictionaryPageOffset != 0 { // the library begins there, even if it comes later
		at = column.DictionaryPageOffset
	}
	if at < 0 || column.TotalCompressedSize < 0 {
		return fmt.Errorf("its pages have the invalid offset %d or size %d", at, column.TotalCompressedSize)
	}
	section := io.NewSectionReader(file, at, column.TotalCompressedSize)
	in := bufio.NewReader(section)
	decoder := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(in))
	for {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		var page format.PageHeader
		if err := decoder.Decode(&page); err != nil {
			return fmt.Errorf("read the header of a page: %w", err)
		}
		if err := checkPage(in, &page, column.Codec); err != nil {
			return err
		}
	}
}

// checkColumn refuses encodings in which a value repeats the previous one, because a page of some megabytes could
// expand to terabytes.
func checkColumn(column *format.ColumnMetaData) error {
	for _, e := range column.Encoding {
		if e == format.DeltaByteArray {
			return fmt.Errorf("its encoding %s is not supported: write the file with dictionaries, or as CSV", e)
		}
	}
	switch column.Codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd:
		return nil
	}
	return fmt.Errorf("its compression %s is not supported: write the file with Snappy, Gzip or Zstandard, or as CSV",
		column.Codec)
}

func checkPage(in io.Reader, page *format.PageHeader, codec format.CompressionCodec) error {
	packed, size := int64(page.CompressedPageSize), int64(page.UncompressedPageSize)
	if packed < 0 || packed > maxPageBytes || size < 0 || size > maxPageBytes {
		return fmt.Errorf("a page has %d bytes, and %d unpacked; the maximum is %d", packed, size, maxPageBytes)
	}
	values, levels := page.DictionaryPageHeader.V.NumValues, int64(0)
	if h := page.DataPageHeader; h.Valid {
		values = h.V.NumValues
	}
	if h := page.DataPageHeaderV2; h.Valid { // does not compress its levels
		values, levels = h.V.NumValues, int64(h.V.RepetitionLevelsByteLength)+int64(h.V.DefinitionLevelsByteLength)
	}
	if h := page.DataPageHeaderV2; h.Valid && h.V.IsCompressed.Valid && !h.V.IsCompressed.V {
		codec = format.Uncompressed
	}
	if values < 0 || values > maxPageValues || levels < 0 || levels > packed {
		return fmt.Errorf("a page has %d values; the maximum is %d", values, maxPageValues)
	}
	text := make([]byte, packed)
	if _, err := io.ReadFull(in, text); err != nil {
		return fmt.Errorf("a page ends too early: %w", err)
	}
	n, err := unpacks(text[levels:], codec, size+1)
	if err != nil {
		return fmt.Errorf("a page cannot be unpacked: %w", err)
	}
	if n > size {
		return fmt.Errorf("a page has more unpacked bytes than the %d in its header", size)
	}
	return nil
}

// unpacks returns the uncompressed size, up to a bound.
func unpacks(text []byte, codec format.CompressionCodec, most int64) (int64, error) {
	if len(text) == 0 {
		return 0, nil
	}
	switch codec {
	case format.Snappy:
		n, err := snappy.DecodedLen(text)
		return int64(n), err
	case format.Gzip:
		in, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return 0, err
		}
		return counted(in, most)
	case format.Zstd:
		in, err := zstd.NewReader(bytes.NewReader(text), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxPageBytes))
		if err != nil {
			return 0, err
		}
		defer in.Close()
		return counted(in, most)
	}
	return int64(len(text)), nil
}

func counted(in io.Reader, most int64) (int64, error) {
	n, err := io.CopyN(io.Discard, in, most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
