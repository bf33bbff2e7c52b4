package simulator_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/rawjson"
	"weir/internal/simulator"
)

func TestWrongModelNames(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	memory := ways(t, s)[1]
	for _, tt := range []struct {
		model  string
		status int
		says   string
	}{
		{"", 400, "model"},
		{"gpt-5", 404, `The model \"gpt-5\" does not exist here. Known are chat, echo, tools, json, reason`},
		{"chat:", 400, `there is no option \"\"`},
		{"chat:tftt=3s", 400, `there is no option \"tftt\"; known are ttft, pace,`},
		{"chat:ttft", 400, "the option ttft needs a value: ttft=DURATION"},
		{"chat:ttft=3", 400, "ttft must be a duration from 0s to 1h"},
		{"chat:ttft=2h", 400, "ttft must be a duration from 0s to 1h"},
		{"chat:ttft=1s,ttft=2s", 400, "the option ttft stands twice"},
		{"chat:bom=1", 400, "the option bom takes no value"},
		{"chat:tokens=-1", 400, "tokens must be a whole number from 0 to 1000000"},
		{"chat:n=0", 400, "n must be a whole number from 1 to 128"},
		{"chat:usage=odd", 400, "usage must be one of missing, none,"},
		{"chat:eol=x", 400, "eol must be one of lf, crlf, cr, mixed"},
		{"chat:fault=odd", 400, "fault must be one of reset, close,"},
		{"chat:status=200", 400, "status must be a status from 400 to 599"},
		{"chat:status=429,retry_after=soon", 400, "retry_after must be a number of seconds, date, garbage or year"},
		{"chat:retry_after=1", 400, "retry_after needs status=CODE"},
		{"chat:at=3", 400, "at and bytes need fault=NAME"},
		{"chat:once", 400, "once, times, flap and rate need fault=NAME or status=CODE"},
		{"chat:status=500,once,flap=2", 400, "once, times, flap and rate exclude each other"},
		{"chat:status=500,rate=2", 400, "rate must be a share from 0 to 1"},
		{"chat:fault=cut,status=500", 400, "fault and status exclude each other"},
		{"chat:prompt=1,cached=2", 400, "cached is more than prompt"},
		{"echo:variant=2", 400, "variant needs a base model with words of its own"},
		{"chat:" + strings.Repeat("x", 600), 400, "longer than 512 bytes"},
	} {
		got := memory.ask(whole(tt.model))
		if got.status != tt.status || !strings.Contains(got.body, tt.says) || rawjson.Get([]byte(got.body), "error", "message") == nil {
			t.Errorf("model %q: got %d %s, want %d and %q", tt.model, got.status, got.body, tt.status, tt.says)
		}
	}
}

func TestNoModel(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	got := ways(t, s)[1].ask(`{"messages":[{"role":"user","content":"Hi"}]}`)
	if got.status != http.StatusBadRequest || !strings.Contains(got.body, "model") {
		t.Errorf("got %d %s, want 400 and that the model is missing", got.status, got.body)
	}
}

func TestModelsAreListedAndWork(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	memory := ways(t, s)[1]
	list := memory.get(t, "/v1/models")
	for i, m := range simulator.Models() {
		if m.Description == "" || !strings.Contains(list, `"id":"`+m.Name+`"`) {
			t.Errorf("model %d, %q (%s), is not in /v1/models: %s", i, m.Name, m.Description, list)
		}
		if got := memory.askFor(impatience, whole(m.Name)); got.status == http.StatusNotFound || strings.Contains(got.body, "not understood") {
			t.Errorf("model %q is not understood: %d %s", m.Name, got.status, got.body)
		}
	}
}

// TestDocumentationNamesEachOption checks that the documentation names every option, fault and variant, and that every
// model name in it works.
func TestDocumentationNamesEachOption(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "simulator.md")))(t)
	doc := string(text)
	for _, word := range simulator.Vocabulary() {
		if !strings.Contains(doc, word) {
			t.Errorf("docs/simulator.md does not explain %s", word)
		}
	}
	s := newSimulator(t, simulator.Options{})
	memory := ways(t, s)[1]
	for _, span := range strings.Split(doc, "`") {
		base, _, ok := strings.Cut(span, ":")
		if !ok || strings.ContainsAny(span, " \n") || !strings.Contains(" chat echo tools json reason story ", " "+base+" ") {
			continue
		}
		if got := memory.askFor(impatience, whole(span)); strings.Contains(got.body, "not understood") {
			t.Errorf("docs/simulator.md names %q: %s", span, got.body)
		}
	}
}
