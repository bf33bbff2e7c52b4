package dashboard

import (
	"cmp"
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
	unit := refusal.Group(u.when.unit)
	if u.when.unit == report.ByMonth {
		unit = refusal.ByDay
	}
	found, err := h.admin.Refusals.Series(r.Context(), q, unit, apartInChart)
	if err != nil {
		return err
	}
	names, err := h.namesOf(r.Context(), v, u, nil)
	if err != nil {
		return err
	}
	p := usagePage{
		All: v.Account == nil, Ranges: u.ranges(), Filters: u.filters(&names), Used: found.Total > 0,
		Chart: usageChart(&u.metric, &u.when, h.refusedSeries(u, &found)), By: u.byText(),
		Heads: []tableHead{{Label: headOf(u.by[0])}, {Label: "Refused", Number: true, Order: "descending"}},
		Tiles: []Tile{{Label: "Refused requests", Value: number(found.Total)}},
		CSV:   u.refusedFilePath(),
		Empty: Empty{
			Icon: "usage", Title: "No refused requests", Text: "No request was refused in this time.",
			Action: "Usage of the last 30 days", Href: u.base,
		},
		Query: Code{
			Ident: "uses-call", Label: "The same request to the API", Text: u.refusedCall(v, h.publicURL(r), by),
		},
	}
	for i := range found.Groups[:min(len(found.Groups), usesShown)] {
		c := &found.Groups[i]
		p.Rows = append(p.Rows, usageRow{
			Values: []groupCell{{Head: p.Heads[0].Label, Text: refusedGroup(by, c)}},
			Cells:  []usageCell{{Head: "Refused", Text: number(c.Count)}},
		})
	}
	p.Pager.Shown = shownOf(int64(len(found.Groups)), usesShown, "groups, most refused first.")
	return h.site.show(w, r, v, page{name: "usage", title: "Usage", scripts: []string{"chart.js"}, data: p})
}

// refusedSeries draws the refusals by the unit: those of the largest groups, and the others together.
func (h *usageHandlers) refusedSeries(u *usageQuery, found *admin.RefusalSeries) *usageSeries {
	s := newUsageSeries(&u.when, h.site.now())
	rest := make([]int64, len(s.starts))
	each := func(counts []admin.RefusalCount, add func(at int, c *admin.RefusalCount)) {
		for i := range counts {
			if at, there := s.at[u.when.groupText(counts[i].Start.UTC())]; there {
				add(at, &counts[i])
			}
		}
	}
	each(found.Times, func(at int, c *admin.RefusalCount) { rest[at] += c.Count })
	each(found.Apart, func(at int, c *admin.RefusalCount) {
		s.add(u.when.groupText(s.starts[at]), refusedGroup(u.refusedBy(), c), c.Count)
		rest[at] -= c.Count
	})
	for at, n := range rest {
		s.add(u.when.groupText(s.starts[at]), report.Other, n)
	}
	return s
}

// refusedGroup returns the text of a group of refused requests.
func refusedGroup(by refusal.Group, c *admin.RefusalCount) string {
	switch by {
	case refusal.ByAccount:
		return cmp.Or(*c.AccountName, "no account")
	case refusal.ByKey:
		return cmp.Or(*c.KeyLabel, *c.KeyID, "an unknown key")
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
