package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

var update = flag.Bool("update", false, "write what is got into the golden cases")

// golden is one case: a file of testdata with its input and its output.
type golden struct {
	path    string
	archive *txtar.Archive
}

// input returns the file of that name, without the line end that the format adds.
func (g *golden) input(name string) []byte {
	for _, f := range g.archive.Files {
		if f.Name == name {
			return bytes.TrimSuffix(f.Data, []byte("\n"))
		}
	}
	return nil
}

// check compares the outputs with the case, or writes them into it.
func (g *golden) check(t *testing.T, inputs []string, outputs ...txtar.File) {
	t.Helper()
	want := &txtar.Archive{Comment: g.archive.Comment}
	for _, name := range inputs {
		if in := g.input(name); in != nil {
			want.Files = append(want.Files, txtar.File{Name: name, Data: append(in, '\n')})
		}
	}
	for _, f := range outputs {
		if len(f.Data) > 0 {
			f.Data = append(bytes.TrimRight(f.Data, "\n"), '\n')
			want.Files = append(want.Files, f)
		}
	}
	got := txtar.Format(want)
	if *update {
		if err := os.WriteFile(g.path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(got), string(txtar.Format(g.archive))); diff != "" {
		t.Errorf("%s (-got +want); if this is meant, run `go test ./internal/dialect -update`\n%s", g.path, diff)
	}
}

// goldens runs f over the cases of one kind.
func goldens(t *testing.T, kind string, f func(t *testing.T, g *golden)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", kind, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases of kind %s: %v", kind, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f(t, &golden{path, a})
		})
	}
}

func quirksOf(t *testing.T, b []byte) *llm.Quirks {
	t.Helper()
	q := &llm.Quirks{}
	if b != nil {
		if err := json.Unmarshal(b, q); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

func file(name string, data []byte) txtar.File { return txtar.File{Name: name, Data: data} }

// dialect returns the wire format of the case: named in its file "dialect", by default OpenAI's.
func (g *golden) dialect(t *testing.T) *dialect.Dialect {
	t.Helper()
	if name := g.input("dialect"); name != nil {
		return byName(t, string(name))
	}
	return byName(t, "openai")
}

// TestGoldenRequests reads a request in one wire format and writes it for a
// provider of another, with quirks.
func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	goldens(t, "request", func(t *testing.T, g *golden) {
		var from *dialect.Dialect
		var body []byte
		inputs := []string{"dialect"}
		for _, d := range registrytest.All() {
			if in := g.input(d.Name + ".json"); in != nil {
				from, body, inputs = d, in, append(inputs, d.Name+".json")
			}
		}
		inputs = append(inputs, "quirks.json")
		out, dropped, err := transcode(from, g.dialect(t), body, quirksOf(t, g.input("quirks.json")))
		var failure []byte
		if err != nil {
			failure = from.EncodeError(nil, llm.AsError(err), "req-1")
		}
		g.check(t, inputs,
			file("provider.json", out), file("dropped", []byte(strings.Join(dropped, "\n"))), file("error.json", failure))
	})
}

// arrived returns a request that arrived by a route of the wire format.
func arrived(d *dialect.Dialect) *http.Request {
	r := &http.Request{}
	r.SetPathValue("target", targets[d.Name])
	return r
}

// targets replaces {target...} in paths that name the model.
var targets = map[string]string{"bedrock": "m/converse"}

func transcode(from, to *dialect.Dialect, body []byte, q *llm.Quirks) (out []byte, dropped []string, err error) {
	if _, err := from.Scan(body, arrived(from)); err != nil {
		return nil, nil, err
	}
	r, err := from.DecodeRequest(body)
	if err != nil {
		return nil, nil, err
	}
	if r, _, err = rules.For("", to.Name).Fit(compose.Offered(to.Name, r), from.Name == to.Name); err != nil {
		return nil, nil, err
	}
	return to.EncodeRequest(r, q)
}

func TestGoldenSplices(t *testing.T) {
	t.Parallel()
	goldens(t, "splice", func(t *testing.T, g *golden) {
		d, body := g.dialect(t), g.input("body.json")
		var s llm.Splice
		if err := json.Unmarshal(g.input("splice.json"), &s); err != nil {
			t.Fatal(err)
		}
		h, err := d.Scan(body, arrived(d))
		if err != nil {
			t.Fatal(err)
		}
		got := d.Splice(nil, body, &h, s, quirksOf(t, g.input("quirks.json")))
		if !json.Valid(got) {
			t.Errorf("not JSON: %s", got)
		}
		g.check(t, []string{"dialect", "body.json", "splice.json", "quirks.json"}, file("spliced.json", got))
	})
}

// clientAPIs returns the wire formats of clients.
func clientAPIs() []*dialect.Dialect {
	return slices.DeleteFunc(registrytest.All(), func(d *dialect.Dialect) bool { return !d.ClientAPI })
}

// targets returns the wire formats that a case is translated to: the one named in its file "to", by default those of
// clients.
func (g *golden) targets(t *testing.T) []*dialect.Dialect {
	t.Helper()
	if name := g.input("to"); name != nil {
		return []*dialect.Dialect{byName(t, string(name))}
	}
	return clientAPIs()
}

// TestGoldenReplies reads a provider's reply and writes it for both client APIs, or
// for the wire format that the case names.
func TestGoldenReplies(t *testing.T) {
	t.Parallel()
	goldens(t, "reply", func(t *testing.T, g *golden) {
		r, err := g.dialect(t).DecodeReply(g.input("provider.json"), quirksOf(t, g.input("quirks.json")))
		var outputs []txtar.File
		if err != nil {
			outputs = []txtar.File{file("error", []byte(err.Error()))}
		} else {
			for _, d := range g.targets(t) {
				outputs = append(outputs, file(d.Name+".json", d.EncodeReply(nil, r)))
			}
			outputs = append(outputs, file("usage", usageText(&r.Usage, r.Reported)))
		}
		g.check(t, []string{"dialect", "to", "provider.json", "quirks.json"}, outputs...)
	})
}

func usageText(u *llm.Usage, reported bool) (text []byte) {
	if !reported {
		return []byte("not reported")
	}
	for c, n := range u {
		if n != 0 {
			text = fmt.Appendf(text, "%s %d\n", llm.Class(c), n)
		}
	}
	if text == nil {
		return []byte("reported as zero")
	}
	return text
}

// TestGoldenStreams reads a provider's stream and writes it for both client APIs, or
// for the wire format that the case names.
func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	goldens(t, "stream", func(t *testing.T, g *golden) {
		in := append(g.input("provider.sse"), "\n\n"...)
		if events := g.input("provider.events"); events != nil {
			in = framed(t, g.dialect(t), events)
		}
		q := quirksOf(t, g.input("quirks.json"))
		var outputs []txtar.File
		for _, d := range g.targets(t) {
			outputs = append(outputs, file(d.Name+".sse", translate(g.dialect(t), d, in, q)))
		}
		g.check(t, []string{"dialect", "to", "provider.sse", "provider.events", "quirks.json"}, outputs...)
	})
}

// framed encodes lines such as
//
//	messageStop {"stopReason":"end_turn"}
//
// as a stream of a wire format with binary frames. The line "!cut" removes the second half of the frame before it,
// "!flip" inverts one bit of it.
func framed(t *testing.T, d *dialect.Dialect, events []byte) (stream []byte) {
	t.Helper()
	var last int // the beginning of the last frame
	for line := range bytes.Lines(events) {
		name, data, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		switch string(name) {
		case "!cut":
			stream = stream[:(last+len(stream))/2]
		case "!flip":
			stream[(last+len(stream))/2] ^= 4
		default:
			last = len(stream)
			stream = d.Framing.Append(stream, string(name), data)
		}
	}
	return stream
}

// translate joins the client half of one wire format to the server half of
// another, as the gateway does.
func translate(from, to *dialect.Dialect, in []byte, q *llm.Quirks) (out []byte) {
	cost := llm.Money(1_250_000)
	final := llm.Final{Cost: &cost, Attempts: 2, Models: []string{"a/x", "b/y"}}
	enc := to.NewEncoder(llm.Meta{ID: "req-1", Created: 1700000000, Model: "b/y", IncludeUsage: true})
	dec, r := from.NewDecoder(q), from.Framing.NewReader(bytes.NewReader(in), 1<<20)
	for {
		frame, err := r.Next()
		if errors.Is(err, io.EOF) && from.EndMarker == "" && len(final.Finish) > 0 {
			return enc.Finish(out, &final)
		}
		if errors.Is(err, io.EOF) {
			return enc.Fail(out, &llm.Error{Code: llm.CodeProviderError, Message: "The stream ended early."})
		}
		if err != nil {
			return enc.Fail(out, &llm.Error{Code: llm.CodeProviderError, Message: "The stream broke: " + err.Error()})
		}
		events, err := dec.Decode(nil, frame)
		for i := range events {
			switch ev := &events[i]; ev.Kind {
			case llm.EventFinish:
				final.Finish, final.Stopped = append(final.Finish, ev.Finish), ev.Text
			case llm.EventUsage:
				if !ev.Partial {
					final.Usage, final.Reported = ev.Usage, true
				}
			case llm.EventDone:
				return enc.Finish(out, &final)
			default:
				out = enc.Append(out, ev)
			}
		}
		if err != nil {
			return enc.Fail(out, llm.AsError(err))
		}
	}
}

func TestGoldenErrors(t *testing.T) {
	t.Parallel()
	goldens(t, "error", func(t *testing.T, g *golden) {
		e := g.dialect(t).DecodeError(g.input("body"))
		got := fmt.Sprintf("message: %s\ncode: %s\nparam: %s\n", e.Message, e.Code, e.Param)
		g.check(t, []string{"dialect", "body"}, file("explanation", []byte(got)))
	})
}
