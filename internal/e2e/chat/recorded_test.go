package chat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/fixturetest"
)

// recorded is an exchange of a real client with a real provider.
type recorded struct {
	name, url                      string
	status                         int
	contentType, request, response string
}

// recordedOf reads the recorded exchanges in the wire format of a client API.
func recordedOf(t *testing.T, is func(path string) bool) (list []recorded) {
	t.Helper()
	fit := func(url string) bool {
		path, _, _ := strings.Cut(url, "?")
		return is(path)
	}
	for _, x := range fixturetest.Exchanges(t, fit) {
		list = append(list, recorded{x.Name, x.URL, x.Status, x.ContentType, string(x.Request), string(x.Response)})
	}
	return list
}

// replayer is a provider that answers with a recording.
type replayer struct {
	mu     sync.Mutex
	answer recorded
	got    string
	key    string
	path   string
}

func (s *replayer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // missing bytes show in the comparison
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got, s.path = string(body), r.URL.Path
	s.key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
	w.Header().Set("Content-Type", s.answer.contentType)
	w.WriteHeader(s.answer.status)
	_, _ = io.WriteString(w, s.answer.response)
}

// TestRecordedExchanges sends requests of real clients through a gateway with the same format on both sides, and
// returns answers of real providers: all bytes pass except for the fields that the gateway must change.
func TestRecordedExchanges(t *testing.T) {
	t.Parallel()
	for clientAPI, is := range map[string]func(string) bool{
		"openai":    func(path string) bool { return strings.HasSuffix(path, "/chat/completions") },
		"responses": func(path string) bool { return strings.HasSuffix(path, "/responses") },
		"anthropic": func(path string) bool { return strings.HasSuffix(path, "/v1/messages") },
		"gemini":    func(path string) bool { return strings.Contains(path, "enerateContent") },
	} {
		t.Run(clientAPI, func(t *testing.T) {
			t.Parallel()
			list := recordedOf(t, is)
			s := &replayer{}
			ts := httptest.NewServer(s)
			t.Cleanup(ts.Close)
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", clientAPI, ts.URL, harness.Spoken()[clientAPI]) + strings.Replace(harness.PricesYAML, "{", `{search: "0.01", `, 1)})
			right := 0
			for _, x := range list {
				if t.Run(x.name, func(t *testing.T) { s.exchange(t, h, clientAPI, &x) }) {
					right++
				}
			}
			t.Logf("%s: %d of %d recorded exchanges passed byte for byte", clientAPI, right, len(list))
		})
	}
}

var (
	modelMember  = regexp.MustCompile(`^(\{(?s:.*?)"model":\s*")([^"]+)"`)
	streamMember = regexp.MustCompile(`"stream":\s*true`)
	usageAsked   = regexp.MustCompile(`"include_usage":\s*true`)
)

// exchange replays one exchange.
func (s *replayer) exchange(t *testing.T, h *harness.Gateway, clientAPI string, x *recorded) {
	a, want := x.asked(clientAPI)
	s.mu.Lock()
	s.answer, s.got = *x, ""
	s.mu.Unlock()
	r := h.Do(a)
	wantSame(t, "the request at the provider", s.got, want)
	if s.key != harness.UpstreamKey {
		t.Errorf("the provider got the key %q", s.key)
	}
	switch {
	case x.status != http.StatusOK:
		x.wantError(t, r)
	case strings.HasPrefix(x.contentType, "text/event-stream"):
		x.wantStream(t, r, clientAPI == "openai" && !usageAsked.MatchString(x.request))
	default:
		wantCost(t, r.Body, `"usage":`, `"usageMetadata":`)
		wantSame(t, "the reply", uncosted(r.Body), uncosted(x.response))
	}
}

// asked returns the request of a client of the gateway, and the expected request to the provider.
func (x *recorded) asked(clientAPI string) (a harness.Ask, want string) {
	if clientAPI == "gemini" {
		_, model, _ := strings.Cut(x.url, "/models/")
		path := "/v1beta/models/house/" + model
		if strings.Contains(x.url, "/publishers/") {
			path = "/v1beta1/projects/p/locations/l/publishers/google/models/house/" + model
		}
		return harness.Ask{Path: path, Body: x.request}, x.request
	}
	want = x.request
	sent := modelMember.ReplaceAllString(want, `${1}house/${2}"`)
	if sent == want { // Azure names it in the path
		want = strings.Replace(want, "{", `{"model":"recorded",`, 1)
		sent = strings.Replace(x.request, "{", `{"model":"house/recorded",`, 1)
	}
	if clientAPI == "openai" && streamMember.MatchString(want) && !strings.Contains(want, `"stream_options"`) {
		want = strings.Replace(want, "{", `{"stream_options":{"include_usage":true},`, 1)
	}
	path := map[string]string{"openai": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}[clientAPI]
	return harness.Ask{Path: path, Body: sent}, want
}

// ownCost matches a cost of the provider itself, or of the gateway.
var ownCost = regexp.MustCompile(`"cost":\s*([0-9.eE-]+|\{[^{}]*\})\s*,?`)

// besideCost matches the gateway's cost next to one of the provider's own.
var besideCost = regexp.MustCompile(`,"weir":\{"cost_usd":"[0-9.]+"\}`)

func uncosted(text string) string {
	return ownCost.ReplaceAllString(besideCost.ReplaceAllString(text, ""), "")
}

// wantCost checks that a text with usage also has its cost.
func wantCost(t *testing.T, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		if strings.Contains(text, name+"{") && !strings.Contains(text, `"cost":`) && !strings.Contains(text, `"cost_usd":`) {
			t.Errorf("there is no cost in %s", text)
		}
	}
}

// wantStream compares a stream. Up to the event whose usage the gateway completes, all bytes are the provider's; the
// gateway writes the rest itself, without carriage returns and comments.
func (x *recorded) wantStream(t *testing.T, r harness.Reply, unasked bool) {
	t.Helper()
	want, got := x.response, r.Body
	if unasked {
		want = withoutUsageOnly(want)
	} else if !strings.Contains(got, `"cost":`) {
		t.Errorf("there is no cost in %s", got)
	}
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	at := max(strings.LastIndex(want[:same], "\n\n"), strings.LastIndex(want[:same], "\r\n\r\n"), 0)
	if tail := events(want[at:]); len(tail) > 2 { // the usage and the end marker
		t.Errorf("%d events before the end the bytes are other ones: %q", len(tail), want[at:])
	}
	wantSame(t, "the end of the stream", strings.Join(events(uncosted(got[at:])), "\n\n"), strings.Join(events(uncosted(want[at:])), "\n\n"))
}

// usageOnly matches a chunk of OpenAI's with only usage.
var usageOnly = regexp.MustCompile(`data: [^\n]*"choices":\s*\[\][^\n]*"usage":\s*\{[^\n]*\r?\n\r?\n`)

func withoutUsageOnly(stream string) string { return usageOnly.ReplaceAllString(stream, "") }

// events returns the events of a stream without line ends and comments.
func events(text string) (list []string) {
	for event := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(event, "\n") {
			if line != "" && !strings.HasPrefix(line, ":") {
				lines = append(lines, line)
			}
		}
		if lines != nil {
			slices.Sort(lines) // the order of an event's fields is irrelevant
			list = append(list, strings.Join(lines, "\n"))
		}
	}
	return list
}

// toldAs maps the statuses of a provider to those of the client.
var toldAs = map[int]int{400: 400, 401: 502, 404: 404, 429: 429}

// wantError checks that the provider's error is repeated in the client API's format.
func (x *recorded) wantError(t *testing.T, r harness.Reply) {
	t.Helper()
	if r.Status != toldAs[x.status] {
		t.Errorf("status %d, want %d for the provider's %d", r.Status, toldAs[x.status], x.status)
	}
	var body struct{ Error struct{ Message string } }
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil || body.Error.Message == "" || strings.Contains(r.Body, harness.UpstreamKey) {
		t.Errorf("%s: %v; want an error of the client API", r.Body, err)
	}
	why := explanation([]byte(x.response))
	if x.status == 400 && (why == "" || !strings.Contains(body.Error.Message, why)) {
		t.Errorf("the client got %q, want %q in it", body.Error.Message, why)
	}
}

// explanation returns the longest text of a provider's error, which explains it.
func explanation(body []byte) (longest string) {
	var v any
	_ = json.Unmarshal(body, &v) // an invalid body has no text
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) > len(longest) {
				longest = v
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return longest
}
