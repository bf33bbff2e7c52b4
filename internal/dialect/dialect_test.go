package dialect_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/dialecttest"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/dialect/toytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/rawjson"
)

// codes lists all codes of errors except for CodeMisdirected, which no client API answers with.
var codes = []llm.Code{
	llm.CodeInvalidRequest, llm.CodeAuthentication, llm.CodeBudgetExceeded, llm.CodeForbidden, llm.CodeNotFound,
	llm.CodeModelNotFound, llm.CodeMethodNotAllowed, llm.CodeIdempotencyConflict, llm.CodeConflict, llm.CodeRequestTooLarge,
	llm.CodeUnsupportedMedia, llm.CodeRateLimited, llm.CodeProviderError, llm.CodeProviderUnavailable,
	llm.CodeProviderTimeout, llm.CodeOverloaded, llm.CodeInternal,
}

// every returns the wire formats and the exemplar.
func every() dialect.Set { return append(registrytest.All(), toytest.Dialect()) }

// TestWireFormatConformance checks the properties that all wire formats share.
func TestWireFormatConformance(t *testing.T) {
	t.Parallel()
	type route struct {
		pattern   string
		clientAPI bool // otherwise only the simulator serves the route
	}
	routes := map[route]string{}
	names := map[string]bool{"": true}
	for _, d := range every() {
		t.Run(d.Name, func(t *testing.T) {
			if names[d.Name] {
				t.Errorf("the name %q is empty or that of another wire format", d.Name)
			}
			names[d.Name] = true
			for pattern, served := range d.Served() {
				place := route{pattern, d.ClientAPI}
				if other := routes[place]; other != "" && !isShared(served) || !strings.HasPrefix(pattern, "POST /") {
					t.Errorf("route %q of %s: %q has it already, or it has no method", pattern, d.Name, other)
				}
				checkSuffixes(t, served)
				routes[place] = d.Name
			}
			checkHalves(t, d)
			checkErrors(t, d)
			checkEnds(t, d)
			checkTools(t, d)
			checkCap(t, d)
			checkUsage(t, d)
		})
	}
}

// isShared reports whether all of a route's operations are those of OpenAI's
// two wire formats.
func isShared(served []*dialect.Operation) bool {
	return len(served) == 1 && served[0].Op != llm.OpChat
}

// checkSuffixes checks that one operation of a route has the paths that no other operation has.
func checkSuffixes(t *testing.T, served []*dialect.Operation) {
	t.Helper()
	seen := map[string]bool{}
	for _, o := range served {
		if o.Op == "" || seen[o.Suffix] {
			t.Errorf("the operation %q: the suffix %q is in use", o.Op, o.Suffix)
		}
		seen[o.Suffix] = true
		if got := dialect.Asked(served, "/v1/x"+o.Suffix); got != o {
			t.Errorf("the suffix %q is the operation %q, want %q", o.Suffix, got.Op, o.Op)
		}
	}
}

func checkHalves(t *testing.T, d *dialect.Dialect) {
	t.Helper()
	type function struct {
		name  string
		there bool
	}
	for half, functions := range map[string][]function{
		"server": {
			{"Routes", len(d.Routes) > 0},
			{"Scan", d.Scan != nil},
			{"DecodeRequest", d.DecodeRequest != nil},
			{"EncodeReply", d.EncodeReply != nil},
			{"NewEncoder", d.NewEncoder != nil},
			{"Status", d.Status != nil},
			{"EncodeError", d.EncodeError != nil},
		},
		"client": {
			{"Path", d.Path != nil},
			{"EncodeRequest", d.EncodeRequest != nil},
			{"Splice", d.Splice != nil},
			{"DecodeReply", d.DecodeReply != nil},
			{"NewDecoder", d.NewDecoder != nil},
			{"Stamp", d.Stamp != nil},
			{"HasUsage", d.HasUsage != nil},
			{"DecodeError", d.DecodeError != nil},
		},
	} {
		there := slices.ContainsFunc(functions, func(f function) bool { return f.there })
		for _, f := range functions {
			if f.there != there {
				t.Errorf("the %s half is half there: %s is missing", half, f.name)
			}
		}
	}
}

func checkErrors(t *testing.T, d *dialect.Dialect) {
	t.Helper()
	if got := d.Status("NO_SUCH_CODE"); got != http.StatusInternalServerError {
		t.Errorf("status of an unknown code: %d, want 500", got)
	}
	for _, code := range codes {
		status := d.Status(code)
		if status < 400 || status == http.StatusInternalServerError && code != llm.CodeInternal {
			t.Errorf("status of %s: %d", code, status)
		}
		for _, param := range []string{"", "messages[0].role"} {
			body := d.EncodeError([]byte("x"), &llm.Error{Code: code, Message: "Say \"why\".\n", Param: param}, "req-1")
			if body[0] != 'x' || !json.Valid(body[1:]) || !strings.Contains(string(body), `Say \"why\".\n`) {
				t.Errorf("error body of %s: %s", code, body)
			}
		}
	}
}

// checkEnds checks that a whole stream ends in its marker and a failed one does not.
func checkEnds(t *testing.T, d *dialect.Dialect) {
	t.Helper()
	enc := d.NewEncoder(llm.Meta{ID: "req-1"})
	whole := string(enc.Finish(nil, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}}))
	if !strings.HasSuffix(whole, d.EndMarker) || strings.Contains(whole, `"cost"`) || strings.Contains(whole, `"weir"`) {
		t.Errorf("end of a stream: %q, want the marker %q, no cost, no attempts", whole, d.EndMarker)
	}
	failed := string(d.NewEncoder(llm.Meta{ID: "req-1"}).Fail(nil, &llm.Error{Code: llm.CodeInternal}))
	if d.EndMarker != "" && strings.Contains(failed, d.EndMarker) || failed == "" {
		t.Errorf("end of a failed stream: %q, want no marker", failed)
	}
}

// checkTools checks that kinds of tools are encoded as they are compared.
func checkTools(t *testing.T, d *dialect.Dialect) {
	t.Helper()
	kinds := append(slices.Clone(d.Inputs.Functions), d.Inputs.ClientTools...)
	for _, tool := range d.Inputs.Tools {
		if kinds = append(kinds, tool.Prefix); tool.Prefix == "" {
			t.Error("a tool of every kind")
		}
	}
	for _, kind := range kinds {
		if kind != strings.ToLower(kind) {
			t.Errorf("the kind %q is not in lower case", kind)
		}
	}
}

// checkCap checks that a cap is inserted into a request without one, where a scan finds it, and that a client's cap
// stays. An Uncapped format has neither.
func checkCap(t *testing.T, d *dialect.Dialect) {
	t.Helper()
	if d.Splice == nil {
		return
	}
	hi := []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: "Hi"}}}}
	for _, given := range []*int64{nil, new(int64(7))} {
		body, _, err := d.EncodeRequest(&llm.Request{Model: "m", MaxOutput: given, Messages: hi}, nil)
		must.Do(t, err)
		before := must.Get(d.Scan(body, arrived(d)))(t)
		spliced := d.Splice(nil, body, &before, llm.Splice{Model: "m", MaxOutput: 9}, nil)
		after, err := d.Scan(spliced, arrived(d))
		if err != nil || !dialecttest.Capped(&before, &after) && !d.Uncapped || (after.MaxOutput == 0) != d.Uncapped {
			t.Errorf("Splice of %s with a cap of 9: got %s with a cap of %d, %v", body, spliced, after.MaxOutput, err)
		}
	}
}

// checkUsage checks that a reply has its usage at UsageAt.
func checkUsage(t *testing.T, d *dialect.Dialect) {
	t.Helper()
	reply := &llm.Reply{Choices: []llm.Choice{{Finish: llm.FinishStop}}, Usage: llm.Usage{llm.Input: 3, llm.Output: 4}, Reported: true}
	body := d.EncodeReply(nil, reply)
	if !slices.ContainsFunc(d.UsageAt, func(path []string) bool { return rawjson.Present(rawjson.Get(body, path...)) }) {
		t.Errorf("no usage at %q of %s", d.UsageAt, body)
	}
}

// TestStatusesOfClientAPIs checks the tables of statuses of the client APIs, including a future one.
func TestStatusesOfClientAPIs(t *testing.T) {
	t.Parallel()
	native := []int{400, 401, 402, 403, 404, 404, 405, 409, 409, 413, 415, 429, 502, 503, 504, 503, 500}
	openai := []int{400, 401, 429, 403, 404, 404, 405, 409, 409, 413, 415, 429, 502, 503, 504, 503, 500}
	anthropic := []int{400, 401, 402, 403, 404, 404, 405, 409, 409, 413, 415, 429, 502, 529, 504, 529, 500}
	for name, want := range map[string][]int{"native": native, "openai": openai, "anthropic": anthropic, "gemini": native, "cohere": native, "ollama": native} {
		for i, code := range codes {
			if got := byName(t, name).Status(code); got != want[i] {
				t.Errorf("%s: status of %s: %d, want %d", name, code, got, want[i])
			}
		}
	}
}

// TestRetryAfter checks the announced wait: at most 59 s for the gateway's own. A provider's wait of over a minute is
// passed on, with the advice not to retry.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wait         time.Duration
		told         bool
		after, again string
	}{
		{time.Millisecond, false, "1", ""},
		{59 * time.Second, false, "59", ""},
		{59*time.Second + 1, false, "59", ""},
		{61 * time.Second, false, "59", ""},
		{61*time.Second + 1, false, "59", "false"},
		{time.Hour, false, "59", "false"},
		{7 * time.Second, true, "7", ""},
		{time.Minute, true, "59", ""},
		{90 * time.Second, true, "90", "false"},
		{time.Hour, true, "3600", "false"},
	} {
		e := &llm.Error{Code: llm.CodeRateLimited, RetryAfter: tt.wait, RetryTold: tt.told}
		h := http.Header{}
		dialect.ErrorHeaders(h, e)
		if after, again := h.Get("Retry-After"), h.Get("X-Should-Retry"); after != tt.after || again != tt.again {
			t.Errorf("%v, wait given %t: got Retry-After %q, x-should-retry %q; want %q, %q", tt.wait, tt.told, after, again, tt.after, tt.again)
		}
		if body := gemini.EncodeError(nil, e, ""); !strings.Contains(string(body), `"retryDelay":"`+tt.after+`s"`) {
			t.Errorf("%v, wait given %t: got %s, want retryDelay %ss", tt.wait, tt.told, body, tt.after)
		}
	}
}
