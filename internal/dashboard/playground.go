package dashboard

import (
	"net/http"

	"weir/internal/llm"
	"weir/internal/people"
)

func (s *Server) playgroundRoutes() []people.Route {
	if s.options.Chat == nil {
		return nil
	}
	return []people.Route{
		s.route("GET /accounts/{account}/playground", people.Use, s.playground),
		{Pattern: "POST /accounts/{account}/playground", Right: people.Use, Serve: s.play},
	}
}

// playgroundPage is what the page shows: models to choose from, and what asks
// them.
type playgroundPage struct {
	Base   string // the address for curl
	Path   string // to which requests go
	Models []string
	Chosen string // the model of the first pane
	Panes  []int  // their numbers
}

func (s *Server) playground(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	chosen := r.URL.Query().Get("model")
	if chosen == "" && s.options.DefaultModel != nil {
		chosen = s.options.DefaultModel()
	}
	data := playgroundPage{
		Base: s.options.PublicURL(r), Path: accountPath(v.Account.Name) + "/playground",
		Chosen: chosen, Panes: []int{1, 2},
	}
	if s.options.Models != nil {
		for _, m := range s.options.Models() {
			data.Models = append(data.Models, m.Name)
		}
	}
	return s.show(w, r, v, page{
		name: "playground", title: "Playground", scripts: []string{"playground.js"},
		data: data,
	})
}

// play asks a model as a client of the API does, and is metered like one, by a key
// that stands for whoever is signed in. Errors are those of the API.
func (s *Server) play(w http.ResponseWriter, r *http.Request, v *people.Visit) {
	guard(w.Header())
	user := v.User()
	if user == nil {
		s.Refuse(w, r, v, &llm.Error{
			Code:    llm.CodeForbidden,
			Message: "The playground is for people. Programs have keys.",
		})
		return
	}
	p, err := s.options.Accounts.Playground(r.Context(), v.By, v.Account, user.ID)
	if err != nil {
		s.Refuse(w, r, v, err)
		return
	}
	s.options.Chat(w, r, p)
}
