package dashboard

import (
	"net/http"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/signin"
)

// theme returns the browser's choice of colours: light, dark, or "" for the system's preference.
func (s *site) theme(r *http.Request) string {
	switch t := s.cookies.get(r, themeCookie); t {
	case "light", "dark":
		return t
	}
	return ""
}

func themes(chosen string) []Choice {
	if chosen == "" {
		chosen = "auto"
	}
	all := []Choice{{Value: "auto", Label: "Auto"}, {Value: "light", Label: "Light"}, {Value: "dark", Label: "Dark"}}
	for i := range all {
		all[i].Chosen = all[i].Value == chosen
	}
	return all
}

func (s *site) chooseTheme(w http.ResponseWriter, r *http.Request, _ *people.Visit) error {
	switch t := r.PostFormValue("theme"); t {
	case "light", "dark":
		s.cookies.set(w, themeCookie, t, keepFor)
	case "auto":
		s.cookies.drop(w, themeCookie)
	default:
		return llm.Invalid("theme", "The theme must be light, dark or auto.")
	}
	return goTo(w, r, signin.LocalPath(r.PostFormValue("back")))
}
