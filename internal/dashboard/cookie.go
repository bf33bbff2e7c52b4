package dashboard

import (
	"net/http"
	"time"

	"weir/internal/llm"
)

// keepFor is how long a browser keeps a cookie: the longest that RFC 6265bis
// allows. When a session is over is for the server to say.
const keepFor = 400 * 24 * time.Hour

// cookieName is the name of a cookie. With the prefix __Host- a browser takes it
// over https alone, for this host alone (RFC 6265bis, 4.1.3.2).
func (s *Server) cookieName(suffix string) string {
	if s.options.Insecure {
		return "weir" + suffix
	}
	return "__Host-weir" + suffix
}

// Names of cookies, after the first part.
const (
	sessionCookie = ""
	themeCookie   = "-theme"
	oidcCookie    = "-oidc"
)

// Session is the secret of the session that the request comes with; empty for
// none.
func (s *Server) Session(r *http.Request) string { return s.cookie(r, sessionCookie) }

func (s *Server) cookie(r *http.Request, suffix string) string {
	c, err := r.Cookie(s.cookieName(suffix))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie sets a cookie that scripts cannot read, and that requests from other
// sites have only when they are links.
func (s *Server) setCookie(w http.ResponseWriter, suffix, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(suffix), Value: value, Path: "/", MaxAge: int(age / time.Second),
		Secure: !s.options.Insecure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (s *Server) dropCookie(w http.ResponseWriter, suffix string) {
	s.setCookie(w, suffix, "", -time.Second)
}

func (s *Server) startSession(w http.ResponseWriter, session llm.Secret) {
	s.setCookie(w, sessionCookie, session.Reveal(), keepFor)
}
