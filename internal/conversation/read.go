package conversation

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Get is the response of that id, as it was answered:
// https://platform.openai.com/docs/api-reference/responses/get. One that is not
// there, or not the owner's, is an *llm.Error.
func (s *Service) Get(ctx context.Context, o Owner, id string, capacity Capacity) (response []byte, err error) {
	links, err := s.newest(ctx, &o, id)
	if err != nil {
		return nil, err
	}
	err = s.reading(ctx, &capacity, sizeOfAll(links), func(ctx context.Context) error {
		c, err := s.texts(&o).of(ctx, o.name(id))
		if err != nil {
			return unfound(err, noResponse(id))
		}
		if err := capacity.Reserve(int64(len(c.response))); err != nil {
			return err
		}
		response = bytes.Clone(c.response) // its input may be many times as long
		return nil
	})
	return response, err
}

// newest is the response of that id, without those before it.
func (s *Service) newest(ctx context.Context, o *Owner, id string) ([]Link, error) {
	links, err := s.store.ResponseChain(ctx, o.name(id), 1)
	if err == nil && len(links) == 0 {
		err = noResponse(id)
	}
	return links, err
}

// Delete deletes the response of that id, and says so in the vendor's words:
// https://platform.openai.com/docs/api-reference/responses/delete. A later
// request can go on neither from it nor from what followed it.
func (s *Service) Delete(ctx context.Context, o Owner, id string) ([]byte, error) {
	if err := s.store.DeleteResponse(ctx, o.name(id)); err != nil {
		return nil, unfound(err, noResponse(id))
	}
	return append(rawjson.AppendString([]byte(`{"id":`), id), `,"object":"response","deleted":true}`...), nil
}

// Cancel refuses: only what is made in the background could be cancelled
// (https://platform.openai.com/docs/api-reference/responses/cancel).
func (s *Service) Cancel(ctx context.Context, o Owner, id string) error {
	if _, err := s.newest(ctx, &o, id); err != nil {
		return err
	}
	return llm.Invalid("", "Cannot cancel a synchronous response.")
}

func noResponse(id string) *llm.Error {
	return &llm.Error{
		Code: llm.CodeNotFound, Word: "response_not_found",
		Message: fmt.Sprintf("Response with id '%s' not found.", shown(id)),
	}
}

// Page says which items are listed.
type Page struct {
	After     string // the id of the item before the first; empty for the first of all
	Limit     int    // from 1
	Ascending bool   // the oldest first
}

// InputItems lists what a response answers: the items of all turns before it,
// and of its own input
// (https://platform.openai.com/docs/api-reference/responses/input-items). Of turns
// that are not there any more it lists nothing.
func (s *Service) InputItems(ctx context.Context, o Owner, id string, p Page, capacity Capacity) (page []byte,
	err error,
) {
	links, err := s.links(ctx, &o, id)
	if err != nil {
		return nil, unfound(err, noResponse(id))
	}
	err = s.reading(ctx, &capacity, sizeOfAll(links), func(ctx context.Context) error {
		history, err := s.texts(&o).history(ctx, links)
		if err != nil {
			return unfound(err, noResponse(id))
		}
		list, more, err := p.of(asked(history))
		if err != nil {
			return err
		}
		if err := capacity.Reserve(sizeOf(nil, list)); err != nil {
			return err
		}
		page = appendList(nil, list, more)
		return nil
	})
	return page, err
}

// asked is what the last response of a conversation answers.
func asked(history []content) (list []item) {
	last := len(history) - 1
	for i := range history[:last] {
		list = append(list, history[i].input...)
		for _, v := range rawjson.Elements(history[i].output()) {
			list = append(list, item{idOf(v), v})
		}
	}
	return append(list, history[last].input...)
}

// of is the page of a list, and whether more follows. The list is its to change.
func (p *Page) of(list []item) (page []item, more bool, err error) {
	if !p.Ascending {
		slices.Reverse(list)
	}
	if p.After != "" {
		at := slices.IndexFunc(list, func(it item) bool { return it.id == p.After })
		if at < 0 {
			return nil, false, llm.Invalidf("after", "Item with id '%s' not found.", shown(p.After))
		}
		list = list[at+1:]
	}
	return list[:min(p.Limit, len(list))], len(list) > p.Limit, nil
}

func appendList(dst []byte, list []item, more bool) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].appendListed(dst)
	}
	var first, last string
	if n := len(list); n > 0 {
		first, last = list[0].id, list[n-1].id
	}
	dst = rawjson.AppendString(append(dst, `],"first_id":`...), first)
	dst = rawjson.AppendString(append(dst, `,"last_id":`...), last)
	return append(strconv.AppendBool(append(dst, `,"has_more":`...), more), '}')
}

// appendListed writes an item with its id, and a message in its long form.
func (it *item) appendListed(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `{"id":`...), it.id)
	kind := kindOf(it.raw)
	if kind == "" || kind == kindMessage {
		dst = append(dst, `,"type":"message"`...)
		if !rawjson.Present(rawjson.Get(it.raw, "status")) {
			dst = append(dst, `,"status":"completed"`...)
		}
	}
	role := rawjson.Text(rawjson.Get(it.raw, "role"))
	for m := range rawjson.Members(it.raw) {
		switch name := m.Name(); {
		case name == "id", name == "type" && (kind == "" || kind == kindMessage), name == "status" &&
			!rawjson.Present(m.Value):
		case name == "content" && rawjson.KindOf(m.Value) == rawjson.String:
			dst = appendText(append(dst, `,"content":[`...), role, m.Value)
			dst = append(dst, ']')
		default:
			dst = append(append(rawjson.AppendString(append(dst, ','), name), ':'), m.Value...)
		}
	}
	return append(dst, '}')
}

// appendText writes a text, which is JSON, as a part of a message.
func appendText(dst []byte, role string, text []byte) []byte {
	kind, more := "input_text", ""
	if role == "assistant" {
		kind, more = "output_text", `,"annotations":[],"logprobs":[]`
	}
	dst = append(append(append(dst, `{"type":"`...), kind...), `","text":`...)
	return append(append(append(dst, text...), more...), '}')
}
