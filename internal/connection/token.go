package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/mcp"
)

const (
	// lookEvery is how long a token is used before its connection is read again: it may have been removed.
	lookEvery = 5 * time.Second
	// early is how long before its end a token is renewed.
	early = 30 * time.Second
	// claimFor bounds a renewal, and waitFor the wait for that of another node.
	claimFor, waitFor, pollEvery = 20 * time.Second, 15 * time.Second, 200 * time.Millisecond
	maxHeld                      = 10_000
)

// held is a connection in memory.
type held struct {
	turn    chan struct{}
	tokens  *tokens
	read    time.Time
	refused string // the access token that the server has refused
}

// source gives the access tokens of a server. It implements mcp.TokenSource.
type source struct {
	*Service
	of *Server
}

// Tokens returns the access tokens of a server.
func (s *Service) Tokens(of *Server) mcp.TokenSource { return &source{s, of} }

func (s *Service) held(server, person string) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.known[holder{server, person}]
	if h == nil {
		if len(s.known) >= maxHeld {
			clear(s.known)
		}
		h = &held{turn: make(chan struct{}, 1)}
		s.known[holder{server, person}] = h
	}
	return h
}

// Forget drops a connection of a user, or of the installation, from memory, after it was changed.
func (s *Service) Forget(server, who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.known, func(h holder, _ *held) bool {
		user, _, _ := strings.Cut(h.person, " ")
		return h.server == server && user == who
	})
}

// Drop implements mcp.TokenSource.
func (s *source) Drop(person, token string) {
	h := s.held(s.of.Name, person)
	h.turn <- struct{}{}
	h.refused, h.read = token, time.Time{}
	<-h.turn
}

// Token implements mcp.TokenSource.
func (s *source) Token(ctx context.Context, person string) (string, error) {
	h := s.held(s.of.Name, person)
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return "", s.unreached(ctx.Err())
	}
	defer func() { <-h.turn }()
	now := s.o.Now()
	if h.tokens != nil && s.isGood(h, h.tokens) && now.Sub(h.read) < lookEvery {
		return h.tokens.Access, nil
	}
	// The tokens are for all requests of the person, also if this one leaves.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitFor)
	defer cancel()
	t, err := s.current(ctx, h, person)
	h.tokens = t
	if err != nil {
		return "", err
	}
	h.read = now
	return t.Access, nil
}

// isGood reports whether an access token can be used.
func (s *source) isGood(h *held, t *tokens) bool {
	return t.Access != h.refused && (t.Expires.IsZero() || s.o.Now().Add(early).Before(t.Expires))
}

// current returns the stored tokens, which it renews if they have expired or were refused. One node renews them.
func (s *source) current(ctx context.Context, h *held, person string) (*tokens, error) {
	who, account, _ := strings.Cut(person, " ")
	for {
		row, err := s.o.Store.Connection(ctx, s.of.Name, who, account)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && row.Resource != s.of.URL,
			err == nil && s.of.Issuer != "" && row.Issuer != s.of.Issuer:
			return nil, s.missing()
		case err != nil:
			return nil, s.unreached(err)
		}
		t, err := s.open(&row)
		switch {
		case err != nil:
			return nil, s.unreached(err)
		case s.isGood(h, t):
			return t, nil
		case t.Refresh == "":
			return nil, s.missing()
		}
		claimed, err := s.o.Store.Claim(ctx, &row, s.o.Now().Add(claimFor))
		if err != nil {
			return nil, s.unreached(err)
		}
		if claimed {
			return s.renewed(ctx, &row, t)
		}
		select {
		case <-ctx.Done():
			return nil, s.unreached(ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// renewed renews the tokens of a claimed connection. A refused refresh token ends the connection.
func (s *source) renewed(ctx context.Context, row *Row, t *tokens) (*tokens, error) {
	c, err := s.client(s.of)
	if err != nil {
		return nil, s.unreached(err)
	}
	next, err := s.renew(ctx, c, t)
	sealed := row.Sealed // an unchanged row ends the claim
	switch {
	case err == nil:
		if sealed, err = s.sealed(ctx, row.Server, row.Who, next); err != nil {
			return nil, s.unreached(err)
		}
	case isRefused(err):
		s.o.Log.Warn("an MCP server's authorization server has ended a connection", "server", row.Server,
			"user", row.Who)
		sealed = ""
	}
	if e := s.o.Store.Renewed(ctx, row, sealed); e != nil {
		return nil, s.unreached(e)
	}
	switch {
	case sealed == "":
		return nil, s.missing()
	case err != nil:
		return nil, s.unreached(err)
	}
	return next, nil
}

// missing returns the error of a caller that has to connect first.
func (s *source) missing() error {
	if !s.of.PerPerson {
		return &mcp.Failure{Err: llm.Errorf(llm.CodeForbidden, "Nobody has connected this gateway to the MCP server "+
			"%q. Ask an operator to do so: weir mcp connect %s.", s.of.Name, s.of.Name)}
	}
	return s.elicit(fmt.Sprintf("You are not connected to the MCP server %q.", s.of.Name))
}

// elicit returns the error of a person who has to connect, for a reason.
func (s *source) elicit(why string) error {
	address := s.o.PublicURL + Path + "#" + s.of.Name
	text := fmt.Sprintf("%s Connect at %s, then try again.", why, address)
	data, _ := json.Marshal(map[string]any{"elicitations": []any{map[string]any{ // of texts
		"mode": "url", "elicitationId": s.of.Name, "url": address, "message": text,
	}}})
	return &mcp.RPCError{Code: mcp.CodeElicitation, Message: text, Data: data}
}

// unreached returns the error of a token that cannot be had now.
func (s *source) unreached(err error) error {
	return &mcp.Failure{Err: &llm.Error{
		Code: llm.CodeProviderUnavailable, Err: err,
		Message: fmt.Sprintf("Weir has no access token for the MCP server %q now. Try again later.", s.of.Name),
	}}
}
