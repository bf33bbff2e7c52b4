package conversation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Get returns the response with that id, as it was answered:
// https://platform.openai.com/docs/api-reference/responses/get. If it does not exist or belongs to another owner, the
// error is an *llm.Error.
func (s *Service) Get(ctx context.Context, o Owner, id string, capacity Capacity) (response []byte, err error) {
	links, err := s.newest(ctx, &o, id)
	if err != nil {
		return nil, err
	}
	err = s.reading(ctx, &capacity, sizeOfAll(links), func(ctx context.Context) error {
		c, err := s.texts(&o).of(ctx, links[0].ID)
		if err != nil {
			return unfound(err, noResponse(id))
		}
		if err := capacity.Reserve(int64(len(c.response))); err != nil {
			return err
		}
		response = bytes.Clone(c.response) // a copy, because the stored input may be many times as long
		return nil
	})
	return response, err
}

// newest returns the response with that id, without its predecessors.
func (s *Service) newest(ctx context.Context, o *Owner, id string) ([]Link, error) {
	links, err := s.chain(ctx, o, id, 1)
	if err == nil && len(links) == 0 {
		err = noResponse(id)
	}
	return links, err
}

// Delete deletes the response with that id, and returns OpenAI's answer:
// https://platform.openai.com/docs/api-reference/responses/delete. Later requests cannot continue from it, nor from
// the responses after it.
func (s *Service) Delete(ctx context.Context, o Owner, id string) ([]byte, error) {
	err := s.store.DeleteResponse(ctx, o.name(id))
	if errors.Is(err, ErrNotFound) && o.formerName(id) != o.name(id) {
		err = s.store.DeleteResponse(ctx, o.formerName(id))
	}
	if err != nil {
		return nil, unfound(err, noResponse(id))
	}
	return append(rawjson.AppendString([]byte(`{"id":`), id), `,"object":"response","deleted":true}`...), nil
}

// Cancel returns an error, because only background responses could be cancelled
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

// Page selects the items of a list.
type Page struct {
	After     string // the id of the item before the first; empty to start with the first
	Limit     int    // at least 1
	Ascending bool   // oldest first
}

// InputItems lists the items that a response answers: those of all previous turns, and its own input
// (https://platform.openai.com/docs/api-reference/responses/input-items). Turns that no longer exist are left out.
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

// asked returns the items that the last response of a conversation answers.
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

// of returns the page of a list, and whether more items follow. It may change the list.
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
		dst = rawjson.AppendComma(dst)
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

// appendListed appends an item with its id, and a message in its long form.
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
			dst = rawjson.AppendMember(dst, name, m.Value)
		}
	}
	return append(dst, '}')
}

// appendText appends a text, which is JSON, as a content part of a message.
func appendText(dst []byte, role string, text []byte) []byte {
	kind, more := "input_text", ""
	if role == "assistant" {
		kind, more = "output_text", `,"annotations":[],"logprobs":[]`
	}
	dst = append(append(append(dst, `{"type":"`...), kind...), `","text":`...)
	return append(append(append(dst, text...), more...), '}')
}
