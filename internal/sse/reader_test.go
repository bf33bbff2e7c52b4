package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"weir/internal/must"
	"weir/internal/sse"

	"weir/internal/worktest"
)

type event struct{ Name, Data, Raw string }

// readAll reads a stream to its end and returns its events, the rest and the error that ended it, nil for io.EOF.
func readAll(src io.Reader, bound int) (events []event, rest string, err error) {
	r := sse.NewReader(src, bound)
	for {
		ev, err := r.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return events, string(r.Rest()), err
		}
		events = append(events, event{string(ev.Name), string(ev.Data), string(ev.Raw)})
	}
}

func TestReaderSplitsEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []event
		rest     string
	}{
		{name: "empty", in: ""},
		{name: "one", in: "data: a\n\n", want: []event{{"", "a", "data: a\n\n"}}},
		{name: "carriage returns", in: "data: a\r\rdata: b\r\r", want: []event{{"", "a", "data: a\r\r"}, {"", "b", "data: b\r\r"}}},
		{name: "both", in: "data: a\r\n\r\ndata: b\r\n\r\n", want: []event{{"", "a", "data: a\r\n\r\n"}, {"", "b", "data: b\r\n\r\n"}}},
		{
			name: "mixed", in: "event: x\rdata: a\r\n\ndata: b\n\r\n",
			want: []event{{"x", "a", "event: x\rdata: a\r\n\n"}, {"", "b", "data: b\n\r\n"}},
		},
		{name: "several data lines", in: "data: a\ndata:b\ndata\n\n", want: []event{{"", "a\nb\n", "data: a\ndata:b\ndata\n\n"}}},
		{name: "one space is cut", in: "data:  a\n\n", want: []event{{"", " a", "data:  a\n\n"}}},
		{name: "name alone", in: "event: ping\n\n", want: []event{{"ping", "", "event: ping\n\n"}}},
		{name: "fields nobody needs", in: "id: 1\nretry: 5\nother\ndata: a\n\n", want: []event{{"", "a", "id: 1\nretry: 5\nother\ndata: a\n\n"}}},
		{name: "comments stay in raw", in: ": hi\n\n\n:\n\ndata: a\n\n", want: []event{{"", "a", ": hi\n\n\n:\n\ndata: a\n\n"}}},
		{name: "byte-order mark", in: "\xef\xbb\xbfdata: a\n\n", want: []event{{"", "a", "\xef\xbb\xbfdata: a\n\n"}}},
		{name: "mark counts at the start alone", in: "data: a\n\n\xef\xbb\xbfdata: b\n\n", want: []event{{"", "a", "data: a\n\n"}}, rest: "\xef\xbb\xbfdata: b\n\n"},
		{name: "no blank line at the end", in: "data: a\n\ndata: b\n", want: []event{{"", "a", "data: a\n\n"}}, rest: "data: b\n"},
		{name: "long lines", in: "data: " + strings.Repeat("x", 9000) + "\n\n", want: []event{{"", strings.Repeat("x", 9000), "data: " + strings.Repeat("x", 9000) + "\n\n"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, piece := range []int{1, 2, 3, 7, 1 << 20} {
				got, rest, err := readAll(&pieces{[]byte(tt.in), piece}, 1<<20)
				if err != nil || rest != tt.rest {
					t.Errorf("%q in pieces of %d: rest %q, error %v; want rest %q", tt.in, piece, rest, err, tt.rest)
				}
				must.Equal(t, got, tt.want, "%q in pieces of %d", tt.in, piece)
			}
		})
	}
}

// pieces returns its bytes in pieces of one size.
type pieces struct {
	b    []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.b[:min(p.size, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}

func TestReaderSplitEverywhere(t *testing.T) {
	t.Parallel()
	const in = "\xef\xbb\xbf: c\r\r\nevent: x\rdata: a\r\ndata: b\n\rdata: c\r\n\r\n:\n\ndata: d\r\r"
	want, _, err := readAll(strings.NewReader(in), 1<<10)
	if err != nil || len(want) != 3 {
		t.Fatalf("whole: %q, %v; want 3 events", want, err)
	}
	for i := range in {
		src := io.MultiReader(strings.NewReader(in[:i]), strings.NewReader(in[i:]))
		got, _, err := readAll(src, 1<<10)
		if diff := cmp.Diff(got, want); diff != "" || err != nil {
			t.Errorf("split at %d: error %v (-got +want):\n%s", i, err, diff)
		}
	}
}

func TestReaderBound(t *testing.T) {
	t.Parallel()
	const bound = 64
	fits := "data: " + strings.Repeat("x", bound-8) + "\n\n"
	tests := []struct {
		name, in string
		events   int
		err      error
	}{
		{"just fits", fits + fits, 2, nil},
		{"one byte more", "x" + fits, 0, sse.ErrTooLong},
		{"later", fits + "x" + fits, 1, sse.ErrTooLong},
		{"no line end at all", strings.Repeat("x", 1000), 0, sse.ErrTooLong},
		{"comments do not add up", strings.Repeat(": keep-alive\n\n", 100) + fits, 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, piece := range []int{1, 7, 1000} {
				got, _, err := readAll(&pieces{[]byte(tt.in), piece}, bound)
				if len(got) != tt.events || !errors.Is(err, tt.err) {
					t.Errorf("pieces of %d: %d events, error %v; want %d, %v", piece, len(got), err, tt.events, tt.err)
				}
			}
		})
	}
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	src := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken))
	got, rest, err := readAll(src, 1<<10)
	if len(got) != 1 || rest != "data: b\n" || !errors.Is(err, broken) {
		t.Errorf("got %q, rest %q, error %v; want one event, the rest and %v", got, rest, err, broken)
	}
	if _, _, err := readAll(idle{}, 1<<10); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source without data: error %v, want %v", err, io.ErrNoProgress)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestBufferedReportsWholeEvents(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(strings.NewReader("data: a\n\n: c\n\ndata: b\n\n: d\n\ndata: c\n"), 1<<10)
	for _, want := range []bool{true, false} {
		must.Get(r.Next())(t)
		if got := r.Buffered(); got != want {
			t.Errorf("buffered: %v, want %v; rest %q", got, want, r.Rest())
		}
	}
}

func TestAppendWritesEvents(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, data, want string }{
		{"", `{"a":1}`, "data: {\"a\":1}\n\n"},
		{"error", "x", "event: error\ndata: x\n\n"},
		{"", "{\n}", "data: {\ndata: }\n\n"},
	}
	for _, tt := range tests {
		got := sse.Append(nil, tt.name, []byte(tt.data))
		if string(got) != tt.want {
			t.Errorf("Append(%q, %q): %q, want %q", tt.name, tt.data, got, tt.want)
		}
		events, _, err := readAll(bytes.NewReader(got), 1<<10)
		if err != nil || len(events) != 1 || events[0].Name != tt.name || events[0].Data != tt.data {
			t.Errorf("%q read back: %q, %v", got, events, err)
		}
	}
	if got, want := string(sse.AppendComment(nil, "keep-alive")), ": keep-alive\n\n"; got != want {
		t.Errorf("AppendComment: %q, want %q", got, want)
	}
}

// FuzzReader checks that chunk boundaries do not matter, that nothing is lost and that the bound is obeyed.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: a\n\n", ": c\r\revent: x\r\ndata: b\n\r", "\xef\xbb\xbfdata\n\n", "\n\n\n", "data: a\r"} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		worktest.Check(t, in, func(in []byte) {
			for _, bound := range []int{256, 8 << 20} {
				_, _, _ = readAll(bytes.NewReader(in), bound)
			}
		})
		whole, wholeRest, wholeErr := readAll(bytes.NewReader(in), 256)
		got, rest, err := readAll(&pieces{in, int(size)%32 + 1}, 256)
		if fmt.Sprint(err) != fmt.Sprint(wholeErr) {
			t.Fatalf("pieces: error %v, whole: %v", err, wholeErr)
		}
		// The dropped part of a long run of comments depends on the pieces; the events do not.
		for i := range min(len(got), len(whole)) {
			got[i].Raw, whole[i].Raw = last(got[i].Raw), last(whole[i].Raw)
		}
		if diff := cmp.Diff(got, whole); diff != "" {
			t.Fatalf("pieces against whole (-got +want):\n%s", diff)
		}
		if err == nil && len(in) <= 256 && rest != wholeRest {
			t.Fatalf("rest %q, whole %q", rest, wholeRest)
		}
	})
}

func last(s string) string { return s[max(0, len(s)-8):] }
