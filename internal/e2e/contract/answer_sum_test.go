package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// object is a JSON object that was read.
type object = map[string]any

// said holds the content of an answer, independently of vendors.
type said struct {
	Text, Thought, Refusal, Finish string
	Calls                          []string // name and arguments
	Media                          []string // types of the media
	In, Out                        float64
	IDs                            []string // of the calls
	Sources                        []string // that it names, sorted
	Tokens                         []string // with their log probabilities, each followed by the likely ones
	Wrong                          string   // violations that the types do not cover
}

// likely adds tokens, each with the number of that name, followed by the likely ones.
func (s *said) likely(tokens []any, number string) {
	for _, t := range tokens {
		s.Tokens = append(s.Tokens, fmt.Sprintf("%q %v", text(t, "token"), at(t, number)))
		for _, t := range list(t, "top_logprobs") {
			s.Tokens = append(s.Tokens, fmt.Sprintf("or %q %v", text(t, "token"), at(t, number)))
		}
	}
}

// cite adds the sources of a list. Each is an object, or contains one of that name, with its name in one of these
// members.
func (s *said) cite(citations []any, inner string, names ...string) {
	for _, c := range citations {
		if o := at(c, inner); o != nil {
			c = o
		}
		for _, name := range names {
			if found := text(c, name); found != "" {
				s.Sources = append(s.Sources, found)
				break
			}
		}
	}
	slices.Sort(s.Sources)
	s.Sources = slices.Compact(s.Sources)
}

func (s *said) wrong() error {
	if s.Wrong == "" {
		return nil
	}
	return errors.New(s.Wrong)
}

// add adds a call.
func (s *said) add(id, name string, arguments any) {
	if id != "" && slices.Contains(s.IDs, id) {
		s.Wrong = "two calls have the id " + id
	}
	s.IDs = append(s.IDs, id)
	written, ok := arguments.(string)
	if !ok {
		if _, ok := arguments.(object); !ok && arguments != nil {
			s.Wrong = fmt.Sprintf("the input of a call is %v, which is no object", arguments)
		}
	} else if json.Unmarshal([]byte(written), &arguments) != nil {
		s.Calls = append(s.Calls, name+" "+written)
		return
	}
	again, _ := json.Marshal(arguments) // however it was spaced
	s.Calls = append(s.Calls, name+" "+string(again))
}

// at follows a path to a member; nil if there is none.
func at(v any, steps ...any) any {
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			o, _ := v.(object)
			v = o[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

func text(v any, steps ...any) string    { s, _ := at(v, steps...).(string); return s }
func list(v any, steps ...any) []any     { l, _ := at(v, steps...).([]any); return l }
func number(v any, steps ...any) float64 { n, _ := at(v, steps...).(float64); return n }

// readWhole reads a whole answer of a client API.
var readWhole = map[string]func(v any) said{
	"openai": func(v any) said {
		m := at(v, "choices", 0, "message")
		s := said{
			Text: text(m, "content"), Thought: text(m, "reasoning_content"), Refusal: text(m, "refusal"),
			Finish: text(v, "choices", 0, "finish_reason"), In: number(v, "usage", "prompt_tokens"), Out: number(v, "usage", "completion_tokens"),
		}
		for _, c := range list(m, "tool_calls") {
			s.add(text(c, "id"), text(c, "function", "name"), at(c, "function", "arguments"))
		}
		for range list(m, "images") {
			s.Media = append(s.Media, "image")
		}
		s.cite(list(m, "annotations"), "url_citation", "url", "title")
		s.likely(list(v, "choices", 0, "logprobs", "content"), "logprob")
		return s
	},
	"responses": readResponse,
	"anthropic": func(v any) said {
		s := said{Finish: text(v, "stop_reason"), In: number(v, "usage", "input_tokens"), Out: number(v, "usage", "output_tokens")}
		for _, block := range list(v, "content") {
			switch text(block, "type") {
			case "text":
				s.Text += text(block, "text")
				s.cite(list(block, "citations"), "", "url", "document_title")
			case "thinking":
				s.Thought += text(block, "thinking")
			case "tool_use":
				s.add(text(block, "id"), text(block, "name"), at(block, "input"))
			}
		}
		return s
	},
	"gemini": func(v any) said {
		s := said{Finish: text(v, "candidates", 0, "finishReason"), In: number(v, "usageMetadata", "promptTokenCount"), Out: number(v, "usageMetadata", "candidatesTokenCount")}
		for _, part := range list(v, "candidates", 0, "content", "parts") {
			switch {
			case at(part, "functionCall") != nil:
				s.add(text(part, "functionCall", "id"), text(part, "functionCall", "name"), at(part, "functionCall", "args"))
			case at(part, "inlineData") != nil:
				s.Media = append(s.Media, text(part, "inlineData", "mimeType"))
			case at(part, "thought") == true:
				s.Thought += text(part, "text")
			default:
				s.Text += text(part, "text")
			}
		}
		chunks := list(v, "candidates", 0, "groundingMetadata", "groundingChunks")
		s.cite(chunks, "web", "uri")
		s.cite(chunks, "retrievedContext", "title")
		s.likely(list(v, "candidates", 0, "logprobsResult", "chosenCandidates"), "logProbability")
		for _, place := range list(v, "candidates", 0, "logprobsResult", "topCandidates") {
			s.likely(list(place, "candidates"), "logProbability")
		}
		return s
	},
}

func readResponse(v any) said {
	s := said{
		Finish: strings.TrimSpace(text(v, "status") + " " + text(v, "incomplete_details", "reason")),
		In:     number(v, "usage", "input_tokens"), Out: number(v, "usage", "output_tokens"),
	}
	for _, item := range list(v, "output") {
		switch text(item, "type") {
		case "message":
			for _, part := range list(item, "content") {
				s.Text += text(part, "text")
				s.Refusal += text(part, "refusal")
				s.cite(list(part, "annotations"), "", "url", "filename")
				s.likely(list(part, "logprobs"), "logprob")
			}
		case "reasoning":
			for _, part := range append(list(item, "summary"), list(item, "content")...) {
				s.Thought += text(part, "text")
			}
		case "function_call":
			s.add(text(item, "call_id"), text(item, "name"), at(item, "arguments"))
		case "image_generation_call":
			s.Media = append(s.Media, "image")
		}
	}
	return s
}

// sum joins the events of a stream to the equivalent whole answer, and checks the order that the vendor's page on
// streaming promises.
var sum = map[string]func(events []any) (whole any, err error){
	"openai": sumChunks, "responses": sumResponse, "anthropic": sumMessage, "gemini": sumContents,
}

// grow appends to a text member.
func grow(o object, name string, more any) {
	if s, ok := more.(string); ok {
		before, _ := o[name].(string)
		o[name] = before + s
	}
}

func sumChunks(events []any) (any, error) {
	message, choice, whole, calls, tokens := object{}, object{}, object{}, []any{}, []any{}
	for i, e := range events {
		if id := text(events[0], "id"); text(e, "id") != id {
			return nil, fmt.Errorf("chunk %d has the id %q, want %q", i, text(e, "id"), id)
		}
		if u := at(e, "usage"); u != nil {
			whole["usage"] = u
		}
		c := at(e, "choices", 0)
		if c == nil {
			continue
		}
		if choice["finish_reason"] != nil {
			return nil, fmt.Errorf("chunk %d stands behind the finish_reason", i)
		}
		choice["finish_reason"] = at(c, "finish_reason")
		delta := at(c, "delta")
		tokens = append(tokens, list(c, "logprobs", "content")...)
		for _, name := range []string{"content", "reasoning_content", "refusal"} {
			grow(message, name, at(delta, name))
		}
		message["images"] = append(list(message, "images"), list(delta, "images")...)
		if notes := list(delta, "annotations"); notes != nil {
			// OpenAI's SDK for Node keeps those of the last delta, the one for Python fails at the second.
			if message["annotations"] != nil {
				return nil, fmt.Errorf("chunk %d has annotations, and so had one before it", i)
			}
			message["annotations"] = notes
		}
		for _, d := range list(delta, "tool_calls") {
			n := int(number(d, "index"))
			if n == len(calls) && text(d, "id") != "" && text(d, "function", "name") != "" {
				calls = append(calls, object{"id": at(d, "id"), "function": object{"name": at(d, "function", "name")}})
			}
			if n >= len(calls) {
				return nil, fmt.Errorf("chunk %d begins call %d of %d without an id and a name", i, n, len(calls))
			}
			grow(calls[n].(object)["function"].(object), "arguments", at(d, "function", "arguments"))
		}
	}
	message["tool_calls"], choice["message"], whole["choices"] = calls, message, []any{choice}
	choice["logprobs"] = object{"content": tokens}
	return whole, nil
}

func sumResponse(events []any) (any, error) {
	kinds, deltas, done := []string{}, map[string]string{}, map[string]string{}
	for i, e := range events {
		kind := text(e, "type")
		kinds = append(kinds, kind)
		if n := number(e, "sequence_number"); n != number(events[0], "sequence_number")+float64(i) {
			return nil, fmt.Errorf("event %d has the sequence_number %g", i, n)
		}
		place := fmt.Sprint(text(e, "item_id"), " ", number(e, "content_index"), number(e, "summary_index"), strings.TrimSuffix(strings.TrimSuffix(kind, ".delta"), ".done"))
		switch {
		case strings.HasSuffix(kind, ".delta"):
			deltas[place] += text(e, "delta")
		case strings.HasSuffix(kind, "_text.done"):
			done[place] = text(e, "text")
		case strings.HasSuffix(kind, "arguments.done"):
			done[place] = text(e, "arguments")
		}
	}
	for place, all := range done {
		if all != deltas[place] {
			return nil, fmt.Errorf("%s: done with %q, the deltas say %q", place, all, deltas[place])
		}
	}
	end := kinds[len(kinds)-1]
	if kinds[0] != "response.created" || end != "response.completed" && end != "response.incomplete" && end != "response.failed" {
		return nil, fmt.Errorf("the stream goes from %s to %s", kinds[0], end)
	}
	whole := at(events[len(events)-1], "response")
	s, summed := readResponse(whole), said{}
	for i, e := range events {
		if kinds[i] == "response.output_text.delta" {
			summed.Text += text(e, "delta")
			summed.likely(list(e, "logprobs"), "logprob")
		}
	}
	if summed.Text != s.Text || !slices.Equal(summed.Tokens, s.Tokens) {
		return nil, fmt.Errorf("the deltas say %q of %q, the response at the end %q of %q", summed.Text, summed.Tokens, s.Text, s.Tokens)
	}
	return whole, nil
}

func sumMessage(events []any) (any, error) {
	whole, blocks, open := object{}, []any{}, -1
	for i, e := range events {
		n := int(number(e, "index"))
		wrong := fmt.Errorf("event %d, %s of block %d, while block %d of %d is open", i, text(e, "type"), n, open, len(blocks))
		switch text(e, "type") {
		case "message_start":
			usage, _ := at(e, "message", "usage").(object)
			whole["usage"] = usage
		case "content_block_start":
			if open >= 0 || n != len(blocks) {
				return nil, wrong
			}
			block, _ := at(e, "content_block").(object)
			blocks, open = append(blocks, block), n
		case "content_block_delta":
			if n != open {
				return nil, wrong
			}
			block := blocks[n].(object)
			for _, name := range []string{"text", "thinking", "signature"} {
				grow(block, name, at(e, "delta", name))
			}
			if c := at(e, "delta", "citation"); c != nil {
				block["citations"] = append(list(block, "citations"), c)
			}
			if more := at(e, "delta", "partial_json"); more != nil {
				grow(block, "partial", more)
			}
		case "content_block_stop":
			if n != open {
				return nil, wrong
			}
			if err := closeBlock(blocks[n].(object)); err != nil {
				return nil, err
			}
			open = -1
		case "message_delta":
			whole["stop_reason"] = at(e, "delta", "stop_reason")
			usage, _ := at(e, "usage").(object)
			for name, v := range usage {
				whole["usage"].(object)[name] = v
			}
		}
	}
	if first, last := text(events[0], "type"), text(events[len(events)-1], "type"); first != "message_start" || last != "message_stop" || open >= 0 {
		return nil, fmt.Errorf("the stream goes from %s to %s, block %d is open", first, last, open)
	}
	whole["content"] = blocks
	return whole, nil
}

// closeBlock reads the input that was streamed, as Anthropic's SDKs do.
func closeBlock(block object) error {
	partial, _ := block["partial"].(string)
	if block["type"] != "tool_use" || partial == "" {
		return nil
	}
	var input object
	if err := json.Unmarshal([]byte(partial), &input); err != nil {
		return fmt.Errorf("the input of a call adds up to %s, which is no object", partial)
	}
	block["input"] = input
	return nil
}

func sumContents(events []any) (any, error) {
	parts, whole, finish, grounding, chosen, top := []any{}, object{}, "", any(nil), []any{}, []any{}
	for i, e := range events {
		if finish != "" && len(list(e, "candidates", 0, "content", "parts")) > 0 {
			return nil, fmt.Errorf("chunk %d stands behind the finishReason", i)
		}
		if text(e, "responseId") != text(events[0], "responseId") {
			return nil, fmt.Errorf("chunk %d has another responseId", i)
		}
		parts = append(parts, list(e, "candidates", 0, "content", "parts")...)
		finish += text(e, "candidates", 0, "finishReason")
		chosen = append(chosen, list(e, "candidates", 0, "logprobsResult", "chosenCandidates")...)
		top = append(top, list(e, "candidates", 0, "logprobsResult", "topCandidates")...)
		if u := at(e, "usageMetadata"); u != nil {
			whole["usageMetadata"] = u
		}
		if g := at(e, "candidates", 0, "groundingMetadata"); g != nil {
			grounding = g
		}
	}
	if finish == "" {
		return nil, fmt.Errorf("no finishReason in %d chunks", len(events))
	}
	whole["candidates"] = []any{object{
		"content": object{"parts": parts}, "finishReason": finish, "groundingMetadata": grounding,
		"logprobsResult": object{"chosenCandidates": chosen, "topCandidates": top},
	}}
	return whole, nil
}
