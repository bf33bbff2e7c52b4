package dashboard

import (
	"context"
	"encoding/csv"
	"net/http"
	"strconv"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// usesInPiece is the number of entries that are read at a time for a file, and groupsInPiece the number of groups,
// which is larger because each read adds up all groups.
const usesInPiece, groupsInPiece = 1000, 20_000

// download answers with all entries that match the filters, as a file (RFC 4180). An error after its start aborts the
// connection, so that clients do not accept a partial file as complete.
func (h *usageHandlers) download(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	query := r.URL.Query()
	u := usageQueryOf(query, v, h.site.now())
	if u.form.bad() {
		return llm.Invalid("", u.form.problems()[0].Text)
	}
	if err := h.files.take(v.By.ID); err != nil {
		return err
	}
	defer h.files.leave(v.By.ID)
	h.flush(r.Context())
	if u.metric.Value == metricRefused {
		return h.downloadRefused(w, r, v, u)
	}
	q := u.uses(v)
	q.Sort, q.Limit, q.Offset = "", usesInPiece, 0 // costs change, and with them the order of entries
	q.Speeds, q.Failed = false, false
	if query.Get("group_by") == "" && query.Get("tag") == "" {
		q.By = nil
	}
	if len(q.By) > 0 {
		q.Limit = groupsInPiece
	}
	piece, err := h.admin.Reports.Uses(r.Context(), q)
	if err != nil {
		return err
	}
	var names map[string]string
	if v.Account == nil {
		if names, err = h.admin.AccountNames(r.Context()); err != nil {
			return err
		}
	}
	out := &download{w: w, name: fileName(accountName(v), u.when.span), contentType: "text/csv; charset=utf-8"}
	defer out.end()
	f := &usageFile{to: csv.NewWriter(out), account: q.Account, by: q.By, names: names, seen: map[string]bool{}}
	if err := f.writeAll(r.Context(), h.admin.Reports.Uses, q, piece); err != nil {
		if r.Context().Err() == nil {
			h.site.log.ErrorContext(r.Context(), "the download of usage was aborted",
				"account", q.Account, "err", err)
		}
		panic(http.ErrAbortHandler) // makes the server abort the incomplete answer
	}
	return nil
}

// accountName returns the name of the page's account, or "all".
func accountName(v *people.Visit) string {
	if v.Account == nil {
		return "all"
	}
	return v.Account.Name
}

// fileName returns the name of the file. Names of accounts contain only characters that headers and file systems
// allow.
func fileName(account string, of span) string {
	return "usage-" + account + "-" + of.first() + "-" + of.last() + ".csv"
}

// usageFile writes entries, each once.
type usageFile struct {
	to      *csv.Writer
	account string
	by      []report.Dimension // nil for date and model
	names   map[string]string  // of accounts, which follow their ids; nil in the file of one account
	last    report.Use         // last written entry
	seen    map[string]bool    // written groups
}

func (f *usageFile) writeAll(ctx context.Context, uses func(context.Context, report.UsesQuery) (report.UsesPage, error),
	q report.UsesQuery, piece report.UsesPage,
) (err error) {
	if err := f.to.Write(csvHead(f.by)); err != nil {
		return err
	}
	for {
		for i := range piece.Uses {
			if err := f.write(&piece.Uses[i]); err != nil {
				return err
			}
		}
		f.to.Flush()
		if err := f.to.Error(); err != nil {
			return err
		}
		if q.Offset += len(piece.Uses); len(piece.Uses) == 0 || q.Offset >= piece.Count {
			return nil
		}
		if piece, err = uses(ctx, q); err != nil {
			return err
		}
	}
}

// write writes the next entry. New usage during the download moves entries to later places, never to earlier ones: so
// no entry is missing, and entries that appear again are skipped.
func (f *usageFile) write(u *report.Use) error {
	if len(f.by) > 0 {
		id := report.GroupID(f.account, f.by, u.Group)
		if f.seen[id] {
			return nil
		}
		f.seen[id] = true
		return f.to.Write(f.row(u))
	}
	if f.last.Date != "" && (u.Date > f.last.Date || u.Date == f.last.Date && u.Model <= f.last.Model) {
		return nil
	}
	f.last = *u
	return f.to.Write(f.row(u))
}

func csvHead(by []report.Dimension) []string {
	head := []string{"date", "model"}
	if len(by) > 0 {
		head = nil
		for _, d := range by {
			if head = append(head, audit.PlainCell(string(d))); d == report.ByAccount {
				head = append(head, "account_name")
			}
		}
	}
	head = append(head, "requests", "tokens")
	for c := range llm.NumClasses {
		head = append(head, llm.Class(c).String())
	}
	return append(head, "cost_usd", "unpriced", "cost_at_most_usd", "missed", "missed_cost_usd", "cached_requests",
		"saved_usd")
}

func (f *usageFile) row(u *report.Use) []string {
	row := []string{u.Date, audit.PlainCell(u.Model)}
	if u.Group != nil {
		row = nil
		for i, value := range u.Group {
			cell := ""
			if value != nil {
				cell = *value
			}
			if row = append(row, audit.PlainCell(cell)); f.by[i] == report.ByAccount {
				row = append(row, audit.PlainCell(f.names[cell]))
			}
		}
	}
	row = append(row, strconv.FormatInt(u.Requests, 10), strconv.FormatInt(u.Usage.TotalTokens(), 10))
	for _, n := range u.Usage {
		row = append(row, strconv.FormatInt(n, 10))
	}
	atMost := ""
	if u.Uncertain > 0 {
		atMost = u.AtMost().Fixed()
	}
	return append(row, u.Cost.Fixed(), strconv.FormatBool(u.Unpriced > 0), atMost,
		strconv.FormatInt(u.Missed.Tokens, 10), u.Missed.Cost().Fixed(), strconv.FormatInt(u.Cached, 10),
		u.Saved.Fixed())
}
