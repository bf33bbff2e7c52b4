package reconcile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// maxParquetRows bounds the rows of a file.
const maxParquetRows = 50_000_000

// readParquet adds the rows of a Parquet file (https://parquet.apache.org/docs/file-format/). It reads only the needed
// columns, one page of each at a time.
func (r *billReader) readParquet(file io.ReaderAt, size int64) (err error) {
	defer func() {
		if damage := recover(); damage != nil { // the library panics on some damaged files
			err = fmt.Errorf("the Parquet file is damaged: %v", damage)
		}
	}()
	if err := checkFooter(file, size); err != nil {
		return err
	}
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("the file looks like Parquet but cannot be read: %w", err)
	}
	if f.NumRows() > maxParquetRows {
		return fmt.Errorf("the Parquet file has more than %d rows", maxParquetRows)
	}
	root := f.Root()
	var heads []string
	for _, c := range root.Columns() {
		heads = append(heads, c.Name())
	}
	at, err := columnsOf(heads)
	if err != nil {
		return err
	}
	done := int64(0)
	for i, group := range f.RowGroups() {
		g, err := openGroup(file, &f.Metadata().RowGroups[i], group, root.Columns(), at)
		if err != nil {
			return err
		}
		err = r.read(&table{heads, g.next(done)}, at)
		done += group.NumRows()
		if err = errors.Join(err, g.close()); err != nil {
			return err
		}
	}
	return nil
}

// maxFooter bounds the metadata of a file, in bytes.
const maxFooter = 64 << 20

// checkFooter checks the length of the metadata at the end of a file.
func checkFooter(file io.ReaderAt, size int64) error {
	var end [8]byte
	if size < int64(len(end))+4 {
		return errors.New("the Parquet file ends too early")
	}
	if _, err := file.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(end[:4])
	if string(end[4:]) != magicParquet || n > maxFooter || int64(n) > size-12 {
		return errors.New("the Parquet file has no valid footer: it is incomplete; download it again")
	}
	return nil
}

// group is a row group of a file.
type group struct {
	columns []*cells
	row     []string
	rows    int64
}

func openGroup(file io.ReaderAt, meta *format.RowGroup, rows parquet.RowGroup, all []*parquet.Column,
	at map[string]int,
) (*group, error) {
	g := &group{row: make([]string, len(all)), rows: rows.NumRows()}
	for name, i := range at {
		if i < 0 {
			continue
		}
		column := all[i]
		if !column.Leaf() || column.Repeated() {
			return nil, fmt.Errorf("the column %s must have single values", name)
		}
		chunk := column.Index()
		if err := checkPages(file, &meta.Columns[chunk].MetaData); err != nil {
			return nil, fmt.Errorf("the column %s: %w", name, err)
		}
		g.columns = append(g.columns, &cells{
			place: i, of: column.Type(), pages: rows.ColumnChunks()[chunk].Pages(), values: make([]parquet.Value, 256),
		})
	}
	slices.SortFunc(g.columns, func(a, b *cells) int { return a.place - b.place })
	return g, nil
}

func (g *group) close() (err error) {
	for _, c := range g.columns {
		err = errors.Join(err, c.pages.Close())
	}
	return err
}

// next returns a function that returns the rows of the group one by one. Before is the number of rows in earlier
// groups.
func (g *group) next(before int64) func() ([]string, string, error) {
	n := int64(0)
	return func() ([]string, string, error) {
		if n >= g.rows {
			return nil, "", io.EOF
		}
		n++
		place := "row " + strconv.FormatInt(before+n, 10)
		for _, c := range g.columns {
			text, err := c.next()
			if errors.Is(err, io.EOF) {
				err = errors.New("the column ends too early")
			}
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", place, err)
			}
			g.row[c.place] = text
		}
		return g.row, place, nil
	}
}

// cells iterates over the values of a column.
type cells struct {
	place  int
	of     parquet.Type
	pages  parquet.Pages
	page   parquet.ValueReader
	values []parquet.Value
	left   []parquet.Value
}

func (c *cells) next() (string, error) {
	for len(c.left) == 0 {
		if c.page == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return "", err
			}
			c.page = page.Values()
		}
		n, err := c.page.ReadValues(c.values)
		if c.left = c.values[:n]; errors.Is(err, io.EOF) {
			c.page = nil
		} else if err != nil {
			return "", err
		}
	}
	v := c.left[0]
	c.left = c.left[1:]
	return cellText(v, c.of), nil
}

// cellText returns a value as CSV would contain it; empty for null.
func cellText(v parquet.Value, of parquet.Type) string {
	if v.IsNull() {
		return ""
	}
	logical := of.LogicalType()
	if logical == nil {
		logical = &format.LogicalType{}
	}
	switch value := logical.Value.(type) {
	case *format.DecimalType:
		return decimalText(v, value.Scale)
	case *format.TimestampType:
		return timeText(v.Int64(), value.Unit)
	case *format.DateType:
		return time.Unix(int64(v.Int32())*86_400, 0).UTC().Format(time.DateOnly)
	}
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		b := v.ByteArray()
		return string(b[:min(len(b), maxRecord)])
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case parquet.Int96: // Julian day and nanoseconds: the time format of Spark and Hive
		n := v.Int96()
		nanos := int64(uint64(n[1])<<32 | uint64(n[0]))
		return time.Unix((int64(n[2])-2_440_588)*86_400, nanos).UTC().Format(time.RFC3339Nano)
	}
	return v.String()
}

// decimalText formats an unscaled integer with scale decimals. For an implausible decimal it returns a text that does
// not parse as an amount.
func decimalText(v parquet.Value, scale int32) string {
	whole := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		whole.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		whole.SetInt64(v.Int64())
	default:
		b := v.ByteArray()
		if len(b) > 64 {
			return fmt.Sprintf("a decimal of %d bytes", len(b))
		}
		whole.SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 { // two's complement
			whole.Sub(whole, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	if scale < 0 || scale > 38 {
		return fmt.Sprintf("a decimal with %d places", scale)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return new(big.Rat).SetFrac(whole, power).FloatString(int(scale))
}

func timeText(n int64, unit format.TimeUnit) string {
	at := time.UnixMilli(n)
	switch unit.Value.(type) {
	case *format.MicroSeconds:
		at = time.UnixMicro(n)
	case *format.NanoSeconds:
		at = time.Unix(0, n)
	}
	return at.UTC().Format(time.RFC3339Nano)
}
