package faults_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
)

// end is how an exchange with a provider has to end for the client.
type end int

const (
	fails   end = iota + 1 // with an error, of a status or in the stream
	answers                // with a whole answer
	either                 // with one of these
)

// faultCase describes one misbehaviour of providers.
type faultCase struct {
	model         string // of the simulator
	whole, stream end
	text          bool // only for wire formats of text, which have line ends and the like
	waits         bool // ends when a timer of the gateway's runs out
}

// faultCases lists the misbehaviours, for any wire format.
func faultCases() []faultCase {
	all := []faultCase{
		{model: "chat:fault=silence", whole: fails, stream: fails, waits: true},
		{model: "chat:fault=headers-silence", whole: fails, stream: fails, waits: true},
		{model: "chat:fault=stall,at=1", whole: fails, stream: fails, waits: true},
		{model: "chat:fault=stall", whole: fails, stream: fails, waits: true},
		{model: "chat:fault=slow-loris", whole: fails, stream: fails, waits: true},
		{model: "chat:fault=half-close", whole: fails, stream: fails},
		{model: "chat:fault=cut", whole: fails, stream: fails},
		{model: "chat:fault=cut-reset", whole: fails, stream: fails},
		{model: "chat:fault=cut,at=30", whole: fails, stream: fails},
		{model: "chat:fault=eof", whole: fails, stream: fails},
		{model: "chat:fault=eof,at=31", whole: fails, stream: fails},
		{model: "chat:fault=reset", whole: fails, stream: fails},
		{model: "chat:fault=close", whole: fails, stream: fails},
		{model: "chat:fault=no-end", whole: answers, stream: either}, // where the finish reason is the end, too
		{model: "chat:fault=html", whole: fails, stream: fails},
		{model: "chat:fault=json-error", whole: fails, stream: fails},
		{model: "chat:fault=empty", whole: fails, stream: fails},
		{model: "chat:fault=not-stream", whole: answers, stream: answers},
		{model: "chat:fault=no-choices", whole: fails, stream: either},
		{model: "chat:fault=malformed", whole: fails, stream: fails},
		{model: "chat:fault=invalid-utf8", whole: either, stream: fails},
		{model: "chat:fault=long-line,bytes=9000000", whole: either, stream: fails},
		{model: "chat:fault=bad-crc", whole: fails, stream: fails},
		{model: "chat:fault=gzip", whole: fails, stream: fails},
		{model: "chat:fault=length-short", whole: fails, stream: either},
		{model: "chat:fault=length-long", whole: fails, stream: either},
		{model: "chat:fault=continue", whole: answers, stream: answers},
		{model: "chat:fault=early-hints", whole: answers, stream: answers},
		{model: "chat:fault=redirect", whole: fails, stream: fails},
		{model: "chat:fault=error-event", whole: fails, stream: fails},
		{model: "chat:fault=content-filter", whole: answers, stream: answers},
		{model: "chat:fault=context-length", whole: fails, stream: fails},
		{model: "chat:fault=quota", whole: fails, stream: fails},
		{model: "tools:fault=duplicate-tool-ids", whole: answers, stream: answers},
		{model: "tools:fault=bad-arguments", whole: either, stream: either},
		{model: "chat:chunk=1,unicode", whole: answers, stream: answers},
		{model: "chat:chunk=7", whole: answers, stream: answers},
		{model: "chat:eol=crlf,chunk=1", whole: answers, stream: answers, text: true},
		{model: "chat:eol=cr", whole: answers, stream: answers, text: true},
		{model: "chat:eol=mixed", whole: answers, stream: answers, text: true},
		{model: "chat:comments,bom", whole: either, stream: answers, text: true},
		{model: "chat:tokens=900,uncapped", whole: answers, stream: answers},
	}
	for _, variant := range []string{"missing", "none", "zero", "nodetails", "over", "negative", "huge", "float", "twice", "decreasing"} {
		all = append(all, faultCase{model: "chat:usage=" + variant, whole: answers, stream: answers})
	}
	for _, after := range []string{"0", "1", "date", "garbage", "year"} {
		all = append(all, faultCase{model: "chat:status=429,retry_after=" + after, whole: fails, stream: fails})
	}
	for _, status := range []string{"400", "401", "402", "403", "404", "408", "413", "422", "500", "502", "503", "504", "529"} {
		all = append(all, faultCase{model: "chat:status=" + status, whole: fails, stream: fails})
	}
	return all
}

// TestProviderFaults sends requests for a whole answer and for a stream to a misbehaving provider, in each way and each
// wire format: each request ends, at the latest by a timer of the gateway, and no cut answer is reported as whole.
func TestProviderFaults(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	yaml := "providers:"
	for name, path := range harness.Spoken() {
		yaml += strings.NewReplacer("dialect: openai", "dialect: "+name, up.URL+"/v1", up.URL+path).Replace(
			harness.Hasty(harness.ProviderYAML("hasty-"+name, up.URL), "2s", "4s") +
				harness.Hasty(harness.ProviderYAML("patient-"+name, up.URL), "5m", "10m"))
	}
	h := harness.Open(t, harness.Setup{YAML: yaml})
	exchanges := 0
	var running sync.WaitGroup
	places := make(chan struct{}, 24) // most of them wait for a timer
	for name := range harness.Spoken() {
		text := registrytest.All().Named(name).Framing.ContentType == dialect.ServerSent().ContentType
		for _, b := range faultCases() {
			if b.text && !text {
				continue
			}
			for _, stream := range []bool{false, true} {
				exchanges++
				places <- struct{}{}
				running.Go(func() {
					defer func() { <-places }()
					b.meet(t, h, name+"/"+b.model, stream)
				})
			}
		}
	}
	running.Wait()
	t.Logf("%d exchanges, %d behaviours", exchanges, len(faultCases()))
	if r := h.Do(harness.Ask{Path: "/readyz"}); r.Status != http.StatusOK {
		t.Errorf("readyz: %d %s", r.Status, r.Body)
	}
}

func (b *faultCase) meet(t *testing.T, h *harness.Gateway, model string, stream bool) {
	if model = "patient-" + model; b.waits {
		model = strings.Replace(model, "patient", "hasty", 1)
	}
	want, members := b.whole, ""
	if stream {
		want, members = b.stream, `,"stream":true`
	}
	if strings.HasPrefix(b.model, "tools") {
		members += `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`
	}
	r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion(model, members+`,"max_tokens":800`)})
	failed := r.Status != http.StatusOK
	if stream && !failed {
		failed = readVendorStream(t, r.Body).failed
	}
	switch {
	case want == fails && !failed:
		t.Errorf("%s, stream %v: reported as whole: %.600s", model, stream, r.Body)
	case want == answers && failed:
		t.Errorf("%s, stream %v: failed: %d %.600s", model, stream, r.Status, r.Body)
	case r.Status == http.StatusInternalServerError:
		t.Errorf("%s, stream %v: a defect of ours: %s", model, stream, r.Body)
	}
}
