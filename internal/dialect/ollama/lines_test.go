package ollama_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/ollama"
	"weir/internal/dialect/ollama/ollamatest"

	"weir/internal/worktest"
)

// readAll reads a stream to its end and returns its lines and the error that ended it, nil for io.EOF.
func readAll(src io.Reader, max int) (data []string, raw string, err error) {
	r := ollama.NewReader(src, max)
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return data, raw, nil
		}
		if err != nil {
			return data, raw, err
		}
		data, raw = append(data, string(ev.Data)), raw+string(ev.Raw)
	}
}

func TestReaderSplitsLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"lines", "{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}},
		{"carriage returns", "{\"a\":1}\r\n{\"b\":2}\r\n", []string{`{"a":1}`, `{"b":2}`}},
		{"blank lines", "\n\r\n {} \n \n\n", []string{`{}`}},
		{"no line end", "{}\n{\"b\":2}", []string{`{}`, `{"b":2}`}},
		{"no line end, with white space", "{} \r", []string{`{}`}},
		{"cut", "{}\n{\"b\":", []string{`{}`}},
		{"byte-order mark", "\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n", []string{`{}`, "\xef\xbb\xbf{}"}},
		{"nothing", "", nil},
		{"white space alone", " \n ", nil},
		{"long", "{\"a\":\"" + strings.Repeat("x", 20_000) + "\"}\n{}\n", []string{`{"a":"` + strings.Repeat("x", 20_000) + `"}`, `{}`}},
	}
	for _, tt := range tests {
		for way, src := range map[string]io.Reader{
			"whole": strings.NewReader(tt.in), "bytewise": iotest.OneByteReader(strings.NewReader(tt.in)),
			"halved": iotest.HalfReader(strings.NewReader(tt.in)), "end with data": iotest.DataErrReader(strings.NewReader(tt.in)),
		} {
			got, _, err := readAll(src, 1<<20)
			if diff := cmp.Diff(got, tt.want); diff != "" || err != nil {
				t.Errorf("%s, %s: error %v (-got +want)\n%.500s", tt.name, way, err, diff)
			}
		}
	}
}

func TestReaderBound(t *testing.T) {
	t.Parallel()
	fits := `{"a":"` + strings.Repeat("x", 9_991) + "\"}\n" // 10,000 bytes
	for name, tt := range map[string]struct {
		in    string
		lines int
		fails bool
	}{
		"fits":             {fits + fits, 2, false},
		"one byte more":    {"x" + fits, 0, true},
		"later":            {fits + "x" + fits, 1, true},
		"no line end":      {strings.Repeat("x", 30_000), 0, true},
		"many blank lines": {strings.Repeat("\n", 30_000) + fits, 1, false},
	} {
		got, _, err := readAll(iotest.HalfReader(strings.NewReader(tt.in)), 10_000)
		if len(got) != tt.lines || (err != nil) != tt.fails {
			t.Errorf("%s: %d lines, error %v; want %d, an error %v", name, len(got), err, tt.lines, tt.fails)
		}
	}
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, _, err := readAll(io.MultiReader(strings.NewReader("{}\n{}"), iotest.ErrReader(broken)), 100)
	if len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("%q and %v, want the whole line and the error", got, err)
	}
	if _, _, err := readAll(idle{}, 100); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source without progress: %v", err)
	}
}

// idle never returns any data.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestBufferedReportsWholeLines checks that only a whole buffered line counts.
func TestBufferedReportsWholeLines(t *testing.T) {
	t.Parallel()
	r := ollama.NewReader(io.MultiReader(strings.NewReader("{}\n\n{\"a\":1}\n\n{\"b\""), strings.NewReader(":2}\n")), 100)
	want := []bool{false, true, false, false}
	for i, next := range want {
		if got := r.Buffered(); got != next {
			t.Errorf("before line %d: buffered %v, want %v", i, got, next)
		}
		ev, err := r.Next()
		if i < 3 && (err != nil || len(ev.Data) == 0) || i == 3 && !errors.Is(err, io.EOF) {
			t.Errorf("line %d: %q, %v", i, ev.Data, err)
		}
	}
}

func TestAppendLine(t *testing.T) {
	t.Parallel()
	if got, want := string(ollamatest.AppendLine([]byte("a\n"), "name", []byte(`{}`))), "a\n{}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n\n{\"a\":1}\r\n{"), 7, 64)
	f.Add([]byte("\xef\xbb\xbf\n}"), 1, 2)
	f.Fuzz(func(t *testing.T, in []byte, size, max int) {
		worktest.Check(t, in, func(in []byte) {
			for r := ollama.NewReader(bytes.NewReader(in), 8<<20); ; {
				if _, err := r.Next(); err != nil {
					return
				}
			}
		})
		max = min(max&0xffff+1, 1<<16)
		whole, raw, err := readAll(bytes.NewReader(in), max)
		pieces, _, err2 := readAll(&cutter{in, size&7 + 1}, max)
		if diff := cmp.Diff(whole, pieces); diff != "" || (err == nil) != (err2 == nil) {
			t.Fatalf("%q whole and in pieces: %v, %v\n%s", in, err, err2, diff)
		}
		if !bytes.Contains(in, []byte(raw)) && len(raw) > len(in) {
			t.Fatalf("%q was read as %q", in, raw)
		}
		for _, line := range whole {
			if len(line) > max {
				t.Fatalf("a line of %d bytes, the bound is %d", len(line), max)
			}
		}
	})
}

// cutter returns its bytes in pieces of one size.
type cutter struct {
	b    []byte
	size int
}

func (c *cutter) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(c.size, len(c.b))])
	c.b = c.b[n:]
	return n, nil
}
