package connection

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"weir/internal/llm"
	"weir/internal/mcp"
)

// maxScopes bounds the scopes of a connection, and maxScope the length of each, in bytes.
const (
	maxScopes = 100
	maxScope  = 200
)

// Widen implements mcp.TokenSource: the scopes are stored with the connection, and the next time that the person
// connects it is for these, too.
func (s *source) Widen(ctx context.Context, person string, challenges []string) error {
	scopes := scopesWanted(challenges)
	if len(scopes) == 0 {
		return nil
	}
	if len(s.of.Scopes) > 0 {
		return s.askForSetting(scopes)
	}
	who, account, _ := strings.Cut(person, " ")
	row, err := s.o.Store.Connection(ctx, s.of.Name, who, account)
	if err != nil {
		return nil //nolint:nilerr // the connection has ended meanwhile: the refusal stays
	}
	t, err := s.open(&row)
	if err != nil {
		return nil //nolint:nilerr // likewise
	}
	scopes = slices.DeleteFunc(scopes, func(scope string) bool { return slices.Contains(t.Scopes, scope) })
	if len(scopes) == 0 || len(t.Scopes)+len(scopes) > maxScopes {
		return nil // the person has consented to all of them already
	}
	if t.Wanted = union(t.Wanted, scopes); len(t.Wanted) <= maxScopes {
		s.storeWanted(ctx, &row, t)
	}
	if !s.of.PerPerson {
		return s.askOperator(scopes, "Ask an operator to connect it again: weir mcp connect "+s.of.Name+".")
	}
	return s.elicit(s.sayWanted(scopes))
}

// sayWanted says which scopes a server wants.
func (s *source) sayWanted(scopes []string) string {
	return fmt.Sprintf("The MCP server %q wants more access for this: %s.", s.of.Name, strings.Join(scopes, " "))
}

// askOperator returns the error of scopes for which an operator has to do something.
func (s *source) askOperator(scopes []string, remedy string) error {
	e := &llm.Error{Code: llm.CodeForbidden, Message: s.sayWanted(scopes) + " " + remedy}
	return &mcp.Failure{Sent: true, Status: http.StatusForbidden, Err: e}
}

// scopesWanted returns the scopes that a refusal names as missing (RFC 6750, section 3.1).
func scopesWanted(challenges []string) (scopes []string) {
	all, err := oauthex.ParseWWWAuthenticate(challenges)
	if err != nil {
		return nil // it names none
	}
	for _, one := range all {
		if one.Scheme == "bearer" && one.Params["error"] == "insufficient_scope" {
			scopes = union(scopes, strings.Fields(one.Params["scope"]))
		}
	}
	return slices.DeleteFunc(scopes, func(scope string) bool { return !isScope(scope) })
}

// storeWanted stores the wanted scopes. It does nothing while another node renews the tokens: the server will ask for
// the scopes again.
func (s *source) storeWanted(ctx context.Context, row *Row, t *tokens) {
	sealed, err := s.sealed(ctx, row.Server, row.Who, t)
	if err != nil {
		return
	}
	claimed, err := s.o.Store.Claim(ctx, row, s.o.Now().Add(claimFor))
	if err == nil && claimed {
		err = s.o.Store.Renewed(ctx, row, sealed)
	}
	if err != nil {
		s.o.Log.Warn("the scopes that an MCP server wants cannot be stored", "server", s.of.Name, "err", err)
	}
}

// askForSetting returns the error of scopes that the operator has not set.
func (s *source) askForSetting(scopes []string) error {
	scopes = slices.DeleteFunc(scopes, func(scope string) bool { return slices.Contains(s.of.Scopes, scope) })
	if len(scopes) == 0 {
		return nil
	}
	return s.askOperator(scopes, "Ask an operator to add this to scopes in the server's entry of the configuration.")
}

// isScope reports whether a text is a scope that people may read (RFC 6749, section 3.3).
func isScope(text string) bool {
	return text != "" && len(text) <= maxScope && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\'
	})
}
