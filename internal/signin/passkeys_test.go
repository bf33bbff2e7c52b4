package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

// device is a device with a passkey, and the browser that talks to it.
type device struct {
	t      testing.TB
	key    *ecdsa.PrivateKey
	id     []byte
	origin string // the browser's origin; empty for that of the page
	signed uint32 // how often
}

func newDevice(t testing.TB) *device {
	t.Helper()
	d := &device{t: t, key: must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t), id: make([]byte, 16)}
	_, _ = rand.Read(d.id) // never fails
	return d
}

// asked holds the page's options.
type asked struct {
	Challenge string `json:"challenge"`
	RPID      string `json:"rpId"`
	RP        struct {
		ID string `json:"id"`
	} `json:"rp"`
	Allow []struct {
		ID string `json:"id"`
	} `json:"allowCredentials"`
	Exclude []struct {
		ID string `json:"id"`
	} `json:"excludeCredentials"`
}

func (d *device) asked(options string) (a asked) {
	d.t.Helper()
	must.Do(d.t, json.Unmarshal([]byte(options), &a))
	return a
}

func (d *device) clientData(what string, a *asked) []byte {
	origin := d.origin
	if origin == "" {
		origin = publicURL
	}
	return []byte(fmt.Sprintf(`{"type":"webauthn.%s","challenge":%q,"origin":%q,"crossOrigin":false}`, what, a.Challenge, origin))
}

// data returns the authenticator data (https://www.w3.org/TR/webauthn-3/#sctn-authenticator-data).
func (d *device) data(host string, flags byte, more ...byte) []byte {
	sum := sha256.Sum256([]byte(host))
	d.signed++
	out := append(sum[:], flags)
	return append(binary.BigEndian.AppendUint32(out, d.signed), more...)
}

const present, attested = 0x01, 0x40

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// create creates the passkey for the options.
func (d *device) create(options string) string {
	d.t.Helper()
	a := d.asked(options)
	point := must.Get(d.key.PublicKey.Bytes())(d.t) // 4, x, y
	more := append(make([]byte, 16), 0, byte(len(d.id)))
	more = append(more, d.id...)
	more = append(more, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32) // {1: 2, 3: -7, -1: 1, -2: x, -3: y}
	more = append(more, point[1:33]...)
	more = append(append(more, 0x22, 0x58, 32), point[33:]...)
	data := d.data(a.RP.ID, present|attested, more...)
	object := []byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58")
	object = append(append(object, byte(len(data))), data...)
	return fmt.Sprintf(`{"id":%q,"rawId":%q,"type":"public-key","clientExtensionResults":{},"response":{"clientDataJSON":%q,"attestationObject":%q,"transports":["internal"]}}`,
		text(d.id), text(d.id), text(d.clientData("create", &a)), text(object))
}

// sign answers the options.
func (d *device) sign(options string) string {
	d.t.Helper()
	a := d.asked(options)
	client, data := d.clientData("get", &a), d.data(a.RPID, present)
	sum := sha256.Sum256(client)
	whole := sha256.Sum256(append(data, sum[:]...))
	signature := must.Get(ecdsa.SignASN1(rand.Reader, d.key, whole[:]))(d.t)
	return fmt.Sprintf(`{"id":%q,"rawId":%q,"type":"public-key","clientExtensionResults":{},"response":{"clientDataJSON":%q,"authenticatorData":%q,"signature":%q}}`,
		text(d.id), text(d.id), text(client), text(data), text(signature))
}

// addPasskey returns a device with a new passkey of the visitor.
func (h *fixture) addPasskey(v *people.Visitor, name string) *device {
	h.t.Helper()
	d := newDevice(h.t)
	c := must.Get(h.signIn.Passkeys.Begin(h.ctx, v, publicURL))(h.t)
	must.Do(h.t, h.signIn.Passkeys.Add(h.ctx, v, publicURL, c.State, d.create(c.Options), name, secret(goodPassword), home))
	return d
}

// factored returns Ada, signed in with a second factor.
func (h *fixture) factored() *people.Visitor {
	h.t.Helper()
	_, _, recovery := h.withFactor()
	return h.visitor(must.Get(h.signIn.Factors.Give(h.ctx, h.half().Reveal(), recovery[0], home))(h.t))
}

// ask returns the challenge for a session that waits for the second factor.
func (h *fixture) ask(session llm.Secret) *signin.Challenge {
	h.t.Helper()
	c := must.Get(h.signIn.Passkeys.Ask(h.ctx, session.Reveal(), publicURL))(h.t)
	if c == nil {
		h.t.Fatal("no passkey is requested")
	}
	return c
}

func TestPasskeyIsSecondFactor(t *testing.T) {
	t.Parallel()
	h := newFixture(t, sealing)
	v := h.factored()
	if c, err := h.signIn.Passkeys.Ask(h.ctx, h.half().Reveal(), publicURL); c != nil || err != nil {
		t.Errorf("challenge: got %v, %v; want none without passkeys", c, err)
	}
	laptop := h.addPasskey(v, " Laptop ")
	h.advance(time.Second)
	phone := h.addPasskey(v, "Phone")
	if c := must.Get(h.signIn.Passkeys.Begin(h.ctx, v, publicURL))(t); len(laptop.asked(c.Options).Exclude) != 2 {
		t.Errorf("got %s, want the two there are left out", c.Options)
	}
	for _, d := range []*device{laptop, phone, laptop} {
		half := h.half()
		c := h.ask(half)
		if a := d.asked(c.Options); a.RPID != "weir.example.com" || len(a.Allow) != 2 {
			t.Errorf("got %s, want a challenge for both passkeys", c.Options)
		}
		whole := must.Get(h.signIn.Passkeys.Give(h.ctx, half.Reveal(), publicURL, c.State, d.sign(c.Options), home))(t)
		if got := h.visitor(whole); got.Session().Method != people.ByPassword {
			t.Errorf("got %+v, want a session by password", got.Session())
		}
		h.gone(half, "it is used up")
	}
	all := must.Get(h.signIn.Passkeys.Of(h.ctx, v))(t)
	if len(all) != 2 || all[0].Name != "Laptop" || all[0].Used == nil || !all[0].Used.Equal(h.now) {
		t.Fatalf("got %+v, want Laptop and Phone, used now", all)
	}
	must.Do(t, h.signIn.Passkeys.Remove(h.ctx, v, all[0].ID, home))
	wantCode(t, "remove it twice", h.signIn.Passkeys.Remove(h.ctx, v, all[0].ID, home), llm.CodeNotFound)
	half := h.half()
	c := h.ask(half)
	_, err := h.signIn.Passkeys.Give(h.ctx, half.Reveal(), publicURL, c.State, laptop.sign(c.Options), home)
	wantCode(t, "a passkey that was removed", err, llm.CodeInvalidRequest)
	must.Do(t, h.signIn.Factors.Remove(h.ctx, v, secret(goodPassword), home))
	if all := must.Get(h.signIn.Passkeys.Of(h.ctx, v))(t); len(all) != 0 {
		t.Errorf("without a second factor: got %+v, want no passkey", all)
	}
	if log := h.actions(); strings.Count(log, "passkey.added") != 2 || strings.Count(log, "passkey.removed") != 1 {
		t.Errorf("got %s, want two passkeys added and one removed", log)
	}
}

// TestPasskeyRefused tries invalid answers.
func TestPasskeyRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t, sealing)
	d := h.addPasskey(h.factored(), "Laptop")
	used := h.half()
	kept := h.ask(used)
	answer := d.sign(kept.Options)
	must.Get(h.signIn.Passkeys.Give(h.ctx, used.Reveal(), publicURL, kept.State, answer, home))(t)
	for what, give := range map[string]func(c *signin.Challenge) (origin, state, answer string){
		"an answer for another session":  func(c *signin.Challenge) (string, string, string) { return publicURL, c.State, answer },
		"a challenge of another session": func(*signin.Challenge) (string, string, string) { return publicURL, kept.State, answer },
		"a challenge of nobody's":        func(c *signin.Challenge) (string, string, string) { return publicURL, "x", d.sign(c.Options) },
		"a page of another host": func(c *signin.Challenge) (string, string, string) {
			return "https://evil.example", c.State, d.sign(c.Options)
		},
		"nothing": func(c *signin.Challenge) (string, string, string) { return publicURL, c.State, "" },
		"what is too long": func(c *signin.Challenge) (string, string, string) {
			return publicURL, c.State, strings.Repeat("[", 1<<20)
		},
		"a device that the user has not": func(c *signin.Challenge) (string, string, string) {
			return publicURL, c.State, newDevice(t).sign(c.Options)
		},
		"a signature of another device": func(c *signin.Challenge) (string, string, string) {
			other := newDevice(t)
			other.id, other.signed = d.id, 100
			return publicURL, c.State, other.sign(c.Options)
		},
		"a browser that is at another host": func(c *signin.Challenge) (string, string, string) {
			d.origin = "https://weir.example.com.evil.example"
			defer func() { d.origin = "" }()
			return publicURL, c.State, d.sign(c.Options)
		},
		"a copy that has signed less often": func(c *signin.Challenge) (string, string, string) {
			copied := *d
			copied.signed = 0
			return publicURL, c.State, copied.sign(c.Options)
		},
	} {
		h.advance(24 * time.Hour) // after all throttles
		half := h.half()
		origin, state, answer := give(h.ask(half))
		_, err := h.signIn.Passkeys.Give(h.ctx, half.Reveal(), origin, state, answer, home)
		wantCode(t, what, err, llm.CodeInvalidRequest)
		h.gone(half, what)
	}
	late := h.half()
	c := h.ask(late)
	h.advance(10 * time.Minute)
	_, err := h.signIn.Passkeys.Give(h.ctx, late.Reveal(), publicURL, c.State, d.sign(c.Options), home)
	wantCode(t, "after ten minutes", err, llm.CodeAuthentication)
	for range 7 {
		half := h.half()
		_, err = h.signIn.Passkeys.Give(h.ctx, half.Reveal(), publicURL, h.ask(half).State, "{}", stranger)
	}
	wantCode(t, "many wrong answers", err, llm.CodeRateLimited)
}

// TestPasskeysAdded checks who may add which passkey.
func TestPasskeysAdded(t *testing.T) {
	t.Parallel()
	h := newFixture(t, sealing)
	other := newFixture(t, sealing)
	_, err := other.signIn.Passkeys.Begin(other.ctx, other.setUp("eve@example.com"), publicURL)
	wantCode(t, "without a second factor", err, llm.CodeInvalidRequest)
	v := h.factored()
	for _, origin := range []string{"http://192.0.2.1:8080", "http://[::1]:8080", "ftp://weir.example.com", ":"} {
		if h.signIn.Passkeys.Offered(v, origin) {
			t.Errorf("%s: passkeys are offered", origin)
		}
	}
	d := newDevice(t)
	add := func(state, answer, name, password string) error {
		return h.signIn.Passkeys.Add(h.ctx, v, publicURL, state, answer, name, secret(password), home)
	}
	c := must.Get(h.signIn.Passkeys.Begin(h.ctx, v, publicURL))(t)
	good := d.create(c.Options)
	for what, err := range map[string]error{
		"no name":               add(c.State, good, " ", goodPassword),
		"a long name":           add(c.State, good, strings.Repeat("x", 65), goodPassword),
		"a wrong password":      add(c.State, good, "Laptop", "wrong"),
		"no answer":             add(c.State, "", "Laptop", goodPassword),
		"an answer to a former": add(must.Get(h.signIn.Passkeys.Begin(h.ctx, v, publicURL))(t).State, good, "Laptop", goodPassword),
		"no challenge":          add("", good, "Laptop", goodPassword),
	} {
		wantCode(t, what, err, llm.CodeInvalidRequest)
	}
	must.Do(t, add(c.State, good, "Laptop", goodPassword))
	wantCode(t, "the same twice", add(c.State, good, "Laptop", goodPassword), llm.CodeInvalidRequest)
	h.advance(10 * time.Minute)
	wantCode(t, "after ten minutes", add(c.State, newDevice(t).create(c.Options), "Laptop", goodPassword), llm.CodeInvalidRequest)
	for i := range 9 {
		h.addPasskey(v, fmt.Sprint(i))
	}
	c = must.Get(h.signIn.Passkeys.Begin(h.ctx, v, publicURL))(t)
	wantCode(t, "the eleventh", add(c.State, newDevice(t).create(c.Options), "Laptop", goodPassword), llm.CodeInvalidRequest)
	if u := must.Get(url.Parse(publicURL))(t); d.asked(c.Options).RP.ID != u.Hostname() {
		t.Errorf("got %s, want passkeys of %s", c.Options, u.Hostname())
	}
}
