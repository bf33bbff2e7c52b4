package realtime

import (
	"errors"
	"net/url"
	"strings"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/ratelimit"
	"weir/internal/rawjson"
	"weir/internal/route"
	"weir/internal/websocket"
)

// begin authenticates a request for a session, connects to a provider, and then accepts the client's WebSocket. So all
// mistakes and outages are answered by an HTTP status.
func (n *newcomer) begin(x *session) (err error) {
	if x.preset, err = n.enter(&x.meter); err != nil {
		return err
	}
	targets, err := n.targets(x)
	if err != nil {
		return err
	}
	err = n.connect(&x.meter, targets, func(t *route.Target) error { return n.connectTo(x, t) })
	if err != nil {
		return err
	}
	x.client, err = websocket.Accept(n.w, n.r, bounds(), protocol, n.keyProtocol)
	if err != nil {
		x.peer.Abort()
		x.clock.stop(ledger.OutcomeClientGone)
	}
	return err
}

// enter authenticates a request for a session and takes a place for it. It returns the settings of its client secret;
// nil for none.
func (n *newcomer) enter(x *meter) (preset []byte, err error) {
	if err := n.held.Enter(); err != nil {
		return nil, err
	}
	if preset, err = n.identify(n.r.Context(), x); err != nil {
		return nil, err
	}
	if err := n.server.o.Refuse(n.r); err != nil {
		return nil, err
	}
	if n.handshake = websocket.Check(n.r); n.handshake != nil {
		_, reason, _ := strings.Cut(strings.TrimPrefix(n.handshake.Error(), "websocket: "), ": ")
		return nil, llm.Errorf(llm.CodeInvalidRequest, "This address needs a WebSocket: %s.", reason)
	}
	if err := n.held.TakeShare(x.who.Account().ID); err != nil {
		return nil, err
	}
	return preset, n.attribute(x)
}

// attribute reads the tags of a session's responses.
func (n *newcomer) attribute(x *meter) (err error) {
	if lines := n.r.Header[llm.TagsHeader]; len(lines) > 0 {
		if x.about.Tags, err = llm.ParseTags(lines); err != nil {
			return err
		}
	}
	tags := x.who.Key().Tags
	for _, t := range tags.Defaults {
		if _, there := x.about.Tag(t.Name); !there {
			x.about.Put(t)
		}
	}
	for _, name := range tags.Required {
		if _, ok := x.about.Tag(name); !ok {
			return llm.Invalidf(llm.TagsHeader, "This API key requires the tag %q on every session. Send it, for "+
				"example as %s: %s=value.", name, llm.TagsHeader, name)
		}
	}
	return nil
}

// transcriber is the model that selects the provider of a session that only transcribes, whose address has no model.
const transcriber = "gpt-4o-transcribe"

// targets returns the targets of the model in the address.
func (n *newcomer) targets(x *session) ([]route.Target, error) {
	query, err := url.ParseQuery(n.r.URL.RawQuery)
	if err != nil {
		return nil, llm.Invalid("model", "The query of the address is not valid. Send ?model=NAME.")
	}
	for name, values := range query {
		if len(values) > 1 {
			return nil, llm.Invalidf(name, "The query has %q twice. Send it once.", name)
		}
	}
	switch {
	case query.Has("call_id"):
		return nil, n.server.notServed()
	case query.Get("intent") == kindTranscription && !query.Has("model"):
		x.asked = transcriber
	case query.Has("intent") && query.Get("intent") != kindTranscription:
		return nil, llm.Invalid("intent", `The only intent is "transcription".`)
	case query.Has("deployment"): // Azure's word
		x.asked = query.Get("deployment")
	default:
		x.asked = query.Get("model")
	}
	if x.version = query.Get("api-version"); len(x.version) > maxVersion {
		return nil, llm.Invalidf("api-version", "The api-version exceeds %d bytes.", maxVersion)
	}
	if tied := rawjson.Text(rawjson.Get(x.preset, "model")); tied != "" {
		if x.asked != "" && x.asked != tied {
			return nil, llm.Invalidf("model", "The client secret is for the model %q. Leave the model out.", tied)
		}
		x.asked = tied
	}
	if x.asked == "" || len(x.asked) > 256 {
		return nil, llm.Invalid("model", "The address has no model. Send ?model=NAME, in at most 256 bytes.")
	}
	return n.resolve(&x.meter)
}

// resolve returns the targets of the session's model, all of which the key may use.
func (n *newcomer) resolve(x *meter) ([]route.Target, error) {
	table := n.server.o.Router.Table()
	targets, err := table.Targets(nil, x.asked, n.dialect.Vendor)
	if err != nil {
		if denied := x.who.MayUse(x.asked); denied != nil {
			return nil, denied
		}
		return nil, err
	}
	x.table = table
	for i := range targets {
		if err := mayUse(x.who, x.asked, &targets[i]); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// mayUse checks that a key may use a model, by the name that the client sent or by the target's.
func mayUse(who *account.Principal, asked string, target *route.Target) error {
	denied := who.MayUse(asked)
	if denied == nil || who.MayUse(target.FullName()) == nil {
		return nil
	}
	return denied
}

// connected is the permission to open a WebSocket, which costs nothing: each response.create needs a hold of its own.
type connected struct{}

// Use implements provider.Permit.
func (connected) Use() error { return nil }

// connect opens the WebSocket to the first target that can be reached and paid, by to.
func (n *newcomer) connect(x *meter, targets []route.Target, to func(*route.Target) error) error {
	plan := x.table.Plan(route.Caller{Account: x.who.Account().ID}, targets, n.server.o.Ledger.Now())
	defer plan.Release()
	first := error(nil)
	for {
		err := to(plan.Target())
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
		if f, ok := errors.AsType[*provider.Failure](err); ok {
			plan.Failed(f, n.server.o.Ledger.Now())
		}
		if n.r.Context().Err() != nil || !plan.Onward(n.server.o.Ledger.Now()) {
			return first
		}
	}
}

func (n *newcomer) connectTo(x *session, target *route.Target) (err error) {
	p := target.Provider
	d := p.Speaking(n.server.o.Dialect, target.Model)
	if d.Name != n.server.o.Dialect.Name {
		return llm.Invalidf("model", "The provider %q has no Realtime API in OpenAI's form. Choose a model of another "+
			"provider.", p.Name())
	}
	x.aim(target)
	x.price = x.clock.aim(x.price)
	x.input = newInput(x.table.Context(target))
	if err := n.checkRoom(x); err != nil {
		return err
	}
	address, dated, header := n.address(x, target)
	if x.clock.on {
		if err := x.clock.start(n.r.Context()); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				x.clock.refused(err)
			}
		}()
	}
	x.peer, err = p.Connect(n.r.Context(), &provider.Connecting{
		Dialect: d, Op: llm.OpChat, Model: target.Model, Target: address, Dated: dated, AttemptID: x.id.String(),
		Header: header, Key: target.Key, Bounds: bounds(), Hold: connected{},
	})
	return err
}

// maxVersion bounds an api-version in bytes.
const maxVersion = 64

// address returns the path and query of a session at its provider; dated is that of Azure for the API's beta, which an
// api-version selects. Others have the beta by a header.
func (n *newcomer) address(x *session, target *route.Target) (path, dated string, header []dialect.Header) {
	const beta, isBeta = "OpenAI-Beta", "realtime=v1"
	name := url.QueryEscape(target.Model)
	if x.version != "" {
		dated = "/realtime?api-version=" + url.QueryEscape(x.version) + "&deployment=" + name
	}
	if x.version != "" || n.r.Header.Get(beta) == isBeta {
		header = append(header, dialect.Header{Name: beta, Value: isBeta})
	}
	if x.asked == transcriber && n.r.URL.Query().Get("model") == "" {
		return "/realtime?intent=" + kindTranscription, dated, header
	}
	return "/realtime?model=" + name, dated, header
}

// aim sets the target of a session.
func (m *meter) aim(target *route.Target) {
	m.target, m.price = target, m.table.Price(target, m.began)
	m.terms = m.who.Terms(target.Provider.Name(), target.Model, m.began)
}

// checkRoom returns an error if the limits or budgets have no room for the shortest response.
func (n *newcomer) checkRoom(x *session) error {
	if err := n.server.o.Limits.Look(ratelimit.CallerOf(x.who), 1); err != nil {
		return err
	}
	budgets := x.who.Budgets(&x.about)
	if len(budgets) == 0 || x.asked == transcriber || x.clock.on { // its first minute is reserved
		return nil
	}
	demand := x.turn(aroundTurn, leastOutput, leastOutput).Demand()
	reservation, err := x.reserve(n.r.Context(), &demand, x.target.Model, budgets, x.began)
	reservation.Release()
	return err
}
