package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"weir/internal/admin"
	"weir/internal/people"
	"weir/internal/refusal"
	"weir/internal/report"
)

// refusedBy returns the group of refused requests: the last one that they have, or their reason.
func (u *usageQuery) refusedBy() refusal.Group {
	for _, d := range slices.Backward(u.by) {
		switch d {
		case report.ByAccount, report.ByKey, report.ByModel:
			return refusal.Group(d)
		}
	}
	return refusal.ByReason
}

const noRefusedFilters = "Refused requests have no provider, end user or tags. Remove these filters, or choose " +
	"another value."

// isUnfitForRefused reports whether there are filters that refused requests do not have.
func (u *usageQuery) isUnfitForRefused() bool {
	return u.provider != "" || u.user != "" || len(u.tags) > 0
}

// refusedQuery returns the query of refused requests.
func (u *usageQuery) refusedQuery(v *people.Visit) refusal.Query {
	q := refusal.Query{
		All: v.Account == nil, Key: u.key, Model: u.model, From: u.when.from, Until: u.when.to.AddDate(0, 0, 1),
	}
	if v.Account != nil {
		q.Account = v.Account.ID
	}
	if !u.when.since.IsZero() {
		q.From = u.when.since
	}
	return q
}

// showRefused shows the refused requests of the range, which are counted apart from usage.
func (h *usageHandlers) showRefused(w http.ResponseWriter, r *http.Request, v *people.Visit, u *usageQuery) error {
	if u.isUnfitForRefused() {
		u.form.mistake("metric", noRefusedFilters)
		return h.refused(w, r, v, u)
	}
	switch u.form.values.Get("group_by") {
	case string(refusal.ByReason):
		u.by = nil
	case "":
		if v.Account != nil {
			u.by = nil
		}
	}
	by := u.refusedBy()
	u.by = []report.Dimension{report.Dimension(by)}
	q := u.refusedQuery(v)
	q.By = []refusal.Group{by}
	groups, err := h.admin.Refusals.Read(r.Context(), q)
	if err != nil {
		return err
	}
	names, err := h.namesOf(r.Context(), v, u, nil)
	if err != nil {
		return err
	}
	s, err := h.refusedSeries(r.Context(), v, u, &groups, &names)
	if err != nil {
		return err
	}
	p := usagePage{
		All: v.Account == nil, Ranges: u.ranges(), Filters: u.filters(&names), Used: groups.Total > 0,
		Chart: usageChart(&u.metric, &u.when, s), By: u.byText(),
		Heads: []tableHead{{Label: headOf(u.by[0])}, {Label: "Refused", Number: true, Order: "descending"}},
		Tiles: []Tile{{Label: "Refused requests", Value: number(groups.Total)}},
		CSV:   u.refusedFilePath(),
		Empty: Empty{
			Icon: "usage", Title: "No refused requests", Text: "No request was refused in this time.",
			Action: "Usage of the last 30 days", Href: u.base,
		},
		Query: Code{
			Ident: "uses-call", Label: "The same request to the API", Text: u.refusedCall(v, h.publicURL(r), by),
		},
	}
	for i := range groups.Counts[:min(len(groups.Counts), usesShown)] {
		c := &groups.Counts[i]
		p.Rows = append(p.Rows, usageRow{
			Values: []groupCell{{Head: p.Heads[0].Label, Text: refusedGroup(by, c, &names)}},
			Cells:  []usageCell{{Head: "Refused", Text: number(c.Count)}},
		})
	}
	p.Pager.Shown = shownOf(int64(len(groups.Counts)), usesShown, "groups, most refused first.")
	return h.site.show(w, r, v, page{name: "usage", title: "Usage", scripts: []string{"chart.js"}, data: p})
}

// refusedSeries counts the refusals by the unit: those of the largest groups, and the others together.
func (h *usageHandlers) refusedSeries(ctx context.Context, v *people.Visit, u *usageQuery, groups *admin.RefusalReport,
	names *usageNames,
) (*usageSeries, error) {
	s := newUsageSeries(&u.when, h.site.now())
	rest := make([]int64, len(s.starts))
	count := func(q refusal.Query, add func(at int, n int64)) error {
		q.By = []refusal.Group{refusal.Group(u.when.unit)}
		if u.when.unit == report.ByMonth {
			q.By = []refusal.Group{refusal.ByDay}
		}
		found, err := h.admin.Refusals.Read(ctx, q)
		for i := range found.Counts {
			start := found.Counts[i].Start.UTC()
			if at, there := s.at[u.when.groupText(start)]; there {
				add(at, found.Counts[i].Count)
			}
		}
		return err
	}
	if err := count(u.refusedQuery(v), func(at int, n int64) { rest[at] += n }); err != nil {
		return nil, err
	}
	for i := range groups.Counts[:min(len(groups.Counts), apartInChart)] {
		c, q := &groups.Counts[i], u.refusedQuery(v)
		switch u.refusedBy() {
		case refusal.ByAccount:
			q.Account, q.All = *c.AccountID, false
		case refusal.ByKey:
			q.Key = *c.KeyID
		case refusal.ByModel:
			q.Model = *c.Model
		default:
			q.Reason = *c.Reason
		}
		if q.Key == "" && c.KeyID != nil || q.Model == "" && c.Model != nil {
			continue // requests without a key or model are among the others
		}
		err := count(q, func(at int, n int64) {
			s.add(u.when.groupText(s.starts[at]), refusedGroup(u.refusedBy(), c, names), n)
			rest[at] -= n
		})
		if err != nil {
			return nil, err
		}
	}
	for at, n := range rest {
		s.add(u.when.groupText(s.starts[at]), report.Other, n)
	}
	return s, nil
}

// refusedGroup returns the text of a group of refused requests.
func refusedGroup(by refusal.Group, c *admin.RefusalCount, names *usageNames) string {
	switch by {
	case refusal.ByAccount:
		return cmp.Or(*c.AccountName, "no account")
	case refusal.ByKey:
		return cmp.Or(names.keys[*c.KeyID], *c.KeyID, "an unknown key")
	case refusal.ByModel:
		return cmp.Or(*c.Model, "no model")
	}
	return reasonText(*c.Reason)
}

// refusedCall returns the request to the API for the counts of the chart.
func (u *usageQuery) refusedCall(v *people.Visit, public string, by refusal.Group) string {
	asked, unit := u.refusedQuery(v), u.when.unit
	if unit == report.ByMonth {
		unit = report.ByDay
	}
	q := url.Values{"group_by": {string(unit) + "," + string(by)}, "from": {asked.From.Format(time.RFC3339)}}
	if u.when.since.IsZero() {
		q.Set("to", asked.Until.Format(time.RFC3339))
	}
	for name, value := range map[string]string{"key": u.key, "model": u.model} {
		if value != "" {
			q.Set(name, value)
		}
	}
	path := "/admin/v1/refusals"
	if v.Account != nil {
		path = "/admin/v1" + accountPath(v.Account.Name) + "/refusals"
	}
	return fmt.Sprintf("curl '%s%s?%s' \\\n  -H \"Authorization: Bearer $KEY\"", public, path, q.Encode())
}
