package conversation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	inputField    = "input"
	previousField = "previous_response_id"
)

// Turn holds the data of a request that is needed when it is answered. It shares memory with the request's body.
type Turn struct {
	previous string
	link     string // stored name of the previous response
	input    []item
	keep     bool
	memory   *Memory // remembers the response, stored or not; nil for none
}

// Echo returns the fields that the answer repeats from the request: whether it is stored, and the previous response.
func (t *Turn) Echo() []llm.Field {
	echo := []llm.Field{{Name: "store", Value: strconv.AppendBool(nil, t.keep)}}
	if t.previous != "" {
		echo = append(echo, llm.Field{Name: previousField, Value: rawjson.AppendString(nil, t.previous)})
	}
	return echo
}

// IsStored reports whether the response to the request is stored.
func (t *Turn) IsStored() bool { return t.keep }

// Expand inserts the earlier conversation into a request's input: the previous response and all before it, and the
// items that the request refers to. The body must have passed the scan of its wire format. If there is nothing to
// insert, it is returned unchanged. All other members keep their bytes and their order; instructions of earlier
// requests are not included. Memory for stored responses is reserved before they are read, and memory for the new
// body as far as its size is known; a difference is reserved or returned before the body is written. Responses in the
// memory, which may be nil, are not read from the store. Errors are *llm.Error, or those of the store and of capacity.
func (s *Service) Expand(ctx context.Context, o Owner, body []byte, m *Memory, capacity Capacity) ([]byte, *Turn,
	error,
) {
	p := &plan{turn: &Turn{memory: m}}
	err := capacity.Turn(int64(len(body)), func() error { return s.plan(ctx, &o, body, p) })
	if err != nil {
		return nil, nil, err
	}
	if p.reads == nil {
		return body, p.turn, nil
	}
	p.body += int64(len(body))
	if err := capacity.Reserve(p.body); err != nil {
		return nil, nil, err
	}
	err = s.reading(ctx, &capacity, p.size, func(ctx context.Context) (err error) {
		body, err = s.fill(ctx, &o, body, p, &capacity)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return body, p.turn, nil
}

// plan lists the stored responses that a request needs.
type plan struct {
	turn  *Turn
	chain []Link             // the previous responses, newest first
	items map[string]Link    // the responses that contain items, by the items' ids
	reads map[string]bool    // the stored ids of all responses; nil for none
	known map[string]content // responses of the memory, by their stored ids
	size  int64              // bytes of them
	// estimated bytes of the inserted items: of the responses, plus an item's response for each further reference to
	// it
	body int64
}

// add adds responses.
func (p *plan) add(links ...Link) {
	for _, l := range links {
		if !p.reads[l.ID] {
			p.reads[l.ID] = true
			p.size += l.Size
		}
	}
}

// plan finds the stored responses that a request needs, and their size.
func (s *Service) plan(ctx context.Context, o *Owner, body []byte, p *plan) error {
	r, err := readRequest(body)
	if err != nil {
		return err
	}
	t := p.turn
	t.previous, t.keep = r.previous, r.store && s.ttl() > 0
	if t.input, err = inputItems(r.input); err != nil {
		return err
	}
	if r.previous == "" && !refers(t.input) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	p.items, p.reads = map[string]Link{}, map[string]bool{}
	if r.previous != "" {
		if err := s.findChain(ctx, o, p); err != nil {
			return err
		}
	}
	return s.find(ctx, o, p)
}

// findChain finds the previous response and all before it: in the memory, and the others in the store.
func (s *Service) findChain(ctx context.Context, o *Owner, p *plan) error {
	next := p.turn.previous
	p.known = map[string]content{}
	for _, r := range p.turn.memory.chain(next) {
		p.known[r.name] = r.content
		p.chain = append(p.chain, Link{ID: r.name, Size: r.size})
		next = r.previous
	}
	if next != "" {
		links, err := s.links(ctx, o, next)
		if err != nil {
			return unfound(err, noPrevious(next))
		}
		p.add(links...)
		p.chain = append(p.chain, links...)
	}
	p.turn.link = p.chain[0].ID
	p.body = sizeOfAll(p.chain)
	return nil
}

// find finds the responses that contain the referenced items.
func (s *Service) find(ctx context.Context, o *Owner, p *plan) error {
	references, size := 0, int64(0)
	found := map[string]bool{}
	for i, it := range p.turn.input {
		if !isReference(it.raw) {
			continue
		}
		id, ok := rawjson.AsString(rawjson.Get(it.raw, "id"))
		if !ok {
			return llm.Invalid(inputField+"["+strconv.Itoa(i)+"].id", "A reference needs the id of an item, a string.")
		}
		if references++; references > maxItems {
			return llm.Invalidf(inputField, "The input refers to more than %d items. Send some of them in the input.",
				maxItems)
		}
		p.turn.input[i].id = id
		if l, known := p.items[id]; known {
			p.body += l.Size
			continue
		}
		l, err := s.linkOf(ctx, o, id)
		if err != nil {
			return unfound(err, noItem(id))
		}
		if p.items[id] = l; !found[l.ID] {
			found[l.ID] = true
			size += l.Size
			p.body += l.Size
		}
		p.add(l)
	}
	if size > maxBytes {
		return llm.Invalidf(inputField, "The referenced items are in responses of more than %d MiB. Send "+
			"the necessary parts of them in the input.", maxBytes>>20)
	}
	return nil
}

// linkOf returns the response that contains the item: the one in its id, or the newest.
func (s *Service) linkOf(ctx context.Context, o *Owner, item string) (Link, error) {
	if of := ownOfItem(item); of != "" {
		chain, err := s.chain(ctx, o, responsePrefix+string(of), 1)
		if err != nil || len(chain) > 0 {
			return append(chain, Link{})[0], err
		}
	}
	return s.store.ResponseOfItem(ctx, o.name(item))
}

// fill returns the body with the whole conversation as its input.
func (s *Service) fill(ctx context.Context, o *Owner, body []byte, p *plan, capacity *Capacity) ([]byte, error) {
	read := s.texts(o)
	maps.Copy(read.read, p.known)
	before, err := read.before(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := read.resolve(ctx, p); err != nil {
		return nil, err
	}
	items := said(before)
	own := len(items)
	items = append(items, p.turn.input...)
	if err := capacity.Reserve(sizeOf(body, items) - p.body); err != nil {
		return nil, err
	}
	body = rewrite(body, items)
	p.turn.input = slices.Clone(items[own:]) // now parts of the body, so that the stored responses can be freed
	return body, nil
}

// request holds the fields of a body that determine how it is expanded.
type request struct {
	previous string
	input    []byte
	store    bool
}

func readRequest(body []byte) (request, error) {
	r := request{store: true}
	for m := range rawjson.PresentMembers(body) {
		if err := r.member(m); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *request) member(m rawjson.Member) (err error) {
	switch string(m.Key()) {
	case inputField:
		r.input = m.Value
	case "store":
		r.store, err = parse.Bool(m.Value, "store")
	case previousField:
		if r.previous, err = parse.String(m.Value, previousField); err == nil && r.previous == "" {
			err = llm.Invalid(previousField,
				"The id of the previous response is empty. Leave the field out to begin a conversation.")
		}
	case "background":
		background, invalid := parse.Bool(m.Value, "background")
		if err = invalid; background {
			err = llm.Invalid("background",
				"Background responses are not supported here. Leave background out; an answer that takes long can "+
					"be streamed.")
		}
	case "conversation":
		err = llm.Invalid("conversation",
			"There are no conversation objects here. Leave conversation out, and go on from a response by its id as "+
				"previous_response_id.")
	}
	return err
}

// inputItems returns a request's input as items. A string becomes a message of the user.
func inputItems(input []byte) ([]item, error) {
	switch rawjson.KindOf(input) {
	case rawjson.Invalid:
		return nil, nil // there is none
	case rawjson.String:
		raw := append([]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":`),
			bytes.TrimSpace(input)...)
		return []item{{raw: append(raw, "}]}"...)}}, nil
	case rawjson.Array:
	default:
		return nil, llm.Invalid(inputField,
			`The input must be a string, or an array of items such as {"role": "user", "content": "Hello"}.`)
	}
	var list []item
	for i, v := range rawjson.Elements(input) {
		if i == maxInput {
			return nil, llm.Invalidf(inputField, "The input has more than %d items. Join some of them.", maxInput)
		}
		if err := parse.Members(v, itemFields, "", anyMember); err != nil {
			return nil, parse.Under(inputField+"["+strconv.Itoa(i)+"].", err)
		}
		list = append(list, item{raw: v})
	}
	return list, nil
}

// itemFields are the fields that make an item a reference; duplicates are refused. A provider that uses the other one
// of two such fields would look the item up among all items of the gateway's own key, including those of other
// clients.
var itemFields = rawjson.Names{"type", "id", "role"}

func anyMember(rawjson.Member) error { return nil }

// refers reports whether some item is a reference.
func refers(list []item) bool {
	for _, it := range list {
		if isReference(it.raw) {
			return true
		}
	}
	return false
}

// isReference reports whether an item is a reference to another one. Its type may be absent.
func isReference(raw []byte) bool {
	switch kindOf(raw) {
	case "item_reference":
		return true
	case "":
		return !rawjson.Present(rawjson.Get(raw, "role")) && rawjson.Present(rawjson.Get(raw, "id"))
	}
	return false
}

// before reads the conversation that a request continues, if any.
func (t *texts) before(ctx context.Context, p *plan) ([]content, error) {
	if len(p.chain) == 0 {
		return nil, nil
	}
	list, err := t.history(ctx, p.chain)
	if err != nil {
		return nil, unfound(err, noPrevious(p.turn.previous))
	}
	if first := &list[0]; first.previous != "" {
		return nil, noPrevious(first.previous)
	}
	return list, nil
}

// noPrevious has OpenAI's text, because programs match on it.
func noPrevious(id string) *llm.Error {
	return &llm.Error{
		Code: llm.CodeInvalidRequest, Param: previousField, Word: "previous_response_not_found",
		Message: fmt.Sprintf("Previous response with id '%s' not found.", shown(id)),
	}
}

func noItem(id string) *llm.Error {
	return llm.Invalidf(inputField, "Item with id '%s' not found.", shown(id))
}

// maxShown bounds, in bytes, how much of an id an error repeats.
const maxShown = 100

func shown(id string) string {
	if len(id) > maxShown {
		id = id[:maxShown] + "..."
	}
	return id
}

// unfound returns missing in place of ErrNotFound.
func unfound(err error, missing *llm.Error) error {
	if errors.Is(err, ErrNotFound) {
		return missing
	}
	return err
}

// resolve replaces references by the items that they refer to.
func (t *texts) resolve(ctx context.Context, p *plan) error {
	seen := map[string]map[string][]byte{} // the items of a response by their ids
	list := make([]item, 0, len(p.turn.input))
	for _, it := range p.turn.input {
		if isReference(it.raw) {
			name := p.items[it.id].ID
			if seen[name] == nil {
				c, err := t.of(ctx, name)
				if err != nil {
					return unfound(err, noItem(it.id))
				}
				seen[name] = map[string][]byte{}
				for _, of := range said([]content{c}) {
					seen[name][of.id] = of.raw
				}
			}
			raw, ok := seen[name][it.id]
			if !ok {
				return noItem(it.id)
			}
			it.raw = raw
		}
		if it.raw != nil {
			list = append(list, it)
		}
	}
	p.turn.input = list
	return nil
}
