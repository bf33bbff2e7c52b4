//go:build linux

package hostiletest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
)

const (
	// houseKey is the key of the good provider, and variable is in the gateway's environment. No other server may
	// receive them.
	houseKey = "only-for-the-house-8214"
	variable = "only-for-the-gateway-5530"
	password = "seven loud rivers part"
)

// guests holds invitations, as paths: four people of a hostile account, and one of a good account.
type guests struct {
	bad  [sides]string
	good string
}

// invite invites the guests. The first of the hostile ones may search for models, too; all are viewers.
func (g *testbed) invite(t *testing.T) (all guests) {
	t.Helper()
	link := func(email, account string) string {
		out := processtest.Run(t, g.command(t, "members", "invite", email, "--account", account, "--role", "viewer"))
		return must.Get(url.Parse(strings.TrimSpace(string(out))))(t).Path
	}
	for i := range sides {
		all.bad[i] = link(fmt.Sprintf("bad-%d@example.com", i), "bad-0")
	}
	all.good = link("good@example.com", "good-0")
	return all
}

// peopleAttacks returns attacks by people who have signed in, and by an operator's stolen key.
func peopleAttacks() []attack {
	return []attack{
		{
			name: "names of models of 28 KB, by a viewer", hostile: longSearches, check: only("200", "400", "429"),
			held: "400 beyond 256 bytes",
		},
		{
			name: "all live tails, by four people of an account", hostile: manyTails, lasts: 4 * time.Second, check: only("200", "503"),
			held: "an account has 16 of 32, and 8 are for operators: others find one",
		},
		{
			name: "tests of providers with the keys of others, by a stolen key", hostile: stolenKeys, check: keepsSecrets,
			held: "400: a test sends a key that was typed, or its own to its host; no variable and no file is told",
		},
	}
}

// signIn uses an invitation, once an attack, and returns the session as a header of the following requests. The end of
// a round does not interrupt it: an invitation whose answer nobody reads is used up.
func (a *attacker) signIn(invitation string) (session string) {
	a.result.mu.Lock()
	session = a.result.sessions[invitation]
	a.result.mu.Unlock()
	if session != "" {
		return session
	}
	form := url.Values{"name": {"Somebody"}, "password": {password}}.Encode()
	whole := *a
	whole.ctx = context.WithoutCancel(a.ctx)
	resp, err := whole.begin(http.MethodPost, invitation, strings.NewReader(form), "Content-Type", "application/x-www-form-urlencoded")
	if err != nil {
		a.wrong("sign in: %v", err)
		return ""
	}
	_ = resp.Body.Close()
	for _, c := range resp.Cookies() {
		if strings.HasSuffix(c.Name, "weir") {
			session = c.Name + "=" + c.Value
			a.result.mu.Lock()
			defer a.result.mu.Unlock()
			a.result.sessions[invitation] = session
			return session
		}
	}
	a.wrong("sign in: status %d without a session", resp.StatusCode)
	return ""
}

// longSearches searches for as many words as fit into an address, and for as many as are accepted.
func longSearches(a *attacker) {
	if a.number > 0 {
		return // one viewer
	}
	session := a.signIn(a.guests.bad[0])
	const path = "/accounts/bad-0/models?q="
	words := []string{strings.Repeat("/+", 14_000), strings.Repeat("/+", 125)}
	a.many(32, time.Millisecond, func(i int) {
		status := a.ask(http.MethodGet, path+words[i%2], http.NoBody, "Cookie", session)
		if i%2 == 0 && status != http.StatusBadRequest && status != 0 {
			a.wrong("a name of 28 KB to look for: status %d, want 400", status)
		}
	})
}

// manyTails follows requests in as many windows as possible, while a person of another account opens one again and
// again.
func manyTails(a *attacker) {
	var all sync.WaitGroup
	defer all.Wait()
	if a.number == 0 {
		all.Go(a.followToo)
	}
	session := a.signIn(a.guests.bad[a.number])
	a.many(12, 200*time.Millisecond, func(int) { a.follow("bad-0", session, true) })
}

// followToo has a person of another account open a live tail, again and again.
func (a *attacker) followToo() {
	session := a.signIn(a.guests.good)
	a.many(1, 100*time.Millisecond, func(int) {
		if status := a.follow("good-0", session, false); status != http.StatusOK && status != 0 {
			a.wrong("a live tail of another account: status %d, want 200", status)
		}
	})
}

// follow opens a live tail, and holds it to the end of the attack or closes it after its first line.
func (a *attacker) follow(account, session string, keep bool) (status int) {
	resp, err := a.begin(http.MethodGet, "/accounts/"+account+"/requests/tail", http.NoBody, "Cookie", session)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	a.count(resp.StatusCode)
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err == nil && keep && resp.StatusCode == http.StatusOK {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	return resp.StatusCode
}

var sealedText = regexp.MustCompile(`sealed:[0-9a-z:]+`)

// stolenKeys requests tests of a provider at the hostile one's address: with the keys of the good one, as the gateway
// shows them, and with the content of its environment and its files.
func stolenKeys(a *attacker) {
	a.key = a.admin
	_, shown := a.read(http.MethodGet, "/admin/v1/config", http.NoBody)
	sealed := sealedText.FindString(shown)
	if sealed == "" && a.ctx.Err() == nil {
		a.wrong("the configuration shows no sealed key: %.300s", shown)
	}
	to := "http://" + a.provider.address() + "/v1"
	secrets := "${HOSTILE_VARIABLE}${file:" + a.dir + "/secret}"
	tries := [][3]string{
		{"new", to, sealed},
		{"house", to, sealed},
		{"bad", to, sealed},
		{"new", to, secrets},
		{"bad", to, "${HOSTILE_VARIABLE}"},
		{"new", to + "/" + secrets, "typed"},
		{"new", "http://127.0.0.1:1/" + secrets, "typed"},
		{"new", to + "/${NOBODY:-" + secrets + "}", "typed"},
	}
	a.many(1, 20*time.Millisecond, func(i int) {
		try := tries[i%len(tries)]
		provider := fmt.Sprintf(`{"dialect":"openai","base_url":%q,"allow_private":true,"api_keys":[%q]}`, try[1], try[2])
		path, method, body := "/admin/v1/config/test", http.MethodPost, fmt.Sprintf(`{"name":%q,"provider":%s}`, try[0], provider)
		if i%3 == 2 && try[2] == sealed {
			path, method, body = "/admin/v1/config/providers/"+try[0], http.MethodPut, provider
		}
		status, text := a.read(method, path, strings.NewReader(body))
		if status != 0 {
			a.count(status)
		}
		if strings.Contains(text, houseKey) || strings.Contains(text, variable) {
			a.wrong("%s %s with %q: got a secret: %.300s", method, path, try, text)
		}
	})
}

// keepsSecrets returns a check that the hostile provider received no other provider's key.
func keepsSecrets(t *testing.T, r *result) {
	only("400", "409", "429")(t, r)
	for _, got := range r.testGateway.provider.stolen.all() {
		t.Errorf("the hostile provider got %s", got)
	}
}
