package dashboard

import (
	"net/url"
	"strings"

	"weir/internal/people"
)

// Link is a link by its label; Current says that it leads to where one is.
type Link struct {
	Label, Href string
	Icon        string
	Current     bool
}

// NavGroup is links of one kind, under a label or none.
type NavGroup struct {
	Label string
	Links []Link
}

// place is a page of the navigation. It shows when its pattern is a route, to
// whoever has the right.
type place struct {
	label, icon, path string
	right             people.Right
}

// accountPlaces are the pages of an account, after its path.
var accountPlaces = []place{
	{"Overview", "overview", "", people.Read},
	{"API Keys", "keys", "/keys", people.Read},
	{"Usage", "usage", "/usage", people.Read},
	{"Requests", "requests", "/requests", people.Read},
	{"Statements", "audit", "/statements", people.Read},
	{"Playground", "playground", "/playground", people.Use},
	{"Models", "models", "/models", people.Read},
	{"Webhooks", "webhooks", "/webhooks", people.Manage},
	{"Account", "members", "/members", people.Read},
}

// operatorPlaces are the pages of operators.
var operatorPlaces = []place{
	{"Accounts", "accounts", "/operator/accounts", people.Operate},
	{"Providers", "providers", "/operator/providers", people.Operate},
	{"Webhooks", "webhooks", webhooksPath, people.Operate},
	{"Prices", "prices", "/operator/prices", people.Operate},
	{"People", "members", "/operator/people", people.Operate},
	{"Audit log", "audit", "/operator/audit", people.Operate},
	{"System", "system", "/operator/system", people.Operate},
	{"Configuration", "settings", configurationPath, people.Operate},
	{"Settings", "settings", "/operator/settings", people.Operate},
}

// accountPath is where the pages of an account are, by its name.
func accountPath(name string) string { return "/accounts/" + url.PathEscape(name) }

// navigation is the visitor's accounts and the pages that they may see.
func (s *site) navigation(path string, v *people.Visit) ([]Link, []NavGroup) {
	current := ""
	if v.Account != nil {
		current = v.Account.Name
	}
	var accounts []Link
	listed := false
	for _, m := range v.Memberships() {
		accounts = append(accounts, Link{
			Label: m.AccountName, Href: accountPath(m.AccountName), Current: m.AccountName == current,
		})
		listed = listed || m.AccountName == current
	}
	if current != "" && !listed { // an operator's look at an account of others
		accounts = append(accounts, Link{Label: current, Href: accountPath(current), Current: true})
	}
	var groups []NavGroup
	if current != "" {
		links := s.links(v, accountPlaces, v.Account.ID, "/accounts/{account}", accountPath(current), path)
		groups = append(groups, NavGroup{Links: links})
	}
	if links := s.links(v, operatorPlaces, "", "", "", path); len(links) > 0 {
		groups = append(groups, NavGroup{Label: "Installation", Links: links})
	}
	return accounts, groups
}

// links are links to those of the list that are there and may be seen. The one
// with the longest path in common with where one is, is the current one.
func (s *site) links(v *people.Visit, list []place, accountID, pattern, base, path string) []Link {
	var links []Link
	longest, at := 0, -1
	for _, p := range list {
		if !s.has["GET "+pattern+p.path] || v.May(p.right, accountID) != nil {
			continue
		}
		href := base + p.path
		if (path == href || strings.HasPrefix(path, href+"/")) && len(href) > longest {
			longest, at = len(href), len(links)
		}
		links = append(links, Link{Label: p.label, Href: href, Icon: p.icon})
	}
	if at >= 0 {
		links[at].Current = true
	}
	return links
}
