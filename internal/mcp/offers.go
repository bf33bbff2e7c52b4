package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/rawjson"
)

// Kind is a kind of things that a server offers beside its tools.
type Kind string

// The kinds.
const (
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates" // of the URIs of resources
)

// Method returns the method that lists the things.
func (k Kind) Method() string {
	if k == Templates {
		return "resources/templates/list"
	}
	return string(k) + "/list"
}

// key returns the member of a definition that identifies the thing.
func (k Kind) key() string {
	switch k {
	case Resources:
		return "uri"
	case Templates:
		return "uriTemplate"
	case Prompts:
	}
	return "name"
}

// Methods that use what a server offers beside its tools.
const (
	MethodPrompt   = "prompts/get"
	MethodResource = "resources/read"
	MethodComplete = "completion/complete"
)

// IsCall reports whether a method makes the server do something for its caller: each such request has a row in the
// ledger.
func IsCall(method string) bool {
	return slices.Contains([]string{MethodCall, MethodPrompt, MethodResource, MethodComplete}, method)
}

// maxOfferName bounds the name or URI of a prompt or resource, in bytes.
const maxOfferName = 1 << 10

// Offer is a prompt, a resource or a template of URIs.
type Offer struct {
	Name       string          // of a prompt; the URI or template of the others
	Definition json.RawMessage // as the server describes it
}

// Offers is a list of a server's offers of one kind, in the server's order.
type Offers struct {
	List []Offer
	TTL  time.Duration // how long the list may be cached; 0 if the server does not say
}

// ListOffers reads all pages of a list. A server without the method has none. Offers with a name that is empty, long or
// has invisible characters are left out.
func (c *Client) ListOffers(ctx context.Context, kind Kind) (*Offers, error) {
	all, seen := &Offers{TTL: maxTTL}, map[string]bool{}
	err := c.pages(ctx, kind.Method(), "", func(page []byte) error {
		ttl, _ := rawjson.AsInt(rawjson.Get(page, "ttlMs")) // 0 if absent
		all.TTL = min(all.TTL, time.Duration(min(max(0, ttl), maxTTL.Milliseconds()))*time.Millisecond)
		for _, text := range rawjson.Elements(rawjson.Get(page, string(kind))) {
			name := rawjson.Text(rawjson.Get(text, kind.key()))
			if name == "" || len(name) > maxOfferName || !utf8.ValidString(name) || len(text) > MaxTool ||
				strings.ContainsFunc(name, isUnseen) || seen[name] {
				continue
			}
			if seen[name] = true; len(all.List) == MaxTools {
				return ErrLong
			}
			all.List = append(all.List, Offer{name, bytes.Clone(text)})
		}
		return nil
	})
	if isUnknownMethod(err) {
		return &Offers{}, nil
	}
	return all, err
}

func isUnknownMethod(err error) bool {
	rpc, ok := errors.AsType[*RPCError](err)
	return ok && rpc.Code == CodeMethod
}

// pages reads the pages of a list within the bounds.
func (c *Client) pages(ctx context.Context, method, session string, add func(page []byte) error) error {
	size, cursor := 0, []byte(nil)
	for range maxPages {
		r := &Request{Method: method, Session: session}
		if cursor != nil {
			r.Params = rawjson.AppendMember(nil, "cursor", cursor)
			r.Params = append(r.Params, '}')
		}
		page, err := c.Do(ctx, r)
		if err != nil {
			return err
		}
		if size += len(page); size > maxListed {
			return c.failure(ctx, true, ErrLong)
		}
		if err := add(page); err != nil {
			return c.failure(ctx, true, err)
		}
		next := rawjson.Get(page, "nextCursor")
		if rawjson.KindOf(next) != rawjson.String || bytes.Equal(next, cursor) {
			return nil
		}
		cursor = next
	}
	return c.failure(ctx, true, ErrLong)
}
