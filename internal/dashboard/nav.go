package dashboard

import (
	"net/url"
	"strings"

	"weir/internal/people"
)

// Link is a link with its label; Current marks the link to the current page.
type Link struct {
	Label, Href string
	Icon        string
	Current     bool
}

// NavGroup holds related links, with or without a label.
type NavGroup struct {
	Label string
	Links []Link
}

// place is a page of the navigation. It is shown to visitors with the right if its pattern is a route.
type place struct {
	label, icon, path string
	right             people.Right
}

// accountPlaces lists the pages of an account, after its path.
var accountPlaces = []place{
	{"Overview", "overview", "", people.Read},
	{"API Keys", "keys", "/keys", people.Read},
	{"Usage", "usage", "/usage", people.Read},
	{"Requests", "requests", "/requests", people.Read},
	{"WebSockets", "sockets", "/sockets", people.Read},
	{"Statements", "audit", "/statements", people.Read},
	{"Playground", "playground", "/playground", people.Use},
	{"Tools", "tools", "/tools", people.Use},
	{"Models", "models", "/models", people.Read},
	{"Alerts", "alerts", "/alerts", people.Read},
	{"Webhooks", "webhooks", "/webhooks", people.Manage},
	{"Account", "members", "/members", people.Read},
}

// operatorPlaces lists the operators' pages.
var operatorPlaces = []place{
	{"Accounts", "accounts", "/operator/accounts", people.Operate},
	{"Usage", "usage", allUsagePath, people.Operate},
	{"Statements", "audit", allStatementsPath, people.Operate},
	{"WebSockets", "sockets", allSocketsPath, people.Operate},
	{"Providers", "providers", "/operator/providers", people.Operate},
	{"Tools", "tools", toolServersPath, people.Operate},
	{"Webhooks", "webhooks", webhooksPath, people.Operate},
	{"Alerts", "alerts", alertsPath, people.Operate},
	{"Prices", "prices", "/operator/prices", people.Operate},
	{"People", "members", "/operator/people", people.Operate},
	{"Audit log", "audit", "/operator/audit", people.Operate},
	{"System", "system", "/operator/system", people.Operate},
	{"Configuration", "settings", configurationPath, people.Operate},
	{"Settings", "list", "/operator/settings", people.Operate},
}

// accountPath returns the path of an account's pages, by its name.
func accountPath(name string) string { return "/accounts/" + url.PathEscape(name) }

// navigation returns the visitor's accounts and the pages that they may see.
func navigation(path string, v *people.Visit) ([]Link, []NavGroup) {
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
	if current != "" && !listed { // an operator visits an account of others
		accounts = append(accounts, Link{Label: current, Href: accountPath(current), Current: true})
	}
	var groups []NavGroup
	if current != "" {
		links := linksOf(v, accountPlaces, v.Account.ID, accountPath(current), path)
		groups = append(groups, NavGroup{Links: links})
	}
	if links := linksOf(v, operatorPlaces, "", "", path); len(links) > 0 {
		groups = append(groups, NavGroup{Label: "Installation", Links: links})
	}
	return accounts, groups
}

// linksOf returns links to those pages of the list that the visitor may see. The link with the longest prefix of the
// current path is the current one.
func linksOf(v *people.Visit, list []place, accountID, base, path string) []Link {
	var links []Link
	longest, at := 0, -1
	for _, p := range list {
		if v.May(p.right, accountID) != nil {
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
