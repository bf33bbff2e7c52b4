package meter_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// usageAPIs has the client APIs with usage in a vendor's own members: the wire format of each, by its path.
var usageAPIs = map[string]string{"/v1/responses": "responses", "/v1/messages": "anthropic", "/v1beta/models/{model}:generateContent": "gemini"}

// TestMeterAtVendorAPIs compares the books with the true usage of providers of each wire format, and the usage that
// clients of the vendors' client APIs receive with the books.
func TestMeterAtVendorAPIs(t *testing.T) {
	t.Parallel()
	for name, path := range harness.Spoken() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", name, up.URL, path) + "prices:\n  house/*: " + harness.RatesYAML + "\n"})
			h.SetOnDisconnect(account.DisconnectCancel)
			var all, gone []*exchange
			for _, f := range harness.ChatAPIs() {
				if usageAPIs[f.Path] != "" {
					all = append(all, meterAPI(h, name, &f, len(all))...)
					gone = append(gone, leaveAPI(h, t, up, name, &f, len(gone))...)
				}
			}
			enter(h, t, up, all)
			enter(h, t, up, gone)
			for _, x := range all {
				x.check(t)
			}
			for _, x := range gone {
				x.checkGone(t)
			}
			checkUses(h, t, slices.Concat(all, gone))
			h.Verify(t)
		})
	}
}

func meterAPI(h *harness.Gateway, dialect string, f *harness.ChatAPI, seed int) (all []*exchange) {
	h.T.Helper()
	for _, m := range meteredAnswers() {
		kind := ""
		switch m.members {
		case "":
		case weather:
			kind = "tools"
		default:
			continue // its form differs between client APIs
		}
		for _, stream := range []bool{false, true} {
			if m.broken && !stream && strings.Contains(m.model, "error-event") {
				continue
			}
			x := &exchange{metered: m, dialect: dialect, path: f.Path, stream: stream}
			x.model += ",seed=" + strconv.Itoa(seed+len(all))
			a, _ := f.Ask(kind, "house/"+x.model, stream)
			x.reply = h.Do(a)
			all = append(all, x)
		}
	}
	return all
}

func leaveAPI(h *harness.Gateway, t *testing.T, up *harness.Upstream, dialect string, f *harness.ChatAPI, seed int) (all []*exchange) {
	t.Helper()
	for _, stream := range []bool{false, true} {
		x := &exchange{dialect: dialect, path: f.Path, stream: stream}
		x.model = fmt.Sprintf("chat:tokens=1000,pace=5ms,prompt=500,cached=200,seed=%d", 1000+seed)
		a, _ := f.Ask("", "house/"+x.model, stream)
		lines := 0
		if stream {
			lines = 21
		}
		h.Leave(a, up, lines)
		record := up.Newest(t)
		x.reply.Header = map[string][]string{"X-Request-Id": {harness.RequestOf(&record)}}
		all = append(all, x)
	}
	return all
}

// vendorUsage is a usage object at a vendor's client API, by any of their names.
type vendorUsage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	Total        int64 `json:"total_tokens"`
	CacheRead    int64 `json:"cache_read_input_tokens"`
	CacheWrite   int64 `json:"cache_creation_input_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
		Thinking  int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`

	Prompt     int64 `json:"promptTokenCount"`
	Tool       int64 `json:"toolUsePromptTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	AllTokens  int64 `json:"totalTokenCount"`

	Cost json.Number `json:"cost"`
}

// vendorTold reads the last usage in an answer of a vendor's client API, in OpenAI's form; nil without usage.
func vendorTold(dialect, body string) *toldUsage {
	var last *vendorUsage
	for line := range strings.SplitSeq(body, "\n") {
		data, _ := strings.CutPrefix(line, "data: ")
		var piece struct {
			Usage    *vendorUsage
			Response struct{ Usage *vendorUsage }
			Metadata *vendorUsage `json:"usageMetadata"`
		}
		if json.Unmarshal([]byte(data), &piece) != nil {
			continue
		}
		for _, u := range []*vendorUsage{piece.Usage, piece.Response.Usage, piece.Metadata} {
			if u != nil {
				last = u
			}
		}
	}
	if last == nil {
		return nil
	}
	return last.inWordsOf(dialect)
}

func (u *vendorUsage) inWordsOf(dialect string) *toldUsage {
	told := &toldUsage{Cost: u.Cost}
	cached, reasoning := u.InputDetails.Cached, u.OutputDetails.Reasoning
	switch dialect {
	case "responses":
		told.Tokens = harness.Tokens{Prompt: u.Input, Completion: u.Output, Total: u.Total}
	case "anthropic":
		cached, reasoning = u.CacheRead, u.OutputDetails.Thinking
		in := u.Input + u.CacheRead + u.CacheWrite
		told.Tokens = harness.Tokens{Prompt: in, Completion: u.Output, Total: in + u.Output}
	case "gemini":
		cached, reasoning = u.Cached, u.Thoughts
		told.Tokens = harness.Tokens{Prompt: u.Prompt + u.Tool, Completion: u.Candidates + u.Thoughts, Total: u.AllTokens}
	}
	told.PromptDetails = &struct {
		Cached int64 `json:"cached_tokens"`
	}{cached}
	told.CompletionDetails = &struct {
		Reasoning int64 `json:"reasoning_tokens"`
	}{reasoning}
	return told
}
