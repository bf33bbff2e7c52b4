package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// teller is a provider of every wire format that sends the answers of a list: the model's name is the index.
type teller struct {
	answers []given
	URL     string
}

var answerNumber = regexp.MustCompile(`answer-(\d+)-(\d)`)

func newTeller(t *testing.T, answers []given) *teller {
	s := &teller{answers: answers}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	s.URL = ts.URL
	return s
}

func (s *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a broken body has no number
	found := answerNumber.FindStringSubmatch(r.URL.Path + string(body))
	if found == nil {
		http.Error(w, "no such answer", http.StatusNotFound)
		return
	}
	n, _ := strconv.Atoi(found[1])
	form, _ := strconv.Atoi(found[2])
	media := "application/json"
	if form == 1 {
		media = registrytest.All().Named(s.answers[n].dialect).Framing.ContentType
	}
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(s.answers[n].form[form])
}

// TestAnswersKeepToVendorsTypes compares the answers that clients receive from every provider with the vendors' own
// published types: whole replies, events and errors, the order of streams, and the equality of a joined stream and the
// whole reply.
func TestAnswersKeepToVendorsTypes(t *testing.T) {
	t.Parallel()
	sets := map[string]func(t *testing.T) []given{
		"seeded": func(*testing.T) []given { return seededAnswers(18) }, "odd": oddAnswers, "recorded": recordedGiven,
	}
	for set, answers := range sets {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			s := newTeller(t, answers(t))
			h := harness.Open(t, harness.Setup{YAML: everyDialect(s.URL)})
			q := &answerCheck{h: h, types: vendorTypes(t)}
			for _, f := range harness.ChatAPIs() {
				if api := answerAPIs[f.Path]; api != "" {
					q.holdAll(t, &f, api, s.answers)
				}
			}
			if q.held == 0 {
				t.Error("no answer was compared with a type")
			}
			t.Logf("%d answers held", q.held)
		})
	}
}

// answerAPIs has the client APIs of vendors, by path.
var answerAPIs = map[string]string{
	"/v1/chat/completions": "openai", "/v1/responses": "responses", "/v1/messages": "anthropic", "/v1beta/models/{model}:generateContent": "gemini",
}

type answerCheck struct {
	h     *harness.Gateway
	types map[string]*answerTypes
	held  int
}

func (q *answerCheck) holdAll(t *testing.T, f *harness.ChatAPI, api string, answers []given) {
	for i := range answers {
		a := &answers[i]
		if a.dialect == api {
			continue // it passes unchanged, with other servers' members of the wire format
		}
		var sums [2]*said
		for form, answer := range a.form {
			if answer == nil {
				continue
			}
			ask, _ := f.Ask("tools", fmt.Sprintf("%s-house/answer-%d-%d", a.dialect, i, form), form == 1)
			q.held++
			var faults []error
			sums[form], faults = q.hold(api, ask, form == 1)
			for _, err := range slices.DeleteFunc(faults, func(err error) bool { return err == nil }) {
				q.faulty(t, api, a.name, []string{"whole", "streamed"}[form], err.Error())
			}
		}
		if sums[0] != nil && sums[1] != nil {
			if diff := cmp.Diff(sums[1], sums[0], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(said{}, "IDs")); diff != "" {
				q.faulty(t, api, a.name, "streamed", "differs from the whole answer (-streamed +whole)\n"+diff)
			}
		}
	}
}

// faulty reports a fault.
func (q *answerCheck) faulty(t *testing.T, api, answer, form, fault string) {
	t.Helper()
	t.Errorf("%s of %s, %s: %s", api, answer, form, fault)
}

// hold sends a request, and returns the content of the answer, nil for none, and its faults.
func (q *answerCheck) hold(api string, ask harness.Ask, stream bool) (*said, []error) {
	status, body, err := q.read(ask)
	switch {
	case err != nil && !stream:
		return nil, []error{err}
	case status >= http.StatusBadRequest:
		return nil, []error{q.holdError(api, body)}
	case stream:
		return q.holdStream(api, body)
	}
	var whole any
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		return nil, []error{err}
	}
	s := readWhole[api](whole)
	return &s, []error{q.types[api].refusal(api, q.types[api].whole, whole), s.wrong()}
}

func (q *answerCheck) holdStream(api, body string) (*said, []error) {
	events, failed, faults := q.events(api, body)
	if len(events) == 0 || failed {
		return nil, faults
	}
	whole, err := sum[api](events)
	if err != nil {
		return nil, append(faults, err)
	}
	s := readWhole[api](whole)
	return &s, append(faults, s.wrong())
}

// events reads a stream and checks each event; failed reports whether it ended with an error.
func (q *answerCheck) events(api, body string) (events []any, failed bool, faults []error) {
	types := q.types[api]
	for data := range harness.EventData(body) {
		var e any
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return nil, true, append(faults, fmt.Errorf("%s: %w", data, err))
		}
		kind := text(e, "type")
		switch failed = failed || at(e, "error") != nil || kind == "error"; {
		case kind == "ping":
			continue
		case failed && api != "responses": // which has a type of event for it
			return events, true, append(faults, q.holdError(api, data))
		}
		if err := types.refusal(api, types.event, e); err != nil {
			faults = append(faults, fmt.Errorf("%w in %s", err, data))
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		faults = append(faults, errors.New("no events"))
	}
	return events, failed, faults
}

func (q *answerCheck) holdError(api, body string) error {
	var e any
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return fmt.Errorf("%s: %w", body, err)
	}
	if api == "gemini" { // its errors are google.rpc.Status, which no package of types has
		if number(e, "error", "code") < http.StatusBadRequest || text(e, "error", "message") == "" || !slices.Contains(googleCodes, text(e, "error", "status")) {
			return fmt.Errorf("no google.rpc.Status: %s", body)
		}
		return nil
	}
	if err := q.types[api].refusal(api, "Error", e); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}
	return nil
}

// googleCodes lists the names of google.rpc.Code in errors.
var googleCodes = strings.Fields("CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED UNAUTHENTICATED " +
	"RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS")

// read returns the received part of a reply: a failed stream has no end.
func (q *answerCheck) read(a harness.Ask) (status int, body string, err error) {
	resp, err := q.h.Client.Do(q.h.Request(a))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), err
}

// TestErrorsKeepToVendorsTypes does the same for refusals.
func TestErrorsKeepToVendorsTypes(t *testing.T) {
	t.Parallel()
	s := newTeller(t, nil)
	q := &answerCheck{h: harness.Open(t, harness.Setup{YAML: everyDialect(s.URL)}), types: vendorTypes(t)}
	for _, f := range harness.ChatAPIs() {
		api := answerAPIs[f.Path]
		if api == "" {
			continue
		}
		good, _ := f.Ask("plain", "openai-house/nothing", false)
		with := func(change func(*harness.Ask)) harness.Ask { a := good; change(&a); return a }
		for status, a := range map[int]harness.Ask{
			http.StatusBadRequest:           with(func(a *harness.Ask) { a.Body = "{" }),
			http.StatusUnauthorized:         with(func(a *harness.Ask) { a.Key = "wk_wrong" }),
			http.StatusNotFound:             good,
			http.StatusUnsupportedMediaType: with(func(a *harness.Ask) { a.Header = []string{"Content-Type", "text/xml"} }),
		} {
			r := q.h.Do(a)
			if err := q.holdError(api, r.Body); err != nil || r.Status != status {
				t.Errorf("%s: status %d, want %d: %v", a.Path, r.Status, status, err)
			}
		}
	}
}

// TestTypesTakeVendorsOwnAnswers checks that the types accept the vendors' own answers: otherwise they would be
// useless.
func TestTypesTakeVendorsOwnAnswers(t *testing.T) {
	t.Parallel()
	q := &answerCheck{types: vendorTypes(t)}
	for _, a := range recordedGiven(t) {
		types := q.types[a.dialect]
		vendor, _, _ := strings.Cut(a.name, "/")
		if types == nil || a.dialect != vendor && a.dialect+vendor != "responsesopenai" {
			continue
		}
		for form, body := range a.form {
			if body == nil {
				continue
			}
			q.held++
			var err error
			if form == 1 {
				_, _, faults := q.events(a.dialect, string(body))
				err = errors.Join(faults...)
			} else {
				var whole any
				must.Do(t, json.Unmarshal(body, &whole))
				err = types.refusal(a.dialect, types.whole, whole)
			}
			if err != nil {
				t.Errorf("%s: %v", a.name, err)
			}
		}
	}
	if q.held == 0 {
		t.Error("no answer was compared with a type")
	}
}
