package dashboard

import (
	"net/http"

	"weir/internal/account"
	"weir/internal/people"
)

// startPage is the first page of an account that has used nothing yet: what
// comes next.
type startPage struct {
	Suspended bool
	Hooks     []hookNotice
	CanMake   bool // keys
	HasKey    bool // one that is good
	KeysPath  string
	MembersAt string
	Curl      Code
	UsesAt    string
}

func (s *Server) start(w http.ResponseWriter, r *http.Request, v *people.Visit, keys []account.Key,
	hooks []hookNotice,
) error {
	base := accountPath(v.Account.Name)
	p := startPage{
		Suspended: v.Account.Suspended, Hooks: hooks, CanMake: v.May(people.Use, v.Account.ID) == nil,
		KeysPath: base + "/keys", MembersAt: base + "/members", UsesAt: "GET " + s.options.PublicURL(r) + "/v1/uses",
	}
	for i := range keys {
		p.HasKey = p.HasKey || s.state(&keys[i]) == good
	}
	p.Curl = Code{Ident: "first-call", Label: "A first call", Text: curlOf(s.options.PublicURL(r), "$WEIR_KEY", "")}
	return s.show(w, r, v, page{name: "start", title: "Overview", data: p})
}

// keyState is whether a key may be used.
type keyState int

const (
	good keyState = iota
	expired
	revoked
)

func (s *Server) state(k *account.Key) keyState {
	switch {
	case k.Revoked != nil:
		return revoked
	case k.Expired(s.options.Now()):
		return expired
	}
	return good
}
