package reconcile_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"maps"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/parquet-go/parquet-go"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/reconcile"
)

const plainBill = "BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ServiceName,Tags\n" +
	`1.25,USD,Usage,2026-11-20T00:00:00Z,2026-11-20T01:00:00Z,Amazon Bedrock,"{""a"": ""b, c""}"` + "\n"

func zipped(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must.Get(w.Write([]byte(text)))(t)
	must.Do(t, w.Close())
	return out.String()
}

func archived(t testing.TB, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range files {
		entry := must.Get(w.Create(name))(t)
		must.Get(entry.Write([]byte(text)))(t)
	}
	must.Do(t, w.Close())
	return out.String()
}

func wide(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// TestBillForms reads the same row in every form that tools write.
func TestBillForms(t *testing.T) {
	t.Parallel()
	lines := strings.SplitN(plainBill, "\n", 2)
	snake := "billed_cost,billing_currency,charge_category,charge_period_start,charge_period_end,service_name,tags\n" + lines[1]
	at := func(from, to string) string {
		return strings.NewReplacer("2026-11-20T00:00:00Z", from, "2026-11-20T01:00:00Z", to).Replace(plainBill)
	}
	files := map[string]string{
		"plain": plainBill, "a category in lower case": strings.Replace(plainBill, "Usage", "usage", 1), "a byte order mark": "\ufeff" + plainBill, "names in lower case": strings.ToLower(lines[0]) + "\n" + lines[1], "names with underscores": snake,
		"minutes": at("2026-11-20T00:00Z", "2026-11-20T01:00Z"), "a day": at("2026-11-20T00:00Z", "2026-11-21T00:00Z"), "a zone of hours": at("2026-11-20 00:00:00+00", "2026-11-20 01:00:00+00"),
		"microseconds": at("2026-11-20 00:00:00.000000 UTC", "2026-11-20 01:00:00.000000 UTC"), "another zone": at("2026-11-20T08:00:00+08:00", "2026-11-20 09:00 +0800 UTC"),
		"no zone": at("2026-11-20 00:00", "2026-11-20 01:00"), "a date": at("2026-11-20", "2026-11-21"), "no end": at("2026-11-20", ""),
		"semicolons": strings.Replace(strings.ReplaceAll(plainBill, ",", ";"), "b; c", "b, c", 1), "tabs": strings.Replace(strings.ReplaceAll(plainBill, ",", "\t"), "b\t c", "b, c", 1),
		"CRLF": strings.ReplaceAll(plainBill, "\n", "\r\n"), "UTF-16, little end first": wide(binary.LittleEndian, plainBill+"é😀,,,,,,\n"), "UTF-16, big end first": wide(binary.BigEndian, plainBill),
		"gzip": zipped(t, plainBill), "zip": archived(t, map[string]string{"dir/bill": plainBill}), "gzip in zip": archived(t, map[string]string{"bill.csv": zipped(t, plainBill)}),
		"gzip in gzip": zipped(t, zipped(t, plainBill)),
	}
	want := map[string]llm.Money{"2026-11-20": 1_250_000_000}
	for name, file := range files {
		for _, services := range [][]string{{"Amazon Bedrock"}, {"*"}} {
			b, err := reconcile.ReadBill(strings.NewReader(strings.TrimSuffix(file, "é😀,,,,,,\n")), services)
			if name == "UTF-16, little end first" { // its second row has no service, and is not a bill
				b, err = reconcile.ReadBill(strings.NewReader(file), []string{"Amazon Bedrock"})
			}
			if err != nil || !maps.Equal(b.Costs, want) || len(b.Periods) > 0 {
				t.Errorf("%s: got %v, %v, %v; want %v", name, b.Costs, b.Periods, err, want)
			}
		}
	}
	twice := map[string]llm.Money{"2026-11-20": 2_500_000_000}
	for name, file := range map[string]string{
		"two in a row": plainBill + plainBill, "two in an archive": archived(t, map[string]string{"a": plainBill, "b": zipped(t, plainBill), "__MACOSX/._a": "x"}),
	} {
		if b, err := reconcile.ReadBill(strings.NewReader(file), []string{"*"}); err != nil || !maps.Equal(b.Costs, twice) || len(b.Services) != 1 {
			t.Errorf("%s: got %v of %q, %v; want %v of one service", name, b.Costs, b.Services, err, twice)
		}
	}
}

// TestBillOfPeriods compares all days of a row that is of more than one together.
func TestBillOfPeriods(t *testing.T) {
	t.Parallel()
	month := strings.NewReplacer("2026-11-20T00:00:00Z", "2026-11-01T00:00:00Z", "2026-11-20T01:00:00Z", "2026-12-01T00:00:00Z").Replace(plainBill)
	b := must.Get(reconcile.ReadBill(strings.NewReader(month+plainBill+strings.NewReplacer("2026-11-20T00:00:00Z", "2026-12-02", "2026-11-20T01:00:00Z", "2026-12-03").Replace(plainBill)), []string{"*"}))(t)
	from, to := b.Days()
	must.Equal(t, []string{from, to}, []string{"2026-11-01", "2026-12-02"}, "days")
	ours := map[reconcile.Place]reconcile.Ours{
		{Day: "2026-11-03", Model: "m"}: {Cost: llm.USD}, {Day: "2026-11-30", Model: "m"}: {Cost: 3 * llm.USD / 2}, {Day: "2026-12-02", Model: "m"}: {Cost: llm.USD},
	}
	days := reconcile.CompareDays(ours, &b)
	want := []reconcile.Day{
		{Day: "2026-11-01", Through: "2026-11-30", Ours: 5 * llm.USD / 2, Theirs: 5 * llm.USD / 2, Finding: reconcile.Agrees},
		{Day: "2026-12-02", Ours: llm.USD, Theirs: 5 * llm.USD / 4, Finding: reconcile.More},
	}
	must.Equal(t, days, want, "days")
	if _, err := b.Within("2026-11-10", "2026-12-02"); err == nil || !strings.Contains(err.Error(), "covers 2026-11-01 to 2026-11-30") {
		t.Errorf("a part of the period: got %v, want an error that names it", err)
	}
	if rest := must.Get(b.Within("2026-12-01", "2026-12-31"))(t); len(rest.Periods) != 0 || len(rest.Costs) != 1 {
		t.Errorf("no row of the period: got %+v", rest)
	}
}

type billedRow struct {
	Cost     float64   `parquet:"billed_cost"`
	Currency string    `parquet:"billing_currency,dict"`
	Category *string   `parquet:"charge_category,optional"`
	From     time.Time `parquet:"charge_period_start,timestamp(millisecond)"`
	To       time.Time `parquet:"charge_period_end,timestamp(microsecond)"`
	Service  string    `parquet:"service_name,dict"`
	Tags     []string  `parquet:"tags,list"`
}

type exactRow struct {
	Cost     int64  `parquet:"BilledCost,decimal(9:18)"`
	Currency string `parquet:"BillingCurrency"`
	Category string `parquet:"ChargeCategory"`
	From     int32  `parquet:"ChargePeriodStart,date"`
	Service  string `parquet:"ServiceName"`
}

func parquetOf[T any](t testing.TB, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, options...)
	must.Get(w.Write(rows))(t)
	must.Do(t, w.Close())
	return out.String()
}

// TestBillParquet reads columnar files as the clouds and their tools write them, compressed in any way, from a stream
// and from a file.
func TestBillParquet(t *testing.T) {
	t.Parallel()
	var rows []billedRow
	usage, from := "Usage", time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range 5000 {
		at := from.Add(time.Duration(i/100) * time.Hour)
		rows = append(rows, billedRow{0.0125, "USD", &usage, at, at.Add(time.Hour), "Amazon Bedrock", []string{"a", "b"}})
	}
	rows[0].Category = nil // which is no usage
	want := map[string]llm.Money{"2026-11-20": 2399 * 12_500_000, "2026-11-21": 2400 * 12_500_000, "2026-11-22": 200 * 12_500_000}
	for name, options := range map[string][]parquet.WriterOption{
		"not packed": nil, "Snappy": {parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(700)}, "Zstandard": {parquet.Compression(&parquet.Zstd)},
		"Gzip": {parquet.Compression(&parquet.Gzip), parquet.DataPageVersion(1)}, "small pages": {parquet.PageBufferSize(512), parquet.DataPageVersion(2), parquet.Compression(&parquet.Snappy)},
	} {
		text := parquetOf(t, rows, options...)
		path := t.TempDir() + "/bill"
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		file := must.Get(os.Open(path))(t)
		defer file.Close()
		ofFile := must.Get(reconcile.ReadBill(file, []string{"Amazon*"}))(t)
		ofStream := must.Get(reconcile.ReadBill(strings.NewReader(archived(t, map[string]string{"x": text})), []string{"Amazon*"}))(t)
		if !maps.Equal(ofFile.Costs, want) || !maps.Equal(ofStream.Costs, want) || ofFile.Other != 12_500_000 {
			t.Errorf("%s: got %v and %v, and %s of other rows; want %v", name, ofFile.Costs, ofStream.Costs, ofFile.Other, want)
		}
	}
	exact := parquetOf(t, []exactRow{{1_000_000_001, "USD", "Usage", 20_777, "S"}, {-1, "USD", "Usage", 20_777, "S"}})
	if b, err := reconcile.ReadBill(strings.NewReader(exact), []string{"S"}); err != nil || !maps.Equal(b.Costs, map[string]llm.Money{"2026-11-20": llm.USD}) {
		t.Errorf("decimals and dates: got %v, %v", b.Costs, err)
	}
	rows[4321].Currency = "EUR"
	if _, err := reconcile.ReadBill(strings.NewReader(parquetOf(t, rows, parquet.MaxRowsPerRowGroup(1000))), []string{"*"}); err == nil || !strings.Contains(err.Error(), `row 4322: BillingCurrency is "EUR"`) {
		t.Errorf("another currency: got %v, want its row", err)
	}
}

// TestBillFileMistakes checks the errors for files without a bill, and that reading them needs no more memory than a
// page.
func TestBillFileMistakes(t *testing.T) {
	t.Parallel()
	var large []exactRow
	for range 40 {
		large = append(large, exactRow{1, "USD", "Usage", 20_777, strings.Repeat("x", 1<<20)})
	}
	good := parquetOf(t, []exactRow{{1, "USD", "Usage", 20_777, strings.Repeat("x", 2000)}}, parquet.Compression(&parquet.Zstd))
	for _, test := range []struct{ name, file, want string }{
		{"Parquet without a description", "PAR1" + strings.Repeat(" ", 100) + "PAR1", "it is incomplete"},
		{"Parquet that ends too early", good[:len(good)-9], "it is incomplete"},
		{"Parquet with damage", good[:40] + strings.Repeat("\xff", 40) + good[80:], "page"},
		{"Parquet with a large page", parquetOf(t, large, parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(64<<20)), "unpacked; the maximum is"},
		{"Parquet in a format that repeats", parquetOf(t, []struct {
			Cost     int64  `parquet:"BilledCost"`
			Currency string `parquet:"BillingCurrency"`
			Category string `parquet:"ChargeCategory"`
			From     string `parquet:"ChargePeriodStart"`
			Service  string `parquet:"ServiceName,delta"`
		}{{}}), "the column ServiceName: its encoding DELTA_BYTE_ARRAY is not supported"},
		{"Parquet with LZ4", parquetOf(t, []exactRow{{}}, parquet.Compression(&parquet.Lz4Raw)), "its compression LZ4_RAW is not supported"},
		{"Parquet of something else", parquetOf(t, []struct{ A, B int64 }{{}}), `the column BilledCost is missing; the file has "A", "B"`},
		{"gzip of nothing", "\x1f\x8b\x08" + strings.Repeat("x", 20), "looks like gzip"},
		{"zip that ends too early", "PK\x03\x04" + strings.Repeat("x", 20), "looks like zip"},
		{"zip of nothing", archived(t, nil), "has no file"},
		{"zip of a text", archived(t, map[string]string{"notes.txt": "hello"}), `"notes.txt" in the archive: the column BilledCost is missing; the file has "hello"`},
		{"gzip in itself", zipped(t, zipped(t, zipped(t, zipped(t, plainBill)))), "nested more than"},
		{"a period without end", strings.Replace(plainBill, "2026-11-20T01:00:00Z", "2028-11-20T01:00:00Z", 1), "line 2: a row covers 2026-11-20 to 2028-11-20, more than 400 days"},
		{"a period that ends before it begins", strings.Replace(plainBill, "2026-11-20T01:00:00Z", "2026-11-19T23:00:00Z", 1), `line 2: ChargePeriodEnd "2026-11-19T23:00:00Z" is before ChargePeriodStart "2026-11-20T00:00:00Z"`},
		{"Parquet with a decimal of many places", parquetOf(t, []struct {
			Cost     int64  `parquet:"BilledCost,decimal(40:18)"`
			Currency string `parquet:"BillingCurrency"`
			Category string `parquet:"ChargeCategory"`
			From     string `parquet:"ChargePeriodStart"`
			Service  string `parquet:"ServiceName"`
		}{{1, "USD", "Usage", "2026-11-20", "S"}}), `row 1: BilledCost is "a decimal with 40 places"`},
		{"no time", strings.Replace(plainBill, "2026-11-20T00:00:00Z", "11/20/2026", 1), `line 2: ChargePeriodStart is "11/20/2026"`},
	} {
		_, err := reconcile.ReadBill(strings.NewReader(test.file), []string{"*"})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}
