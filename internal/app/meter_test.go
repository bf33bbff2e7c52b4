package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/internal/app"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// usesPage is the reply of GET /v1/uses, and no more. Its numbers are as they
// are written.
type usesPage struct {
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
	} `json:"total"`
	Pagination struct {
		Limit  int `json:"limit"`
		Offset int `json:"offset"`
		Total  int `json:"total"`
	} `json:"pagination"`
}

// uses asks for usage.
func (h *testGateway) uses(query string) usesPage {
	h.t.Helper()
	r := h.do(ask{path: "/v1/uses" + query})
	if r.status != http.StatusOK {
		h.t.Fatalf("uses%s: %d %s", query, r.status, r.body)
	}
	var page usesPage
	decode(h.t, r.body, &page)
	return page
}

// row is one attempt of the ledger in words.
type row struct {
	model, outcome, provenance, cost string
	in, out                          int64
	counts, stream                   bool
	status                           int
}

// row is the last attempt of a request, once it is settled.
func (h *testGateway) row(requestID string) row {
	h.t.Helper()
	rows := h.rows(requestID)
	return rows[len(rows)-1]
}

// rows are the attempts of a request, once they are in the database.
func (h *testGateway) rows(requestID string) (rows []row) {
	h.t.Helper()
	data, err := app.OpenData(context.Background(), h.config(), discard())
	if err != nil {
		h.t.Fatalf("open data: %v", err)
	}
	defer data.Close()
	await(h.t, "the row of request "+requestID, func() bool {
		rows = rows[:0]
		err = data.Export(context.Background(), "", "", "", func(e *ledger.Exported) error {
			if strings.HasPrefix(e.ID.String(), requestID+".") {
				rows = append(rows, row{
					model: e.FullModel(), outcome: string(e.Outcome), provenance: string(e.Provenance), cost: e.Cost.String(),
					in: e.Usage.InputTokens(), out: e.Usage.OutputTokens(), counts: e.Counts, stream: e.Stream, status: e.Status,
				})
			}
			return nil
		})
		if err != nil {
			h.t.Fatalf("export: %v", err)
		}
		return len(rows) > 0
	})
	return rows
}

// countedRows are the attempts of a request, once the one that counts is in
// the database.
func (h *testGateway) countedRows(t testing.TB, r reply) (rows []row) {
	t.Helper()
	await(t, "the row that counts", func() bool {
		rows = h.rows(r.header.Get("X-Request-Id"))
		return slices.ContainsFunc(rows, func(r row) bool { return r.counts })
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
		tokens
		Cost json.Number `json:"cost"`
	} `json:"usage"`
	Weir json.RawMessage `json:"weir"`
}

// splitStream reads a stream of the native API to the letter: its objects, and
// the error at its end if there is one.
func splitStream(t testing.TB, body string) (events []event, failure *nativeError) {
	t.Helper()
	rest, whole := strings.CutSuffix(body, "data: [DONE]\n\n")
	for frame := range strings.SplitAfterSeq(rest, "\n\n") {
		text, terminated := strings.CutSuffix(frame, "\n\n")
		if frame == "" || text == ": keep-alive" && terminated {
			continue
		}
		if data, ok := strings.CutPrefix(text, "event: error\ndata: "); ok && terminated {
			e := readError(t, data)
			failure = &e
			continue
		}
		data, ok := strings.CutPrefix(text, "data: ")
		if !ok || !terminated || strings.Contains(data, "\n") || failure != nil {
			t.Fatalf("frame %q in %s", frame, body)
		}
		var e event
		decode(t, data, &e)
		events = append(events, e)
	}
	if whole == (failure != nil) {
		t.Errorf("the stream ends with [DONE]: %v, with an error: %v; want one of them: %s", whole, failure != nil, body)
	}
	return events, failure
}

// text is what the events of a stream say.
func text(events []event) string {
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

// attemptsTold is how many attempts the last piece of a stream tells of; 1
// where it tells nothing.
func attemptsTold(last event) int {
	var told struct{ Attempts int }
	if json.Unmarshal(last.Weir, &told) != nil {
		return 1
	}
	return told.Attempts
}

// sumOfCosts is what the attempts of a request cost together.
func sumOfCosts(t testing.TB, rows []row) string {
	t.Helper()
	var sum llm.Money
	for _, r := range rows {
		cost, err := llm.ParseMoney(r.cost)
		if err != nil {
			t.Fatal(err)
		}
		sum += cost
	}
	return sum.String()
}
