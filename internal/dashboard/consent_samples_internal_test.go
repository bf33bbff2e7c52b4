package dashboard

import (
	"net/url"

	"weir/internal/admin"
	"weir/internal/oauth"
	"weir/internal/people"
)

func consentSamples() []sample {
	show := func(name string, data consentPage) sample {
		return sample{name, "/oauth/authorize", "", page{name: "consent", title: "Allow access", bare: true, data: data}}
	}
	wrong := &form{values: url.Values{"account": {hostile}}, general: []string{hostile}}
	local := &oauth.Request{Client: oauth.Client{Name: hostile}, Redirect: "http://localhost:7777/callback", Path: "/mcp", Query: hostile}
	remote := &oauth.Request{Client: oauth.Client{Name: "Agent", Host: "programs.example"}, Redirect: "https://programs.example/callback", Path: "/mcp/review"}
	native := &oauth.Request{Client: oauth.Client{Name: "Agent"}, Redirect: "com.example.app:/callback", Path: "/mcp"}
	connections := func(name string, own, all []admin.ConnectionView) sample {
		return sample{name, "/connections", people.Owner, page{name: "connections", title: "Connections", data: connectionsPageOf(own, all)}}
	}
	servers := []admin.ConnectionView{
		{Server: "peer", URL: "https://" + hostile, PerPerson: true, Connected: &testTime, Issuer: hostile}, {Server: "tracker", URL: "https://mcp.example.com/mcp", PerPerson: true},
	}
	return []sample{
		connections("connections", servers, servers), connections("connections-none", nil, nil),
		show("consent", consentPageOf(visitOf(people.Owner), remote, &form{})),
		show("consent-local", consentPageOf(visitOf(people.Owner), local, wrong)),
		show("consent-native", consentPageOf(visitOf(people.Owner), native, &form{})),
		show("consent-none", consentPageOf(visitOf(""), remote, &form{})),
		show("consent-invalid", consentPage{Refusal: hostile, Query: hostile}),
	}
}
