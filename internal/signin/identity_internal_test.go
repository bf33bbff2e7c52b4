package signin

import (
	"encoding/json"
	"testing"

	"weir/internal/people"
	"weir/internal/worktest"
)

// FuzzIdentity checks that any claims of a provider of single sign-on make an identity with a valid, verified address,
// or none.
func FuzzIdentity(f *testing.F) {
	for _, text := range []string{
		`{"email":"ada@example.com","email_verified":true,"name":"Ada","groups":["a","b"]}`, `{"email":"ADA@example.com","email_verified":"true","groups":"a"}`,
		`{"email":["a"],"email_verified":1,"name":{},"groups":[1]}`, `{"email":"(a)(b) \"x\" <a@b>","email_verified":true}`,
	} {
		f.Add([]byte(text))
	}
	p := &OIDC{options: OIDCOptions{GroupsClaim: "groups"}}
	identify := func(text []byte) (*identity, claims) {
		var c claims
		if json.Unmarshal(text, &c) != nil {
			return &identity{}, nil
		}
		return p.identityOf("s", c), c
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		worktest.Check(t, text, func(text []byte) { identify(text) })
		who, c := identify(text)
		if who.email == "" {
			return
		}
		again, err := people.CheckEmail(who.email)
		if verified := string(c["email_verified"]); err != nil || again != who.email || verified != "true" && verified != `"true"` {
			t.Errorf("%s: got %q, verified %s, %v", text, who.email, verified, err)
		}
	})
}
