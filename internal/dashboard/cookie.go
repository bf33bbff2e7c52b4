package dashboard

import (
	"net/http"
	"time"

	"weir/internal/llm"
)

// keepFor is the lifetime of a cookie in the browser: the longest that RFC 6265bis allows. The server decides when a
// session ends.
const keepFor = 400 * 24 * time.Hour

// cookies reads and sets the cookies of the dashboard.
type cookies struct {
	insecure bool // also send them over plain http
}

// name returns the name of a cookie. With the prefix __Host- a browser sends it only over https and only to this host
// (RFC 6265bis, 4.1.3.2).
func (c *cookies) name(suffix string) string {
	if c.insecure {
		return "weir" + suffix
	}
	return "__Host-weir" + suffix
}

// Suffixes of the cookies' names.
const (
	sessionCookie = ""
	themeCookie   = "-theme"
	oidcCookie    = "-oidc"
	connectCookie = "-connect"
)

// session returns the secret of the request's session, or "".
func (c *cookies) session(r *http.Request) string { return c.get(r, sessionCookie) }

func (c *cookies) get(r *http.Request, suffix string) string {
	one, err := r.Cookie(c.name(suffix))
	if err != nil {
		return ""
	}
	return one.Value
}

// set sets a cookie that scripts cannot read, and that requests from other sites carry only for links.
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
