package dashboard

import (
	"net/http"
	"time"

	"weir/internal/llm"
)

// keepFor is how long a browser keeps a cookie: the longest that RFC 6265bis
// allows. When a session is over is for the server to say.
const keepFor = 400 * 24 * time.Hour

// cookies are those of the dashboard.
type cookies struct {
	insecure bool // they go over plain http too
}

// name is the name of a cookie. With the prefix __Host- a browser takes it
// over https alone, for this host alone (RFC 6265bis, 4.1.3.2).
func (c *cookies) name(suffix string) string {
	if c.insecure {
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

// session is the secret of the session that the request comes with; empty for none.
func (c *cookies) session(r *http.Request) string { return c.get(r, sessionCookie) }

func (c *cookies) get(r *http.Request, suffix string) string {
	one, err := r.Cookie(c.name(suffix))
	if err != nil {
		return ""
	}
	return one.Value
}

// set sets a cookie that scripts cannot read, and that requests from other
// sites have only when they are links.
func (c *cookies) set(w http.ResponseWriter, suffix, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: c.name(suffix), Value: value, Path: "/", MaxAge: int(age / time.Second),
		Secure: !c.insecure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (c *cookies) drop(w http.ResponseWriter, suffix string) {
	c.set(w, suffix, "", -time.Second)
}

func (c *cookies) startSession(w http.ResponseWriter, session llm.Secret) {
	c.set(w, sessionCookie, session.Reveal(), keepFor)
}
