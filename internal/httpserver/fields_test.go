package httpserver_test

import (
	"io"
	"net/http"
	"testing"

	"weir/internal/must"
)

// TestFieldsAreWrittenAtOnce checks the header fields that a handler writes without the map: they appear once, after
// BeginFields, beside those of the map, and cannot end a line. HTTP/2 has no such fields.
func TestFieldsAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	type fieldWriter interface {
		BeginFields()
		AddField(name, value string)
		AddNumber(name string, n int64)
		HasField(name string) bool
	}
	for way, client := range ways(t, func(w http.ResponseWriter, r *http.Request) {
		f, direct := w.(fieldWriter)
		if direct != (r.ProtoMajor == 1) {
			t.Errorf("%s: fields are written at once: %t", r.Proto, direct)
		}
		if !direct {
			return
		}
		f.BeginFields()
		f.AddField("X-Stale", "a")
		f.BeginFields()
		f.AddField("X-One", "a\r\nX-Injected: b")
		f.AddNumber("X-Two", -50)
		f.AddField("Content-Type", "text/x-fields")
		f.AddField("Content-Length", "4")
		w.Header().Set("X-Three", "c")
		if !f.HasField("x-one") || f.HasField("X-Stale") || f.HasField("X-Three") || f.HasField("X-On") {
			t.Errorf("%s: wrong fields", r.Proto)
		}
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
			f.AddField("X-Late", "d")
			f.BeginFields()
		}
		_, _ = io.WriteString(w, "body")
	}) {
		for path, status := range map[string]int{"/": http.StatusOK, "/missing": http.StatusNotFound} {
			if way == "HTTP/2" {
				status = http.StatusOK
			}
			res := must.Get(client.Get(urlOf(way) + path))(t)
			body := string(must.Get(io.ReadAll(res.Body))(t))
			_ = res.Body.Close()
			if res.StatusCode != status {
				t.Errorf("%s %s: status %d, want %d", way, path, res.StatusCode, status)
			}
			if way == "HTTP/2" {
				continue
			}
			for name, want := range map[string]string{
				"X-Stale": "", "X-Injected": "", "X-Late": "", "X-One": "a  X-Injected: b", "X-Two": "-50", "X-Three": "c",
				"Content-Type": "text/x-fields",
			} {
				if lines := res.Header[name]; want == "" && lines != nil || want != "" && (len(lines) != 1 || lines[0] != want) {
					t.Errorf("%s %s: %s is %q, want %q", way, path, name, lines, want)
				}
			}
			if res.ContentLength != 4 || body != "body" {
				t.Errorf("%s %s: body %q of %d bytes", way, path, body, res.ContentLength)
			}
		}
	}
}
