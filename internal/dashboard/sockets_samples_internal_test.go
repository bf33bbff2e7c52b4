package dashboard

import (
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
)

// socketSamples shows the pages of WebSockets: of an account and of all, without any, with hostile names, and one that
// has ended.
func socketSamples() []sample {
	views := []admin.SocketView{
		{
			ID: "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b78", API: "responses", AccountID: "acc-1", Account: "acme", KeyID: "k",
			Model: "openai/gpt-5-codex", NodeID: "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b70", Node: "one", Began: testTime,
			Active: testTime, Requests: 1412, Running: 2, Charge: 41 * llm.USD,
		},
		{
			ID: "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b79", API: "realtime", AccountID: "acc-1", Account: "acme", KeyID: "k",
			Model: hostile, Node: hostile, Began: testTime.Add(-time.Hour), Active: testTime, Uncertain: true, Ending: true,
		},
	}
	labels := map[string]string{"k": hostile}
	visit := visitOf("")
	visit.Account = nil
	show := func(name, title string, data any) page {
		return page{name: name, title: title, scripts: []string{"live.js"}, data: data}
	}
	row := socketRowOf(visit, &views[0], labels)
	one := socketPage{ID: views[0].ID, ListPath: "/accounts/acme/sockets"}
	one.describe(&row)
	ended := socketPage{ID: views[1].ID, ListPath: "/accounts/acme/sockets", Older: "/accounts/acme/requests?socket=x"}
	ended.Requests = []requestRow{{ID: "r", Href: "/accounts/acme/requests/r", Arrived: testTime, Model: hostile, Badge: Badge{"good", "Answered"}}}
	base := "/accounts/acme/sockets"
	return []sample{
		{"sockets", allSocketsPath, "", show("sockets", "WebSockets", socketsPageOf(visit, views, allSocketsPath, labels))},
		{"sockets-none", base, people.Viewer, show("sockets", "WebSockets", socketsPageOf(visit, nil, base, labels))},
		{"socket", base + "/" + views[0].ID, people.Viewer, show("socket", "WebSocket", one)},
		{"socket-ended", base + "/" + views[1].ID, people.Viewer, show("socket", "WebSocket", ended)},
	}
}
