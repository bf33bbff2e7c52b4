package oauth

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"weir/internal/llm"
)

const (
	// registeredFor is how long a program may begin an authorization with the id of its registration.
	registeredFor = 365 * 24 * time.Hour
	// maxRegistered bounds the description of a registered program, in bytes: its id contains it.
	maxRegistered = 1000
	sealedAbout   = "oauth client"
	sealedPrefix  = "v1." // of texts that seal.Ring has encrypted
)

// registered is the content of a registered program's id. The id is the registration: nothing is stored (RFC 7591,
// appendix A.5.2).
type registered struct {
	metadata

	Until int64 `json:"until"` // Unix time
}

// register returns the id of a program.
func (s *Server) register(ctx context.Context, m *metadata) (Client, error) {
	m.Method, m.ClientID, m.Name = "", "", cleanName(m.Name)
	if err := m.check(); err != nil {
		return Client{}, err
	}
	text, err := json.Marshal(registered{*m, s.o.Now().Add(registeredFor).Unix()})
	if err != nil {
		return Client{}, err
	}
	if len(text) > maxRegistered {
		return Client{}, reason("the name and the redirect_uris are too long")
	}
	id, err := s.o.Seal(ctx, text, sealedAbout)
	return Client{ID: id, Name: m.Name, Redirects: m.Redirects}, err
}

// client returns the program with that id, for a person. The error is a *llm.Error.
func (s *Server) client(ctx context.Context, person, id string) (Client, error) {
	if len(id) > maxClientID {
		return Client{}, llm.Invalidf("client_id", "The client_id has more than %d bytes.", maxClientID)
	}
	if !strings.HasPrefix(id, sealedPrefix) {
		return s.clients.get(ctx, person, id)
	}
	text, err := s.o.Open(id, sealedAbout)
	var r registered
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || s.o.Now().Unix() >= r.Until {
		return Client{}, &llm.Error{Code: llm.CodeInvalidRequest, Param: "client_id", Err: err, Message: "The " +
			"registration of the program has expired or is unknown here. Sign out in the program, and begin anew."}
	}
	return Client{ID: id, Name: r.Name, Redirects: r.Redirects}, nil
}
