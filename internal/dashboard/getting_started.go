package dashboard

import (
	"net/http"

	"weir/internal/account"
	"weir/internal/people"
)

// startPage is the first page of an account without usage: it shows the next steps.
type startPage struct {
	Suspended bool
	Hooks     []hookNotice
	Refused   refusalNotice
	CanMake   bool // keys
	HasKey    bool // whether there is a valid one
	KeysPath  string
	MembersAt string
	Curl      Code
	UsesAt    string
	Providers string // path of the form that adds a provider, for operators
}

func (h *overviewHandlers) start(w http.ResponseWriter, r *http.Request, v *people.Visit, keys []account.Key,
	hooks []hookNotice, refused refusalNotice,
) error {
	base := accountPath(v.Account.Name)
	p := startPage{
		Suspended: v.Account.Suspended, Hooks: hooks, Refused: refused, CanMake: v.May(people.Use, v.Account.ID) == nil,
		KeysPath: base + "/keys", MembersAt: base + "/members", UsesAt: "GET " + h.publicURL(r) + "/v1/uses",
	}
	for i := range keys {
		p.HasKey = p.HasKey || keys[i].State(h.site.now()) == account.KeyActive
	}
	p.Curl = Code{Ident: "first-call", Label: "A first call", Text: curlOf(h.publicURL(r), "$WEIR_KEY", h.model())}
	if v.Operator() {
		p.Providers = providersPath + "/new"
	}
	return h.site.show(w, r, v, page{name: "start", title: "Overview", data: p})
}
