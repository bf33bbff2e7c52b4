package anthropic_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"weir/internal/dialect/anthropic"
	"weir/internal/llm"
	"weir/internal/sse"
)

var signatures = regexp.MustCompile(`"signature_delta","signature":"([^"]*)"`)

// TestThinkingThatWasCutIsNotReturned continues an answer whose thinking broke off before its signature. Anthropic refuses
// unsigned thinking, so its next request is without it; thinking that was signed goes back.
func TestThinkingThatWasCutIsNotReturned(t *testing.T) {
	t.Parallel()
	const opening = `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`
	const thinking = `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"let me see"}}`
	for _, tt := range []struct {
		name     string
		relayed  []string
		returned bool
	}{
		{"cut", []string{opening, thinking}, false},
		{"cut before its first piece", []string{opening}, false},
		{"signed", []string{opening, thinking, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2lnbmVk"}}`}, true},
	} {
		e := anthropic.NewEncoder(llm.Meta{ID: "msg_1", Model: "m"})
		e.Follow(sse.Event{Data: []byte(`{"type":"message_start","message":{}}`)})
		said := ""
		for _, frame := range tt.relayed {
			e.Follow(sse.Event{Data: []byte(frame)})
			said += frame
		}
		said += string(e.Append(nil, &llm.Event{Kind: llm.EventText, Text: "four"}))
		signature := ""
		if m := signatures.FindStringSubmatch(said); m != nil {
			signature = m[1]
		}
		body := fmt.Sprintf(`{"max_tokens":9,"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":[`+
			`{"type":"thinking","thinking":"let me see","signature":%q},{"type":"text","text":"four"}]},{"role":"user","content":"sure?"}]}`, signature)
		head := llm.Head{Open: 1}
		got := string(anthropic.Splice(nil, []byte(body), &head, llm.Splice{Model: "m"}, nil))
		if strings.Contains(got, "thinking") != tt.returned {
			t.Errorf("%s: the answer is\n%s\nand the next request\n%s\nwant thinking returned %v", tt.name, said, got, tt.returned)
		}
	}
}
