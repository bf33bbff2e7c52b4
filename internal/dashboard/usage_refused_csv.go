package dashboard

import (
	"context"
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/refusal"
	"weir/internal/report"
)

// refusedFile writes counts of refused requests by day.
type refusedFile struct {
	to   *csv.Writer
	read func(context.Context, refusal.Query) (admin.RefusalReport, error)
}

// refusedFilePath returns the path of the file of refused requests.
func (u *usageQuery) refusedFilePath() string {
	q := u.parameters()
	q.Del("group_by")
	q.Del("sort")
	return u.base + ".csv?" + q.Encode()
}

// downloadRefused answers with the refused requests of the range by day, account, key, reason and model, as a file.
func (h *usageHandlers) downloadRefused(w http.ResponseWriter, r *http.Request, v *people.Visit, u *usageQuery) error {
	if u.isUnfitForRefused() {
		return llm.Invalid("metric", noRefusedFilters)
	}
	name := "refusals-" + strings.TrimPrefix(fileName(accountName(v), u.when.span), "usage-")
	out := &download{w: w, name: name, contentType: "text/csv; charset=utf-8"}
	defer out.end()
	f := refusedFile{csv.NewWriter(out), h.admin.Refusals.Read}
	if err := f.writeAll(r.Context(), u.refusedQuery(v), u.when.from, h.site.now()); err != nil {
		if r.Context().Err() == nil {
			h.site.log.ErrorContext(r.Context(), "the download of refused requests was aborted", "err", err)
		}
		panic(http.ErrAbortHandler) // makes the server abort the incomplete answer
	}
	return nil
}

// writeAll reads and writes day by day, because a report has a bounded number of groups.
func (f *refusedFile) writeAll(ctx context.Context, q refusal.Query, day, now time.Time) error {
	head := []string{"date", "account", "account_name", "key", "key_label", "reason", "model", "refused"}
	if err := f.to.Write(head); err != nil {
		return err
	}
	q.By = []refusal.Group{refusal.ByAccount, refusal.ByKey, refusal.ByReason, refusal.ByModel}
	for end := q.Until; day.Before(end) && !day.After(now); day = day.AddDate(0, 0, 1) {
		of := q
		if of.Until = day.AddDate(0, 0, 1); of.From.Before(day) {
			of.From = day
		}
		found, err := f.read(ctx, of)
		if err == nil {
			err = f.write(day.Format(time.DateOnly), &found)
		}
		if err != nil {
			return err
		}
	}
	f.to.Flush()
	return f.to.Error()
}

// write writes the counts of a day. Those beyond the bound of a report are added up in the last row.
func (f *refusedFile) write(date string, found *admin.RefusalReport) error {
	left := found.Total
	for i := range found.Counts {
		c := &found.Counts[i]
		left -= c.Count
		err := f.to.Write([]string{
			date, *c.AccountID, audit.PlainCell(*c.AccountName), *c.KeyID, audit.PlainCell(*c.KeyLabel),
			string(*c.Reason), audit.PlainCell(*c.Model), strconv.FormatInt(c.Count, 10),
		})
		if err != nil {
			return err
		}
	}
	if left <= 0 {
		return nil
	}
	return f.to.Write([]string{date, "", "", "", "", report.Other, "", strconv.FormatInt(left, 10)})
}
