package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// secretPrefix begins a client secret, and secretAbout names what is encrypted in it.
	secretPrefix, secretAbout = "ek_", "realtime client secret"
	// The bounds of a client secret's life in seconds are those of openai-openapi 2.3.0.
	leastLife, usualLife, mostLife = 10, 600, 7200
	// maxPreset bounds the settings in a client secret in bytes, because it travels in a header.
	maxPreset = 4 << 10
	// maxSecretBody bounds a request for a client secret in bytes.
	maxSecretBody = 64 << 10
)

// clientSecret is the content of a client secret: a key that opens sessions until a time, with settings. It is
// encrypted with the installation's master key, and not stored.
type clientSecret struct {
	Hash    string          `json:"key"`
	Until   int64           `json:"until"` // Unix seconds
	Session json.RawMessage `json:"session,omitempty"`
}

// openSecret returns the hash of a client secret's key, and its settings.
func (s *Server) openSecret(token string) (hash account.Hash, session []byte, err error) {
	refused := llm.Errorf(llm.CodeAuthentication, "The client secret is not valid or has expired. Create another one.")
	text, err := s.o.Open(strings.TrimPrefix(token, secretPrefix), secretAbout)
	if err != nil {
		return hash, nil, refused
	}
	var secret clientSecret
	if err := json.Unmarshal(text, &secret); err != nil || s.now().Unix() >= secret.Until {
		return hash, nil, refused
	}
	hash, err = account.ParseHash(secret.Hash)
	return hash, secret.Session, err
}

// CreateSecret serves POST /v1/realtime/client_secrets: a secret for a browser, which opens sessions for the caller's
// key for a while.
func (s *Server) CreateSecret() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.newcomer(s.o.Dialect, w, r)
		x := &meter{server: s, id: s.o.Ledger.NewID(), began: s.now()}
		w.Header().Set("X-Request-Id", x.id.String())
		defer n.leave()
		body, err := n.createSecret(x)
		if err != nil {
			n.fail(x, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
}

// createSecret returns the answer to a request for a client secret.
func (n *newcomer) createSecret(x *meter) ([]byte, error) {
	if err := n.held.Enter(); err != nil {
		return nil, err
	}
	token, err := account.Token(n.r.Header, n.dialect.KeyHeaders...)
	if err != nil {
		return nil, err
	}
	if x.who, err = n.server.authenticate(n.r.Context(), token); err != nil {
		return nil, err
	}
	if err := n.held.TakeShare(x.who.Account().ID); err != nil { // its body may come slowly
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(n.w, n.r.Body, maxSecretBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, llm.Errorf(llm.CodeRequestTooLarge, "The body exceeds %d bytes.", maxSecretBody)
	}
	if err != nil {
		return nil, llm.Invalid("", "The request body ended early or did not arrive in time. Send the whole body.")
	}
	session, life, err := n.readSecret(x, body)
	if err != nil {
		return nil, err
	}
	return n.seal(x, token, session, life)
}

// readSecret reads the settings and the life of a client secret.
func (n *newcomer) readSecret(x *meter, body []byte) (session []byte, life int64, err error) {
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := rawjson.Validate(body, maxDepth); err != nil || rawjson.KindOf(body) != rawjson.Object {
		return nil, 0, llm.Invalid("", "The body is not a JSON object. Send one with expires_after and session.")
	}
	if name, twice := rawjson.Repeated(body); twice {
		return nil, 0, llm.Invalidf(name, "The body has the field %q twice in one object. Send it once.", name)
	}
	life = usualLife
	if v := rawjson.Get(body, "expires_after", "seconds"); rawjson.Present(v) {
		var ok bool
		if life, ok = rawjson.AsInt(v); !ok || life < leastLife || life > mostLife {
			return nil, 0, llm.Invalidf("expires_after.seconds", "The seconds must be an integer from %d to %d.",
				leastLife, mostLife)
		}
	}
	session = rawjson.Get(body, "session")
	switch {
	case len(session) > maxPreset:
		return nil, 0, llm.Invalidf("session", "The settings exceed %d bytes. Send long instructions and tools by "+
			"session.update.", maxPreset)
	case rawjson.Present(session) && rawjson.KindOf(session) != rawjson.Object:
		return nil, 0, llm.Invalid("session", "The session must be an object.")
	}
	if err := settingsSpelled(session); err != nil {
		return nil, 0, err
	}
	if x.asked = rawjson.Text(rawjson.Get(session, "model")); x.asked != "" {
		_, err = n.resolve(x)
	}
	return session, life, err
}

// seal returns the answer with a client secret for the caller's key.
func (n *newcomer) seal(x *meter, token string, session []byte, life int64) ([]byte, error) {
	until := n.server.now().Add(time.Duration(life) * time.Second).Unix()
	text, err := json.Marshal(clientSecret{account.HashOf(token).String(), until, session})
	if err != nil {
		return nil, err
	}
	sealed, err := n.server.o.Seal(n.r.Context(), text, secretAbout)
	if err != nil {
		return nil, err
	}
	if session == nil {
		session = []byte(`{"type":"realtime"}`)
	}
	b := append([]byte(`{"value":`), quoted(secretPrefix+sealed)...)
	b = strconv.AppendInt(append(b, `,"expires_at":`...), until, 10)
	shown := set(set(session, quoted("sess_"+x.id.String()), "id"), quoted("realtime.session"), "object")
	return append(append(append(b, `,"session":`...), shown...), '}'), nil
}

// identify authenticates a request for a session by a key, or by a client secret, whose settings it returns.
func (n *newcomer) identify(ctx context.Context, x *meter) (preset []byte, err error) {
	token, err := n.tokenOf()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(token, secretPrefix) {
		if x.hash, preset, err = n.server.openSecret(token); err == nil {
			x.who, err = n.server.authenticateHash(ctx, x.hash)
		}
		return preset, err
	}
	x.hash = account.HashOf(token)
	x.who, err = n.server.authenticate(ctx, token)
	return nil, err
}

// notServed answers a request for a call over WebRTC or SIP.
func (s *Server) notServed() *llm.Error {
	return llm.Invalid("call_id", "Sessions over WebRTC and SIP are not served, nor is their side channel: their "+
		"sound does not pass the gateway, so their cost cannot be bounded. Connect by WebSocket, with ?model=NAME.")
}

// RefuseCalls serves the paths of calls over WebRTC and SIP, which are refused with the reason.
func (s *Server) RefuseCalls() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := &newcomer{server: s, dialect: s.o.Dialect, w: w, r: r}
		x := &meter{server: s, id: s.o.Ledger.NewID()}
		w.Header().Set("X-Request-Id", x.id.String())
		token, err := account.Token(r.Header, s.o.Dialect.KeyHeaders...)
		if err == nil {
			x.who, err = s.authenticate(r.Context(), token)
		}
		if err == nil {
			err = s.notServed()
		}
		n.fail(x, err)
	})
}

// authenticateHash returns the caller with the key of that hash, which may chat.
func (s *Server) authenticateHash(ctx context.Context, hash account.Hash) (*account.Principal, error) {
	who, err := s.o.Accounts.AuthenticateHash(ctx, hash)
	if err != nil {
		return nil, err
	}
	return who, who.May(account.Chat)
}
