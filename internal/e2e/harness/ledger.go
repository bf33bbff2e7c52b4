package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// PerRequest prices each request of the provider house, and of two more, at a dollar, and nothing else.
const PerRequest = `
prices:
  house/*: {input: "0", output: "0", request: "1"}
  broken/*: {input: "0", output: "0", request: "1"}
default_model: house/chat
`

// SetBudget sets a budget of the account default.
func (h *Gateway) SetBudget(usd llm.Money, period budget.Period) {
	h.T.Helper()
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetBudget(ctx, audit.Gateway(), account.DefaultName, account.Budget{Limit: usd, Period: period})
		return err
	})
	time.Sleep(time.Second) // a running gateway may read it that late
}

// Verify checks the sums of the database against its rows.
func (h *Gateway) Verify(t *testing.T) {
	t.Helper()
	data, err := admin.Open(t.Context(), h.Config(), config.Options{}, Discard())
	if err != nil {
		t.Fatalf("open data: %v", err)
	}
	defer data.Close()
	v, left, err := data.Ledger.Verify(t.Context(), admin.VerifyOptions{Wait: 10 * time.Second})
	if err != nil || len(v.Differences) != 0 || left != (ledger.Backlog{}) {
		t.Errorf("verified: %+v, not projected %+v, %v", v, left, err)
	}
}

// Entry returns the attempt of a request that counts, or that a provider refused because of the client's mistake.
func (h *Gateway) Entry(t *testing.T, requestID string) (found ledger.Entry) {
	t.Helper()
	Await(t, "the row of request "+requestID, func() bool {
		h.EachEntry(func(e *report.Exported) {
			if strings.HasPrefix(e.ID.String(), requestID+".") && (e.Counts || found.Outcome == "") {
				found = e.Entry
			}
		})
		return found.Counts || Mistaken(string(found.Outcome), found.Status)
	})
	return found
}

// EntryOf returns the last attempt of a model, if there is one.
func (h *Gateway) EntryOf(t *testing.T, model string) (found ledger.Entry) {
	t.Helper()
	h.EachEntry(func(e *report.Exported) {
		if e.FullModel() == model {
			found = e.Entry
		}
	})
	return found
}

// UsesPage has exactly the members of the reply of GET /v1/uses. Its numbers are as written.
type UsesPage struct {
	Data []struct {
		ID       string      `json:"id"`
		Date     string      `json:"date"`
		Model    string      `json:"model"`
		Tokens   json.Number `json:"tokens"`
		Requests json.Number `json:"requests"`
		Cost     json.Number `json:"cost"`
		AtMost   json.Number `json:"cost_at_most"`
		Unpriced bool        `json:"unpriced"`
	} `json:"data"`
	Total struct {
		Tokens   json.Number `json:"tokens"`
		Requests json.Number `json:"requests"`
		Cost     json.Number `json:"cost"`
		AtMost   json.Number `json:"cost_at_most"`
		Unpriced bool        `json:"unpriced"`
	} `json:"total"`
	Pagination struct {
		Limit  int `json:"limit"`
		Offset int `json:"offset"`
		Total  int `json:"total"`
	} `json:"pagination"`
}

// Uses requests the usage.
func (h *Gateway) Uses(query string) UsesPage {
	h.T.Helper()
	r := h.Do(Ask{Path: "/v1/uses" + query})
	if r.Status != http.StatusOK {
		h.T.Fatalf("uses%s: %d %s", query, r.Status, r.Body)
	}
	var page UsesPage
	Decode(h.T, r.Body, &page)
	return page
}

// Row is one attempt of the ledger as texts.
type Row struct {
	Model, Outcome, Provenance, Cost string
	Price                            string // its version
	In, Out                          int64
	Counts, Stream                   bool
	Status                           int
}

// Row returns the last attempt of a request after it is settled.
func (h *Gateway) Row(requestID string) Row {
	h.T.Helper()
	rows := h.Rows(requestID)
	return rows[len(rows)-1]
}

// Rows returns the attempts of a request once they are in the database.
func (h *Gateway) Rows(requestID string) (rows []Row) {
	h.T.Helper()
	Await(h.T, "the row of request "+requestID, func() bool {
		rows = rows[:0]
		h.EachEntry(func(e *report.Exported) {
			if strings.HasPrefix(e.ID.String(), requestID+".") {
				rows = append(rows, Row{
					Model: e.FullModel(), Outcome: string(e.Outcome), Provenance: string(e.Provenance),
					Cost:  e.Cost.String(),
					Price: e.Price.Version,
					In:    e.Usage.InputTokens(), Out: e.Usage.OutputTokens(), Counts: e.Counts, Stream: e.Stream,
					Status: e.Status,
				})
			}
		})
		return len(rows) > 0
	})
	return rows
}

// Mistaken reports whether the end of an attempt may be only a client's mistake: such a request has no attempt that
// counts.
func Mistaken(outcome string, status int) bool {
	return outcome == string(ledger.OutcomeRejected) && slices.Contains([]int{400, 404, 413, 422}, status)
}

// CountedRows returns the attempts of a request once the one that counts is in the database, or all if none counts.
func (h *Gateway) CountedRows(t testing.TB, r Reply) (rows []Row) {
	t.Helper()
	Await(t, "the row that counts", func() bool {
		rows = h.Rows(r.Header.Get("X-Request-Id"))
		last := &rows[len(rows)-1]
		return slices.ContainsFunc(rows, func(r Row) bool { return r.Counts }) ||
			strconv.Itoa(len(rows)) == r.Header.Get("X-Weir-Attempts") && Mistaken(last.Outcome, last.Status)
	})
	return rows
}

// event is one frame of a stream of the native API.
type event struct {
	ID           string `json:"id"`
	Created      int64  `json:"created"`
	Model        string `json:"model"`
	ResponseType string `json:"responsetype"`
	Choices      []struct {
		Index int `json:"index"`
		Delta struct {
			Role    *string `json:"role"`
			Content *string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Tokens
		Cost json.Number `json:"cost"`
	} `json:"usage"`
	Weir json.RawMessage `json:"weir"`
}

// SplitStream parses a stream of the native API strictly: its objects, and the error at its end if there is one.
func SplitStream(t testing.TB, body string) (events []event, failure *NativeError) {
	t.Helper()
	rest, whole := strings.CutSuffix(body, "data: [DONE]\n\n")
	for frame := range strings.SplitAfterSeq(rest, "\n\n") {
		text, terminated := strings.CutSuffix(frame, "\n\n")
		if frame == "" || text == ": keep-alive" && terminated {
			continue
		}
		if data, ok := strings.CutPrefix(text, "event: error\ndata: "); ok && terminated {
			e := ReadError(t, data)
			failure = &e
			continue
		}
		data, ok := strings.CutPrefix(text, "data: ")
		if !ok || !terminated || strings.Contains(data, "\n") || failure != nil {
			t.Fatalf("frame %q in %s", frame, body)
		}
		var e event
		Decode(t, data, &e)
		events = append(events, e)
	}
	if whole == (failure != nil) {
		t.Errorf("the stream ends with [DONE]: %v, with an error: %v; want one of them: %s", whole, failure != nil,
			body)
	}
	return events, failure
}

// Text returns the text of the events of a stream.
func Text(events []event) string {
	var s strings.Builder
	for i := range events {
		for _, c := range events[i].Choices {
			if c.Delta.Content != nil {
				s.WriteString(*c.Delta.Content)
			}
		}
	}
	return s.String()
}

// AttemptsTold returns the number of attempts that the last piece of a stream reports; 1 if it reports none.
func AttemptsTold(last event) int {
	var told struct{ Attempts int }
	if json.Unmarshal(last.Weir, &told) != nil {
		return 1
	}
	return told.Attempts
}

// SumOfCosts returns the total cost of a request's attempts.
func SumOfCosts(t testing.TB, rows []Row) string {
	t.Helper()
	var sum llm.Money
	for _, r := range rows {
		cost := must.Get(llm.ParseMoney(r.Cost))(t)
		sum += cost
	}
	return sum.String()
}

// SessionRows returns the rows of a session of the Realtime or Live API, whose ids end like its own, except for those
// that larger ones have replaced.
func (h *Gateway) SessionRows(session string) (rows []ledger.Entry) {
	h.EachEntry(func(e *report.Exported) {
		if e.ID.Request.String()[18:] == session[18:] && e.Outcome != ledger.OutcomeRefused {
			rows = append(rows, e.Entry)
		}
	})
	return rows
}

// SettledSession returns the rows of a session when that many are settled.
func (h *Gateway) SettledSession(session string, n int) (rows []ledger.Entry) {
	h.T.Helper()
	Await(h.T, fmt.Sprintf("the %d rows of session %s", n, session), func() bool {
		rows = h.SessionRows(session)
		return len(rows) >= n
	})
	if len(rows) != n {
		h.T.Errorf("%d rows, want %d", len(rows), n)
	}
	return rows
}
