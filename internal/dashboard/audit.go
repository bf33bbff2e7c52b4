package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

// auditHandlers serves the page of the audit log and its exports.
type auditHandlers struct {
	site  *site
	admin *admin.Admin
	files *slots // limits the running exports
}

// auditPage shows entries of the audit log.
type auditPage struct {
	Filters  Filters
	Entries  []auditRow
	Sought   bool
	Pager    Pager
	Exports  []Link
	Head     Field
	Verified *verified
	Problems []Problem
}

// auditRow shows one entry.
type auditRow struct {
	Seq     int64
	At      time.Time
	Who     string
	Kind    audit.Kind
	From    string // address
	Tool    string // MCP tool that a model called
	Action  audit.Action
	Object  string
	Account *Link // account of the entry; nil for none, and if the account is the object
	Changes []Change
}

// verified shows the result of a verification of the whole chain.
type verified struct {
	Title, Text string
	Head        string
	Whole       bool
}

const (
	auditPath  = "/operator/audit"
	auditShown = 50  // entries per page
	maxShown   = 200 // bytes of a value
)

func (h *auditHandlers) page(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return h.show(w, r, v, nil, &form{})
}

// query reads the filters. It adds mistakes to the form.
func (h *auditHandlers) query(r *http.Request, f *form) (audit.Query, error) {
	get := func(name string) string { return strings.TrimSpace(f.values.Get(name)) }
	q := audit.Query{Actor: get("actor"), Action: audit.Action(get("action")), Limit: auditShown + 1}
	q.From = f.bound("from")
	if q.To = f.bound("to"); !q.To.IsZero() {
		q.To = q.To.AddDate(0, 0, 1)
	}
	q.Before, q.After = placeOf(get("before")), placeOf(get("after"))
	name := get("account")
	if name == "" {
		return q, nil
	}
	a, err := h.admin.Accounts.Account(r.Context(), name)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeNotFound {
		f.mistake("account", "There is no account of this name or id.")
		return q, nil
	}
	q.Account = a.ID
	return q, err
}

// placeOf parses a place in the log; 0 if it is invalid.
func placeOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

func (h *auditHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, got *verified, head *form) error {
	f := &form{values: r.URL.Query()}
	q, err := h.query(r, f)
	if err != nil {
		return err
	}
	var list []audit.Entry
	if !f.bad() {
		if list, err = h.admin.Audit.Entries(r.Context(), q); err != nil {
			return err
		}
	}
	accounts, err := h.admin.Accounts.Accounts(r.Context())
	if err != nil {
		return err
	}
	p := auditPageOf(list, &q, f, namesOf(accounts))
	p.Verified = got
	p.Head = head.field(Field{
		Name: "head", Label: "Head of an earlier check",
		Hint: "With it, the check also finds entries that were removed from the end since then.", Optional: true,
		Max: 64, Complete: "off",
	})
	p.Problems = append(f.problems(), head.problems()...)
	status := max(f.status(), head.status())
	return h.site.show(w, r, v, page{name: "audit", title: "Audit log", status: status, data: p})
}

// auditPageOf builds the page from a list that has one more entry than a page if there are further entries.
func auditPageOf(list []audit.Entry, q *audit.Query, f *form, accounts map[string]string) auditPage {
	more := len(list) > auditShown
	switch {
	case more && q.After > 0:
		list = list[1:]
	case more:
		list = list[:auditShown]
	}
	p := auditPage{Filters: auditFilters(f), Exports: []Link{
		{Label: "Export CSV", Href: auditHref("/export", f.values, "format", "csv")},
		{Label: "Export JSON lines", Href: auditHref("/export", f.values, "format", "jsonl")},
	}}
	p.Sought = p.Filters.Reset != ""
	for i := range list {
		p.Entries = append(p.Entries, auditRowOf(&list[i], accounts))
	}
	if len(list) == 0 {
		return p
	}
	newest, oldest := list[0].Seq, list[len(list)-1].Seq
	p.Pager.Shown = "Entries " + number(oldest) + " to " + number(newest)
	if q.Before > 0 || q.After > 0 && more {
		p.Pager.Newer = auditHref("", f.values, "after", strconv.FormatInt(newest, 10))
	}
	if q.After > 0 || more {
		p.Pager.Older = auditHref("", f.values, "before", strconv.FormatInt(oldest, 10))
	}
	return p
}

// auditHref returns the path of a page of the log, with the filters and one more parameter.
func auditHref(path string, values url.Values, key, value string) string {
	query := url.Values{key: {value}}
	for _, name := range auditFields {
		if text := values.Get(name); text != "" {
			query.Set(name, text)
		}
	}
	return auditPath + path + "?" + query.Encode()
}

var auditFields = []string{"account", "actor", "action", "from", "to"}

func auditFilters(f *form) Filters {
	action := f.values.Get("action")
	x := Filters{Action: auditPath, Label: "Entries to show", Fields: []Field{
		f.field(Field{Name: "account", Label: "Account", Kind: "text", Max: 64, Complete: "off"}),
		f.field(Field{
			Name: "actor", Label: "Actor", Kind: "text", Max: 256, Complete: "off", Example: "e-mail, label or id",
		}),
		f.field(Field{Name: "action", Label: "Action", Choices: actionChoices(action)}),
		f.field(Field{Name: "from", Label: "From", Kind: "date"}),
		f.field(Field{Name: "to", Label: "To", Kind: "date"}),
	}}
	if slices.ContainsFunc(auditFields, func(name string) bool { return f.values.Get(name) != "" }) {
		x.Reset = auditPath
	}
	return x
}

// actionChoices returns the groups of actions, and the chosen action if it is not one of them.
func actionChoices(chosen string) []Choice {
	all := []Choice{
		{Value: "", Label: "All actions"},
		{Value: "account.", Label: "Accounts"},
		{Value: "key.", Label: "Keys"},
		{Value: "member.", Label: "Members"},
		{Value: "operator.", Label: "Operators"},
		{Value: "user.", Label: "People"},
		{Value: "invitation.", Label: "Invitations"},
		{Value: "password.", Label: "Passwords"},
		{Value: "session.", Label: "Sessions"},
		{Value: "attempt.", Label: "Corrections"},
		{Value: "node.", Label: "Nodes"},
		{Value: "setup_link.", Label: "Set-up links"},
		{Value: "webhook.", Label: "Webhooks"},
		{Value: "secrets.", Label: "Secrets"},
	}
	if chosen != "" && !slices.ContainsFunc(all, func(c Choice) bool { return c.Value == chosen }) {
		all = append(all, Choice{Value: chosen, Label: chosen})
	}
	return all
}

func auditRowOf(e *audit.Entry, accounts map[string]string) auditRow {
	row := auditRow{
		Seq: e.Seq, At: e.At, Who: cmp.Or(e.Actor.Name, e.Actor.ID, "nobody"), Kind: e.Actor.Kind,
		From: e.Actor.Address, Tool: e.Actor.Tool,
		Action: e.Action, Object: strings.TrimSpace(e.Object.Kind + " " + cmp.Or(e.Object.Name, e.Object.ID)),
		Changes: changesOf(e.Before, e.After),
	}
	if name := accounts[e.Account]; name != "" && e.Account != e.Object.ID {
		row.Account = &Link{Label: name, Href: managePath(name)}
	}
	return row
}

// changesOf pairs the values before and after a change, by name.
func changesOf(before, after json.RawMessage) []Change {
	was, is := valuesOf(before), valuesOf(after)
	names := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(names)
	var all []Change
	for _, name := range slices.Compact(names) {
		all = append(all, Change{name, valueText(was[name]), valueText(is[name])})
	}
	return all
}

// valuesOf returns the values of a JSON object, or any other value under the name "value".
func valuesOf(raw json.RawMessage) map[string]json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return map[string]json.RawMessage{"value": raw}
	}
	return values
}

// valueText formats a value for people; empty for none.
func valueText(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return ""
	case json.Unmarshal(raw, &text) == nil:
		text = cmp.Or(text, `""`)
	default:
		text = string(raw)
	}
	return cut(text, maxShown)
}

func (h *auditHandlers) verify(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	var from audit.Hash
	if text := strings.TrimSpace(r.PostFormValue("head")); text != "" && from.UnmarshalText([]byte(text)) != nil {
		f.mistake("head", "This is not a head. Enter the 64 hexadecimal digits that an earlier check showed.")
		return h.show(w, r, v, nil, f)
	}
	got, err := h.admin.Audit.Verify(r.Context(), from)
	if err != nil {
		return err
	}
	return h.show(w, r, v, verifiedOf(&got), f)
}

func verifiedOf(v *audit.Verification) *verified {
	out := &verified{Head: v.Head.String(), Whole: v.Whole()}
	switch {
	case v.Broken > 0:
		out.Title = "The chain is broken at entry " + number(v.Broken) + "."
		out.Text = "This entry was changed, or an entry before it was changed or removed. The " + number(v.Entries) +
			" entries before it are intact."
	case !v.GoesOn:
		out.Title = "No entry has this head."
		out.Text = "Entries were removed from the end, or the log was rewritten."
	default:
		out.Title = "The log is intact: " + number(v.Entries) + " entries, each chained to the one before it."
		out.Text = "Save this head where nobody with write access to the database can change it. A later check with " +
			"it shows whether the log continues from here."
	}
	return out
}

// export sends all selected entries, oldest first.
func (h *auditHandlers) export(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := &form{values: r.URL.Query()}
	format := f.values.Get("format")
	export, ok := audit.Exporters()[format]
	if !ok {
		return llm.Invalid("format", "The format must be csv or jsonl.")
	}
	q, err := h.query(r, f)
	if err != nil {
		return err
	}
	if f.bad() {
		return h.show(w, r, v, nil, &form{})
	}
	if err := h.files.take(v.By.ID); err != nil {
		return err
	}
	defer h.files.leave(v.By.ID)
	types := map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
	out := &download{
		w: w, name: "weir-audit-" + h.site.now().UTC().Format(time.DateOnly) + "." + format, contentType: types[format],
	}
	defer out.end()
	q.Before, q.After = 0, 0
	err = export(out, func(fn func(*audit.Entry) error) error {
		return h.admin.Audit.Export(r.Context(), q, fn)
	})
	if err == nil && !out.begun { // a JSON Lines file without entries
		_, err = out.Write(nil)
	}
	if err != nil && out.begun {
		h.site.log.ErrorContext(r.Context(), "export of the audit log was aborted", "request_id", v.Origin.Request,
			"err", err)
		panic(http.ErrAbortHandler) // so that clients do not accept a partial file as complete
	}
	return err
}
