package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/contentlog"
	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/sse"
)

// TestRescueContinuesBrokenStream breaks an answer off after its first text: the client gets one whole answer, or one
// clear error, and every attempt is in the ledger.
func TestRescueContinuesBrokenStream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		targets  string // of the alias, behind "one/cut-5"
		first    string // in its place
		members  string // of the request
		alias    string // further options of it
		models   []string
		prefills string // the text that the last attempt had to continue
		fails    bool
	}{
		{name: "prefill", targets: `"two/go"`, models: []string{"one/cut-5", "two/go"}, prefills: "a weir is the low"},
		{name: "prefill that is refused", targets: `"two/stubborn"`, models: []string{"one/cut-5", "two/stubborn", "two/stubborn"}},
		{name: "prefill that begins anew", targets: `"two/restarts"`, models: []string{"one/cut-5", "two/restarts"}, prefills: "a weir is the low"},
		{name: "an answer of its own", targets: `"one/go"`, models: []string{"one/cut-5", "one/go"}},
		{name: "another answer", targets: `"one/other"`, models: []string{"one/cut-5", "one/other"}, fails: true},
		{name: "another answer, then the same", targets: `"one/other", "one/go"`, models: []string{"one/cut-5", "one/other", "one/go"}},
		{name: "it breaks off again", targets: `"two/cut-2", "one/cut-9", "two/go"`, models: []string{"one/cut-5", "two/cut-2", "one/cut-9", "two/go"}, prefills: "a weir is the low dam that measures a"},
		{name: "nothing is left", targets: `"one/cut-7"`, models: []string{"one/cut-5", "one/cut-7"}, fails: true},
		{name: "a whole reply", targets: `"one/whole"`, models: []string{"one/cut-5", "one/whole"}},
		{name: "a whole reply behind a prefill", targets: `"two/whole"`, models: []string{"one/cut-5", "two/whole"}, prefills: "a weir is the low"},
		{name: "both think", first: "one/thinks-cut-5", targets: `"one/thinks"`, models: []string{"one/thinks-cut-5", "one/thinks"}},
		{name: "after a tool call", first: "one/calls", targets: `"one/go"`, models: []string{"one/calls"}, fails: true},
		{name: "off for the request", targets: `"one/go"`, members: `,"rescue":"off"`, models: []string{"one/cut-5"}, fails: true},
		{name: "off for the alias", targets: `"one/go"`, alias: ", rescue: off", models: []string{"one/cut-5"}, fails: true},
		{name: "broken off is no cause", targets: `"one/go"`, alias: ", on: [overloaded]", models: []string{"one/cut-5"}, fails: true},
		{name: "broken off is a cause", targets: `"one/go"`, alias: ", on: [broken_off]", models: []string{"one/cut-5", "one/go"}},
		{name: "several answers", targets: `"one/go"`, members: `,"n":2`, models: []string{"one/cut-5"}, fails: true},
		{name: "tools in play, no prefill", targets: `"one/go"`, members: `,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]`, models: []string{"one/cut-5"}, fails: true},
		{name: "probabilities, no prefill", targets: `"one/go"`, members: `,"logprobs":true`, models: []string{"one/cut-5"}, fails: true},
	}
	s := harness.NewStoryProvider(t)
	yaml := "providers:" + harness.ProviderYAML("one", s.URL) + strings.ReplaceAll(harness.ProviderYAML("two", s.URL), "retries: 0", "retries: 0\n    prefill: yes")
	prices, aliases := "prices:\n  one/*: {input: \"1\", output: \"2\"}\n  two/*: {input: \"3\", output: \"4\"}\n", "aliases:\n"
	for i, test := range tests {
		first := "one/cut-5"
		if test.first != "" {
			first = test.first
		}
		aliases += fmt.Sprintf("  case%d: {targets: [\"%s-case%d\", %s]%s}\n", i, first, i, test.targets, test.alias) // cases share no circuit
	}
	h := harness.Open(t, harness.Setup{YAML: yaml + prices + aliases})
	logContent(h, "one/go")
	received := map[string]string{} // the text of each answer, by request
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.Take()
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(
				`{"model":"case%d","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Tell me."}]%s}`, i, test.members)})
			told := readVendorStream(t, r.Body)
			received[r.Header.Get("X-Request-Id")] = told.text
			rows := h.CountedRows(t, r)
			var models []string
			for _, row := range rows {
				models = append(models, strings.TrimSuffix(row.Model, fmt.Sprintf("-case%d", i)))
			}
			if got, want := strings.Join(models, " "), strings.Join(test.models, " "); got != want {
				t.Errorf("got requests to %s, want %s", got, want)
			}
			if told.failed != test.fails || !test.fails && (told.text != harness.Words || told.finish != "stop") || test.fails && !strings.HasPrefix(harness.Words, told.text) {
				t.Errorf("got %q, finish %q, failed %v, in\n%s", told.text, told.finish, told.failed, r.Body)
			}
			if len(told.ids) != 1 || len(told.models) != 1 {
				t.Errorf("the pieces say ids %v and models %v, want one of each", told.ids, told.models)
			}
			if !test.fails && told.cost != harness.SumOfCosts(t, rows) {
				t.Errorf("got the cost %s, the ledger has %s: %+v", told.cost, harness.SumOfCosts(t, rows), rows)
			}
			bodies := s.Take()
			if last := bodies[len(bodies)-1]; test.prefills != "" && !strings.Contains(last, `{"role":"assistant","content":`+strconv.Quote(test.prefills)+`}`) {
				t.Errorf("the last attempt was %s, want it to continue %q", last, test.prefills)
			}
			for _, b := range bodies {
				if strings.Contains(b, "rescue") || strings.Contains(b, "fallbacks") {
					t.Errorf("a provider sees our own fields: %s", b)
				}
			}
		})
	}
	must.Do(t, h.Stop())
	logged := loggedAnswers(h)
	for id, text := range received {
		if got, ok := logged[id]; !ok || got != text {
			t.Errorf("the content log has the answer %q (logged: %t), want what the client received, %q", got, ok, text)
		}
	}
}

// logContent switches the content log on for the account default, and waits until a request to a model shows that.
func logContent(h *harness.Gateway, model string) {
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.UpdateAccount(ctx, audit.Gateway(), account.DefaultName, account.Update{ContentPercent: new(int64(100))})
		return err
	})
	harness.Await(h.T, "the content log", func() bool {
		h.Stream(model)
		return len(loggedAnswers(h)) > 0
	})
}

// loggedAnswers returns the texts of the logged answers of the account default, by request.
func loggedAnswers(h *harness.Gateway) map[string]string {
	t, ctx := h.T, context.Background()
	data := must.Get(admin.Open(ctx, h.Config(), config.Options{}, harness.Discard()))(t)
	defer data.Close()
	a := must.Get(data.Accounts.Account(ctx, account.DefaultName))(t)
	texts := map[string]string{}
	must.Do(t, data.Content.Export(ctx, audit.Gateway(), &a, time.Time{}, time.Time{}, func(c *admin.LoggedContent) error {
		var answer contentlog.Answer
		err := json.Unmarshal(c.Answer, &answer)
		for i := range answer.Choices {
			texts[c.RequestID] += answer.Choices[i].Text
		}
		return err
	}))
	return texts
}

// vendorStream holds the content that a client of OpenAI's stream reads.
type vendorStream struct {
	text, finish, cost string
	failed             bool
	ids, models        map[string]bool
}

func readVendorStream(t *testing.T, body string) (v vendorStream) {
	t.Helper()
	v.ids, v.models = map[string]bool{}, map[string]bool{}
	whole := false
	for frames := sse.NewReader(strings.NewReader(body), 1<<20); ; {
		frame, err := frames.Next()
		if err != nil {
			break
		}
		if whole = string(frame.Data) == "[DONE]"; whole {
			continue
		}
		var piece struct {
			ID, Model string
			Error     json.RawMessage
			Choices   []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage struct{ Cost json.Number }
		}
		if err := json.Unmarshal(frame.Data, &piece); err != nil {
			t.Fatalf("frame %q: %v", frame.Data, err)
		}
		if piece.Error != nil {
			v.failed = true
			continue
		}
		v.ids[piece.ID], v.models[piece.Model] = true, true
		for _, c := range piece.Choices {
			v.text += c.Delta.Content
			v.finish += c.Finish
		}
		v.cost += piece.Usage.Cost.String()
	}
	if whole == v.failed {
		t.Errorf("the stream ends with [DONE]: %v, with an error: %v", whole, v.failed)
	}
	return v
}

// TestFallbacksNamedByRequest sends a request that names further models in its body, at every client API.
func TestFallbacksNamedByRequest(t *testing.T) {
	t.Parallel()
	s := harness.NewStoryProvider(t)
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("one", s.URL) + harness.ProviderYAML("house", up.URL) + harness.PricesYAML})
	for _, clientAPI := range []struct{ path, message string }{
		{"/v1/chat", `{"role":"user","prompt":"Tell me."}`}, {"/v1/chat/completions", `{"role":"user","content":"Tell me."}`},
	} {
		body := func(model, fallbacks string) harness.Ask {
			return harness.Ask{Path: clientAPI.path, Body: fmt.Sprintf(`{"fallbacks":%s,"model":%q,"messages":[%s]}`, fallbacks, model, clientAPI.message)}
		}
		r := h.Do(body("house/chat:status=503", `["house/chat:fault=reset","one/whole"]`))
		if r.Status != http.StatusOK || !strings.Contains(r.Body, harness.Words) || r.Header.Get("X-Weir-Model") != "one/whole" || r.Header.Get("X-Weir-Attempts") != "3" {
			t.Errorf("%s: %d %v %s", clientAPI.path, r.Status, r.Header, r.Body)
		}
		for _, b := range s.Take() {
			if strings.Contains(b, "fallbacks") {
				t.Errorf("%s: a provider sees our own field: %s", clientAPI.path, b)
			}
		}
		for _, wrong := range []string{`"one/whole"`, `[1]`, `[""]`, `["a b"]`, `["a/1","a/2","a/3","a/4","a/5","a/6","a/7","a/8","a/9"]`, `{}`} {
			if r := h.Do(body("house/echo", wrong)); r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "fallbacks") {
				t.Errorf("%s with %s: %d %s, want 400 naming the field", clientAPI.path, wrong, r.Status, r.Body)
			}
		}
		if r := h.Do(body("house/echo", `["nobody/m"]`)); r.Status != http.StatusNotFound || !strings.Contains(r.Body, "fallbacks[0]") {
			t.Errorf("%s: an unknown fallback: %d %s", clientAPI.path, r.Status, r.Body)
		}
	}
	for _, wrong := range []string{`"rescue":"maybe"`, `"rescue":1`, `"rescue":"on","rescue":"off"`, `"Fallbacks":[],"fallbacks":[]`} {
		r := h.Do(harness.Ask{Path: "/v1/chat", Body: `{` + wrong + `,"messages":[{"role":"user","prompt":"x"}]}`})
		harness.WantError(t, r, http.StatusBadRequest, "INVALID_REQUEST")
	}
}
