package chat_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// encoded encodes a text.
func encoded(t *testing.T, encoding, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "zstd":
		w = must.Get(zstd.NewWriter(&b))(t)
	default:
		return text
	}
	_ = must.Get(io.WriteString(w, text))(t)
	must.Do(t, w.Close())
	return b.String()
}

// TestCompressedBodies sends compressed bodies: they are read at every client API, within the bound of a body.
func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "max_body: 1MiB\n" + harness.ProvidersYAML(up.URL)})
	for _, encoding := range []string{"gzip", "deflate", "zstd", "identity"} {
		for _, a := range []harness.Ask{
			{Path: "/v1/chat", Body: harness.Hello("house/chat")},
			{Path: "/v1/chat/completions", Body: harness.Completion("house/chat", "")},
			{Path: "/v1/responses", Body: `{"model":"house/chat","input":"Hi"}`},
			{Path: "/v1/messages", Body: `{"model":"house/chat","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`},
			{Path: "/v1beta/models/house/chat:generateContent", Body: `{"contents":[{"parts":[{"text":"Hi"}]}]}`},
			{Path: "/v1/embeddings", Body: `{"model":"house/chat","input":"Hi"}`},
		} {
			a.Body, a.Header = encoded(t, encoding, a.Body), []string{"Content-Encoding", encoding}
			if got := h.Do(a); got.Status != http.StatusOK {
				t.Errorf("%s, %s: %d %s", a.Path, encoding, got.Status, got.Body)
			}
		}
	}
}

// TestBodiesThatExpandAreRefused checks that a body may expand to a hundred times its size, and always to 1 MiB.
func TestBodiesThatExpandAreRefused(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	var varied strings.Builder
	for i := range 100_000 {
		varied.WriteString(strconv.Itoa(i * 7919))
	}
	for _, tt := range []struct {
		prompt string
		status int
	}{{strings.Repeat("x", 900<<10), 200}, {strings.Repeat("x", 4<<20), 413}, {varied.String() + strings.Repeat("x", 4<<20), 200}} {
		body := encoded(t, "gzip", strings.Replace(harness.Hello("house/chat"), "Say it again", tt.prompt, 1))
		got := h.Do(harness.Ask{Path: "/v1/chat", Body: body, Header: []string{"Content-Encoding", "gzip"}})
		if got.Status != tt.status || (tt.status == 413) != strings.Contains(got.Body, "compressed") {
			t.Errorf("%d bytes sent as %d: got %d %.200s, want %d", len(tt.prompt), len(body), got.Status, got.Body, tt.status)
		}
	}
}

// TestCompressedBodiesThatAreRefused sends bombs, broken and foreign encodings.
func TestCompressedBodiesThatAreRefused(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "max_body: 1MiB\n" + harness.ProvidersYAML(up.URL)})
	hello, bomb := harness.Hello("house/chat"), harness.Hello(strings.Repeat("x", 64<<20))
	for _, tt := range []struct {
		name, encoding, body string
		status               int
	}{
		{"gzip bomb", "gzip", encoded(t, "gzip", bomb), 413},
		{"deflate bomb", "deflate", encoded(t, "deflate", bomb), 413},
		{"zstd bomb", "zstd", encoded(t, "zstd", bomb), 413},
		{"empty members without end", "gzip", strings.Repeat(encoded(t, "gzip", ""), 1<<16), 413},
		{"one in another", "gzip, gzip", encoded(t, "gzip", encoded(t, "gzip", hello)), 415},
		{"brotli", "br", "\x0b\x02\x80hello\x03", 415},
		{"no gzip", "gzip", hello, 400},
		{"no zstd", "zstd", hello, 400},
		{"no deflate", "deflate", hello, 400},
		{"cut gzip", "gzip", encoded(t, "gzip", hello)[:40], 400},
		{"cut zstd", "zstd", encoded(t, "zstd", hello)[:20], 400},
		{"wrong checksum", "gzip", encoded(t, "gzip", hello)[:60] + strings.Repeat("z", 40), 400},
		{"large window", "zstd", "\x28\xb5\x2f\xfd\x00\xff" + strings.Repeat("\x00", 20), 400},
		{"nothing", "gzip", encoded(t, "gzip", ""), 400},
	} {
		got := h.Do(harness.Ask{Path: "/v1/chat", Body: tt.body, Header: []string{"Content-Encoding", tt.encoding}})
		if got.Status != tt.status || !strings.HasPrefix(got.Body, `{"error"`) {
			t.Errorf("%s: %d %s, want %d", tt.name, got.Status, got.Body, tt.status)
		}
		if offered := got.Header.Get("Accept-Encoding"); (offered != "") != (tt.status == 415) {
			t.Errorf("%s: Accept-Encoding %q", tt.name, offered)
		}
		if again := h.Chat("house/chat"); again.Status != http.StatusOK {
			t.Errorf("after %s: %d %s", tt.name, again.Status, again.Body)
		}
	}
}
