package api

import (
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// adminExport sends attempts as a file, in the format of weir ledger export.
type adminExport struct {
	admin   *admin.Admin
	ledger  *ledger.Ledger
	now     func() time.Time
	running chan struct{} // has an element for each running export
}

// maxExports bounds the exports at once, because each holds a connection to the database.
const maxExports = 2

// exportRoute returns the only route that streams its answer.
func (ad *Admin) exportRoute(o *Options) people.Route {
	h := &adminExport{o.Admin, o.Ledger, o.Now, make(chan struct{}, maxExports)}
	return people.Route{
		Pattern: "GET " + adminRoot + "/ledger/export", Right: people.Operate,
		Serve: func(w http.ResponseWriter, r *http.Request, v *people.Visit) {
			out := &exportFile{w: w}
			err := h.send(out, r)
			if err == nil {
				return
			}
			if out.begun {
				ad.log.ErrorContext(r.Context(), "export of the ledger was "+
					"aborted", "request_id", v.Origin.Request, "err", err)
				panic(http.ErrAbortHandler) // so that clients do not accept a partial file as complete
			}
			ad.Refuse(w, r, v, err)
		},
	}
}

func (h *adminExport) send(out *exportFile, r *http.Request) error {
	query, err := readQuery(r, []string{"format", "focus", "account", "start_date", "end_date"})
	if err != nil {
		return err
	}
	focus := query.get("focus")
	if versions := report.FOCUSVersions(); focus != "" && !slices.Contains(versions, focus) {
		return wrongKind("focus", `"`+strings.Join(versions, `", "`)+`"`)
	}
	write, ok := report.ExportFormats(focus)[query.get("format")]
	if !ok {
		return wrongKind("format", `"csv" or "focus"`)
	}
	var q report.ExportQuery
	if q.From, q.To, err = query.dates(); err != nil {
		return err
	}
	if name := query.get("account"); name != "" {
		one, err := h.admin.Accounts.Account(r.Context(), name)
		if err != nil {
			return llm.AsError(err).At("account")
		}
		q.Account = one.ID
	}
	end, err := beginExport(h.running)
	if err != nil {
		return err
	}
	defer end()
	if err := settled(r.Context(), h.ledger); err != nil {
		return err
	}
	out.name = "weir-" + query.get("format") + "-" + h.now().UTC().Format(time.DateOnly) + ".csv"
	defer out.end()
	_, err = write(out, func(fn func(*report.Exported) error) error {
		return h.admin.Reports.Export(r.Context(), q,
			fn)
	})
	return err
}

// exportFile is a response of unknown length. Each piece has its own write deadline.
type exportFile struct {
	w     http.ResponseWriter
	name  string
	begun bool
}

func (f *exportFile) Write(p []byte) (int, error) {
	if !f.begun {
		f.begun = true
		h := f.w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.name}))
	}
	_ = http.NewResponseController(f.w).SetWriteDeadline(time.Now().Add(writeWithin)) // not every writer supports it
	return f.w.Write(p)
}

// end removes the deadline, so that the connection can serve the next request.
func (f *exportFile) end() { _ = http.NewResponseController(f.w).SetWriteDeadline(time.Time{}) }

// beginExport takes a place for an export; end gives it back. The error is a *llm.Error if there is none.
func beginExport(places chan struct{}) (end func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, &llm.Error{
			Code: llm.CodeRateLimited, Message: "The maximum number of exports is running. Try again in ten seconds.",
			RetryAfter: 10 * time.Second,
		}
	}
}
