package dialect_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/worktest"
)

// operation is one that a wire format can do.
type operation struct {
	*dialect.Operation
	dialect *dialect.Dialect
	at      int // its place in operations
}

// operations lists the operations of all wire formats, each under a number that a fuzzer can change.
func operations() []operation {
	var all []operation
	for _, d := range every() {
		for _, o := range append([]*dialect.Operation{&d.Operation}, d.Operations...) {
			all = append(all, operation{o, d, len(all)})
		}
	}
	return all
}

// numbered returns the operation of a number, modulo their count.
func numbered(all []operation, n byte) *operation { return &all[int(n)%len(all)] }

// chatOf returns the chat of the wire format of that name.
func chatOf(all []operation, name string) *operation {
	for i := range all {
		if all[i].dialect.Name == name && all[i].Op == llm.OpChat {
			return &all[i]
		}
	}
	panic("no dialect " + name)
}

// asked builds a request for the operation.
func (o *operation) asked() *http.Request {
	r := &http.Request{Header: http.Header{}}
	r.SetPathValue("target", "m"+o.Suffix)
	if o.dialect.Name == "bedrock" && o.Op == llm.OpChat {
		r.SetPathValue("target", targets["bedrock"])
	}
	if o.Multipart {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	}
	return r
}

// decodeRequest reads a request, and writes it as it would be for a provider of every wire
// format.
func (o *operation) decodeRequest(all []operation, body []byte) {
	if o.Scan == nil {
		return
	}
	head, err := o.Scan(body, o.asked())
	if err == nil && o.Splice != nil {
		o.Splice(nil, body, &head, llm.Splice{Model: "other"}, &llm.Quirks{})
	}
	if o.Echo != nil {
		o.Echo(body)
	}
	if o.DecodeRequest == nil {
		return
	}
	tree, failed := o.DecodeRequest(body)
	if err != nil || failed != nil {
		return // a tree is encoded only if Scan accepted the body
	}
	for i := range all {
		if to := &all[i]; to.Op == o.Op && to.EncodeRequest != nil {
			request := *tree
			_, _, _ = to.EncodeRequest(&request, &llm.Quirks{}) // some carry it, some refuse it
		}
	}
}

// decodeReply reads an answer or an error, and writes it for clients of every wire format.
func (o *operation) decodeReply(all []operation, body []byte) {
	if o.dialect.DecodeError != nil {
		o.dialect.DecodeError(body)
	}
	if o.Stamp != nil {
		o.Stamp(nil, body, &llm.Final{Cost: new(llm.Money), Attempts: 2})
	}
	if o.Kept != nil {
		o.Kept(body)
	}
	if o.DecodeReply == nil {
		return
	}
	reply, err := o.DecodeReply(body, &llm.Quirks{})
	if err != nil || reply == nil {
		return
	}
	for i := range all {
		if to := &all[i]; to.Op == o.Op && to.EncodeReply != nil {
			to.EncodeReply(nil, reply)
		}
	}
}

// decodeStream reads a stream to its end, despite errors, and writes its events for clients of every wire format.
func (o *operation) decodeStream(all []operation, stream []byte) {
	var encoders []dialect.Encoder
	for i := range all {
		if to := &all[i]; to.Op == o.Op && to.NewEncoder != nil {
			encoders = append(encoders, to.NewEncoder(llm.Meta{IncludeUsage: true}))
		}
	}
	decoder, frames := o.NewDecoder(&llm.Quirks{}), o.Framing.NewReader(bytes.NewReader(stream), 8<<20)
	var out []byte
	for {
		frame, err := frames.Next()
		if err != nil {
			break
		}
		events, _ := decoder.Decode(nil, frame) // one that is wrong is passed over
		if o.Idle != nil && rawjson.Validate(frame.Data, parse.MaxDepth) == nil {
			o.Idle(frame)
		}
		for i := range events {
			for _, e := range encoders {
				out = e.Append(out[:0], &events[i])
			}
		}
	}
	for _, e := range encoders {
		out = e.Finish(out[:0], &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}, Reported: true})
	}
}

// framesOf builds a stream with an event for each line: a name, a space and data.
func (o *operation) framesOf(lines []byte) (stream []byte) {
	for line := range bytes.Lines(lines) {
		name, data, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		stream = o.Framing.Append(stream, string(name), data)
	}
	return stream
}

// FuzzRequestWork bounds the work and the memory of every request decoder, and of the encoders behind it, by the bytes
// of the request.
func FuzzRequestWork(f *testing.F) {
	all := operations()
	for _, r := range repeats() {
		f.Add(byte(chatOf(all, r.dialect).at), r.body(1))
	}
	for i := range all {
		for _, body := range []string{
			`{"model":"m","input":["a","b"],"prompt":"a","n":2,"voice":"v","texts":["a"],"inputText":"a","requests":[{"model":"m","content":{"parts":[{"text":"b"}]}}]}`,
			`{"model":"m","input":[[1,2],[3]],"prompt":[1,{"text":"a"}],"size":"1x1","contents":[{"parts":[{"text":"a"}]}],"messages":[{"role":"user","content":"a"}]}`,
			"--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nRIFF____WAVEfmt \r\n--b--\r\n",
			"--b\r\nContent-Disposition: form-data; name=\"image[]\"; filename=\"a\"\r\n\r\n\x89PNG\r\n",
		} {
			f.Add(byte(i), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, n byte, body []byte) {
		o := numbered(all, n)
		worktest.Check(t, body, func(body []byte) { o.decodeRequest(all, body) })
	})
}

// FuzzReplyWork bounds the same for answers and errors.
func FuzzReplyWork(f *testing.F) {
	all := operations()
	for _, g := range everySixth(f, "reply") {
		f.Add(byte(chatOf(all, g.named()).at), g.input("provider.json"))
	}
	for _, g := range everySixth(f, "error") {
		f.Add(byte(chatOf(all, g.named()).at), g.input("body"))
	}
	for i := range all {
		f.Add(byte(i), []byte(`{"data":[{"embedding":[1,2],"b64_json":"AAAA"}],"embeddings":[{"values":[1]}],"embedding":[1],"segments":[{"start":0,"end":1.5,"text":"a"}],"words":[{"word":"a"}],"text":"a","usage":{"prompt_tokens":2}}`))
		f.Add(byte(i), []byte("WEBVTT\n\n00:00.000 --> 00:01.000\na\n"))
	}
	f.Fuzz(func(t *testing.T, n byte, body []byte) {
		o := numbered(all, n)
		worktest.Check(t, body, func(body []byte) { o.decodeReply(all, body) })
	})
}

// FuzzStreamWork bounds the same for streams: with more events, and with longer ones.
func FuzzStreamWork(f *testing.F) {
	all := operations()
	for _, g := range everySixth(f, "stream") {
		o := chatOf(all, g.named())
		f.Add(byte(o.at), g.lines(o))
	}
	for i := range all {
		f.Add(byte(i), []byte("speech.audio.delta {\"type\":\"speech.audio.delta\",\"audio\":\"AAAA\"}\nx {\"type\":\"transcript.text.delta\",\"delta\":\"a\",\"logprobs\":[1]}\nx {\"type\":\"image_generation.partial_image\",\"b64_json\":\"AAAA\"}\n"))
	}
	f.Fuzz(func(t *testing.T, n byte, lines []byte) {
		o := numbered(all, n)
		if o.NewDecoder == nil {
			return
		}
		worktest.Check(t, lines, func(lines []byte) { o.decodeStream(all, o.framesOf(lines)) })
		name, data, _ := bytes.Cut(bytes.TrimSpace(lines), []byte(" "))
		data, _, _ = bytes.Cut(data, []byte("\n"))
		worktest.Check(t, data, func(data []byte) { o.decodeStream(all, o.Framing.Append(nil, string(name), data)) })
	})
}

// everySixth adds every sixth golden case of a kind, because all would take long.
func everySixth(f *testing.F, kind string) (some []golden) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", kind, "*.txtar"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no cases of kind %s: %v", kind, err)
	}
	for i := 0; i < len(paths); i += 6 {
		a, err := txtar.ParseFile(paths[i])
		if err != nil {
			f.Fatal(err)
		}
		some = append(some, golden{paths[i], a})
	}
	return some
}

// named returns the name of the wire format of the case.
func (g *golden) named() string {
	if name := g.input("dialect"); name != nil {
		return string(name)
	}
	return "openai"
}

// lines returns the events of the case, one a line.
func (g *golden) lines(o *operation) (lines []byte) {
	if events := g.input("provider.events"); events != nil {
		return events
	}
	r := o.Framing.NewReader(bytes.NewReader(append(g.input("provider.sse"), "\n\n"...)), 1<<20)
	for {
		frame, err := r.Next()
		if err != nil {
			return lines
		}
		lines = fmt.Appendf(lines, "%s %s\n", frame.Name, bytes.ReplaceAll(frame.Data, []byte("\n"), nil))
	}
}
