package dashboard

import (
	"cmp"
	"encoding/json"
	"net/http"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/route"
)

// playgroundHandlers serves the playground and its requests.
type playgroundHandlers struct {
	site         *site
	accounts     *account.Service
	models       func() []route.Model
	defaultModel func() string
	publicURL    func(*http.Request) string
	chat         func(http.ResponseWriter, *http.Request, *account.Principal)
}

// playgroundPage shows the models and the panes of the playground.
type playgroundPage struct {
	Base     string // address for curl
	Path     string // path of its requests
	Requests string // path of the account's requests, which show their cost
	Models   []string
	Chosen   string // model of the first pane
	Panes    []int  // their numbers
}

func (h *playgroundHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	data := playgroundPage{
		Base: h.publicURL(r), Path: accountPath(v.Account.Name) + "/playground",
		Requests: accountPath(v.Account.Name) + "/requests",
		Chosen:   cmp.Or(r.URL.Query().Get("model"), h.defaultModel()), Panes: []int{1, 2},
	}
	for _, m := range h.models() {
		data.Models = append(data.Models, m.Name)
	}
	return h.site.show(w, r, v, page{
		name: "playground", title: "Playground", scripts: []string{"playground.js"}, data: data,
	})
}

// play sends a request like a client of the API. It is metered by a key that represents the signed-in person. Errors
// have the format of the API.
func (h *playgroundHandlers) play(w http.ResponseWriter, r *http.Request, v *people.Visit) {
	guard(w.Header())
	user := v.User()
	if user == nil {
		h.site.refuse(w, r, v, llm.Errorf(llm.CodeForbidden, "The playground is for people who are signed in. "+
			"Programs use the API with an API key."))
		return
	}
	p, err := h.accounts.Playground(r.Context(), v.By, v.Account, user.ID, account.Chat)
	if err != nil {
		h.site.refuse(w, r, v, err)
		return
	}
	h.chat(w, r, p)
}

// cost answers the playground with the cost of a request, in the format of its page.
func (h *requestHandlers) cost(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	d, err := h.read(r, v)
	if err != nil {
		return err
	}
	text, err := json.Marshal(requestTiles(d)[0])
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(text)
	return err
}
