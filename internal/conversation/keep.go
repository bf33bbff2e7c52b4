package conversation

import (
	"context"
	"fmt"

	"weir/internal/rawjson"
	"weir/internal/stored"
)

// Keep stores a complete response, as the client receives it, with its input. It does nothing without a turn, and only
// remembers the response if the request must not be stored. If the response must not be stored, the error is a
// stored.Refusal.
func (s *Service) Keep(ctx context.Context, o Owner, turn *Turn, response []byte) error {
	id := idOf(response)
	if turn == nil || id == "" {
		return nil
	}
	turn.memory.add(&o, id, content{previous: turn.previous, input: turn.input, response: response})
	if !turn.keep {
		return nil
	}
	own := ownOf(id)
	for i := range turn.input {
		turn.input[i].name(own, i)
	}
	c := content{previous: turn.previous, input: turn.input, response: completed(response, turn.previous)}
	name, text := o.name(id), c.encode()
	if len(text) > maxBytes {
		return fmt.Errorf("%d bytes, but at most %d are stored: %w", len(text), maxBytes, stored.TooLarge)
	}
	b, err := box(&o, name)
	if err != nil {
		return err
	}
	now := s.now()
	r := &Record{
		Account: o.Account, Scope: o.Scope, ID: name, Items: c.names(&o, own), Created: now, Expires: now.Add(s.ttl()),
		Sealed: b.Seal(nil, nil, text, []byte(name)), Previous: turn.link,
	}
	return s.store.KeepResponse(ctx, r)
}

// name sets the id of an item, unless it has one.
func (it *item) name(of own, place int) {
	if it.id == "" {
		it.id = idOf(it.raw)
	}
	if it.id == "" {
		it.id = newID(it.raw, of, place)
	}
}

// names returns the stored ids of the items that can be referred to and are not found by their response: of the
// answer, then of the input, at most maxItems.
func (c *content) names(o *Owner, of own) (names []string) {
	add := func(id string) {
		if id != "" && len(names) < maxItems && (of == "" || ownOfItem(id) != of) {
			names = append(names, o.name(id))
		}
	}
	for _, v := range rawjson.Elements(c.output()) {
		add(idOf(v))
	}
	for _, it := range c.input {
		add(it.id)
	}
	return names
}

// completed adds fields to the response that its provider could not know: that it is stored, and its previous
// response.
func completed(response []byte, previous string) []byte {
	response = rawjson.Splice(nil, response, rawjson.Set(response, "store", []byte("true")))
	if previous == "" {
		return response
	}
	return rawjson.Splice(nil, response, rawjson.Set(response, previousField, rawjson.AppendString(nil, previous)))
}
