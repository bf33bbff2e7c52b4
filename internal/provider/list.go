package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	listFor = 10 * time.Second // for one list of models, from dialling to the end of the answer
	// maxListed bounds the models read from a list, and maxListedName the length of a name in bytes.
	maxListed     = 5000
	maxListedName = 256
	// keysListed bounds the credentials that are tried.
	keysListed = 16
)

// ErrNoList means that the wire format has no list of models.
var ErrNoList = errors.New("the wire format has no list of models")

// Listed is a provider's list of its models.
type Listed struct {
	Names   []string // the provider's names, sorted
	BaseURL string   // address of the list, which may differ from the provider's
	Took    time.Duration
}

// ListModels requests the provider's list of models with each of its credentials. The request is a GET, which is not
// charged, so that it needs no hold in the ledger. If the provider's address has no list, addresses with and without a
// version are tried. The error is ErrNoList or a *Failure; key is the credential that it concerns.
func (p *Provider) ListModels(ctx context.Context) (l Listed, key int, err error) {
	if p.opts.Dialect.ListPath == "" {
		return l, 0, ErrNoList
	}
	for key = range min(p.Keys(), keysListed) {
		if l, err = p.listAt(ctx, p.prefix, key); err != nil {
			break
		}
	}
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.Kind != KindProtocol && f.Status != http.StatusNotFound && f.Status != http.StatusMethodNotAllowed {
		return l, key, err
	}
	for _, prefix := range otherPrefixes(p.prefix) {
		if found, otherErr := p.listAt(ctx, prefix, key); otherErr == nil {
			return found, key, nil
		}
	}
	return l, key, err
}

// otherPrefixes returns other paths at which the API may be.
func otherPrefixes(prefix string) (all []string) {
	for _, version := range []string{"/v1", "/v1beta"} {
		if base, ok := strings.CutSuffix(prefix, version); ok {
			return []string{base}
		}
		all = append(all, prefix+version)
	}
	return append(all, prefix+"/api/v1")
}

func (p *Provider) listAt(ctx context.Context, prefix string, key int) (l Listed, err error) {
	began := p.opts.Now()
	c := Call{Dialect: p.opts.Dialect, Op: llm.OpChat, Key: key}
	body, f := p.question(ctx, &c, http.MethodGet, prefix+p.opts.Dialect.ListPath, bounds{listFor, maxAsked})
	if f != nil {
		return l, f
	}
	l = Listed{BaseURL: p.origin + prefix, Took: p.opts.Now().Sub(began)}
	if l.Names, err = modelNames(body); err != nil {
		return l, &Failure{Kind: KindProtocol, Err: &llm.Error{
			Code: llm.CodeProviderError, Err: err,
			Message: fmt.Sprintf("The provider %s returned no list of models at this address.", p.opts.Name),
		}, sent: true}
	}
	return l, nil
}

// modelNames returns the names in a list of models: OpenAI's data with ids, which some send without the surrounding
// object, or models with names, which in Gemini's format have a path prefix.
func modelNames(body []byte) (names []string, err error) {
	list := body
	if err := rawjson.Validate(body, maxListDepth); err != nil {
		return nil, err
	}
	if rawjson.KindOf(body) == rawjson.Object {
		if list = rawjson.Get(body, "data"); rawjson.KindOf(list) != rawjson.Array {
			list = rawjson.Get(body, "models")
		}
	}
	if rawjson.KindOf(list) != rawjson.Array {
		return nil, errors.New("the answer has no list")
	}
	for _, e := range rawjson.Elements(list) {
		name, ok := rawjson.AsString(rawjson.Get(e, "id"))
		if !ok {
			name, ok = rawjson.AsString(rawjson.Get(e, "name"))
		}
		name = strings.TrimPrefix(name, "models/")
		if ok && name != "" && len(name) <= maxListedName && llm.IsText(name) && len(names) < maxListed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// maxListDepth bounds the nesting of a list.
const maxListDepth = 64

// LastFour returns the last four characters of a long key; empty for a short one or none.
func (p *Provider) LastFour(key int) string {
	const shown, long = 4, 16
	if key >= len(p.opts.APIKeys) {
		return ""
	}
	text := p.opts.APIKeys[key].Reveal()
	if len(text) < long {
		return ""
	}
	return text[len(text)-shown:]
}
