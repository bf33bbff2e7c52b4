package dashboard

import (
	"cmp"
	"context"
	"maps"
	"net/url"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// usageNames holds the texts of groups that are shown in place of their values, by dimension.
type usageNames struct{ accounts, keys map[string]string }

// text returns the text of a group's value.
func (n *usageNames) text(d report.Dimension, value *string) string {
	if value == nil {
		return "none"
	}
	switch d {
	case report.ByAccount:
		return cmp.Or(n.accounts[*value], *value)
	case report.ByKey:
		return cmp.Or(n.keys[*value], *value)
	}
	return *value
}

// namesOf returns the names of the accounts and keys that a page shows as groups of usage or as a filter. A page of one
// account names only its own keys.
func (h *usageHandlers) namesOf(ctx context.Context, v *people.Visit, u *usageQuery, groups usageValues) (
	usageNames, error,
) {
	n := usageNames{groups[report.ByAccount], groups[report.ByKey]}
	if u.key != "" {
		n.keys = map[string]string{u.key: ""}
		maps.Copy(n.keys, groups[report.ByKey])
	}
	of := ""
	if v.Account != nil {
		of = v.Account.ID
	}
	return n, h.admin.Reports.SetNames(ctx, of, n.accounts, n.keys)
}

// usageValues holds the values of groups, by dimension, as keys of maps.
type usageValues map[report.Dimension]map[string]string

// add adds the values of groups. from is the index of the first dimension in each group.
func (u usageValues) add(by []report.Dimension, uses []report.Use, from int) {
	for i, d := range by {
		if d != report.ByAccount && d != report.ByKey {
			continue
		}
		if u[d] == nil {
			u[d] = map[string]string{}
		}
		for k := range uses {
			if value := uses[k].Group[from+i]; value != nil {
				u[d][*value] = ""
			}
		}
	}
}

// usageRow is a row of the table of groups.
type usageRow struct {
	Values []groupCell
	Cells  []usageCell
}

// groupCell shows the value of a dimension. Href links to the usage behind it; empty for none.
type groupCell struct{ Head, Text, Href string }

// usageCell shows a figure.
type usageCell struct {
	Head, Text string
	Notes      []string
	Unpriced   bool
}

// usageColumn is a figure of the table of groups.
type usageColumn struct {
	label   string
	measure report.Measure // by which the column sorts; empty for none
	text    func(*report.Use) string
}

// columns returns the figures of the table, except for the cost.
func (u *usageQuery) columns() []usageColumn {
	if u.metric.Value == metricSpeed {
		return []usageColumn{
			{"Answers", "", func(x *report.Use) string { return number(x.Speed.Answers()) }},
			{"Median", "", func(x *report.Use) string { return speedText(x.Speed.Median()) }},
			{"95 % within", "", func(x *report.Use) string { return speedText(x.Speed.P95()) }},
		}
	}
	counted := func(label string, m report.Measure) usageColumn {
		return usageColumn{label, m, func(x *report.Use) string { return number(m.Of(x)) }}
	}
	list := []usageColumn{
		counted("Requests", report.MeasureRequests),
		counted("Failed attempts", report.MeasureErrors),
		counted("Tokens in", report.MeasureIn),
		counted("Tokens out", report.MeasureOut),
		{"From caches", report.MeasureCached, func(x *report.Use) string { return cachedOf(&x.Usage) }},
	}
	switch m := u.metric.measure; {
	case len(m.Classes()) == 1, m == report.MeasureMissed, m == report.MeasureMissCost,
		m == report.MeasureHits, m == report.MeasureSaved:
		own := func(x *report.Use) string { return u.metric.whole(m.Of(x)) }
		list = append(list, usageColumn{u.metric.Label, m, own})
	}
	return list
}

// table returns the table of groups.
func (u *usageQuery) table(uses []report.Use, names *usageNames, purchase bool) (heads []tableHead, rows []usageRow) {
	order := cmp.Or(u.sort, string(u.metric.measure))
	head := func(label string, sort string, isNumber bool) {
		x := tableHead{Label: label, Number: isNumber}
		if sort != "" {
			x.Href = u.with(url.Values{"sort": {sort}})
		}
		if order != "" && sort == order {
			x.Order = "descending"
			if sort == sortByName {
				x.Order = "ascending"
			}
		}
		heads = append(heads, x)
	}
	for i, d := range u.by {
		sort := ""
		if i == 0 && u.metric.Value != metricSpeed {
			sort = sortByName
		}
		head(headOf(d), sort, false)
	}
	columns := u.columns()
	for _, c := range columns {
		head(c.label, string(c.measure), true)
	}
	costs := u.metric.Value != metricSpeed
	if costs {
		head("Cost", string(report.MeasureCost), true)
	}
	places := placesOf(uses, func(x *report.Use) llm.Money { return x.Cost })
	for i := range uses {
		row := usageRow{Values: u.groupCells(&uses[i], names)}
		for _, c := range columns {
			row.Cells = append(row.Cells, usageCell{Head: c.label, Text: c.text(&uses[i])})
		}
		if costs {
			row.Cells = append(row.Cells, costCell(&uses[i], purchase, places))
		}
		rows = append(rows, row)
	}
	return heads, rows
}

func costCell(u *report.Use, purchase bool, places int) usageCell {
	cell := usageCell{Head: "Cost", Text: dollarsTo(places, u.Cost), Unpriced: u.Unpriced > 0}
	if u.Uncertain != 0 {
		cell.Notes = append(cell.Notes, "at most "+dollars(u.AtMost()))
	}
	if purchase && u.Margin != (report.Margin{}) {
		note := "purchase cost: " + dollars(u.Bought())
		if u.PurchaseUnpriced(u.Unpriced) > 0 {
			note += ", some unpriced"
		}
		cell.Notes = append(cell.Notes, note)
	}
	return cell
}

// groupCells returns the values of a group with links to the usage behind them.
func (u *usageQuery) groupCells(x *report.Use, names *usageNames) (cells []groupCell) {
	for i, d := range u.by {
		cell := groupCell{Head: headOf(d), Text: names.text(d, x.Group[i])}
		if value := x.Group[i]; value != nil {
			if name := filterOf(d); name != "" {
				cell.Href = u.narrowed(name, *value)
			}
			if name := names.accounts[*value]; d == report.ByAccount && name != "" {
				q := u.parameters()
				q.Del("group_by")
				cell.Href = accountPath(name) + "/usage?" + q.Encode()
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// filterOf returns the parameter that filters by a dimension's value; empty for none.
func filterOf(d report.Dimension) string {
	switch d {
	case report.ByModel, report.ByProvider, report.ByKey, report.ByUser:
		return string(d)
	}
	if tag := d.Tag(); tag != "" {
		return tagPrefix + tag
	}
	return ""
}
