package quote

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/pricing"
	"weir/internal/quotetest"
)

// newAsked builds a quote of a request at its target.
func newAsked(tb quotetest.Failer, a quotetest.Asked) *Quote {
	tb.Helper()
	f := quotetest.New(tb, a)
	r := &Request{Dialect: f.Dialect, Op: f.Op, Head: f.Head, Header: f.Request.Header, Body: f.Body}
	q := &Quote{}
	Begin(q, r, f.Table, f.Target, f.Now)
	return q
}

// demandOf returns the demand of an attempt.
func (q *Quote) demandOf(how Precision) Demand {
	r, plain := q.PlainText()
	if !plain {
		r = q.inputs()
	}
	return q.Demand(&r, how)
}

const (
	window   = 100_000
	mostText = 1000
	// aroundRequest is the number of tokens around a request to an unknown model.
	aroundRequest = 1024
)

func sized() pricing.ModelOverride {
	return pricing.ModelOverride{Context: window, MaxOutput: mostText}
}

// wave builds a recording of that many samples a second, with others in it.
func wave(rate uint16, others ...string) string {
	b := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"), byte(rate), byte(rate>>8), 0, 0)
	b = append(b, "\x00\x00\x00\x00\x02\x00\x10\x00data\x80\x0c\x00\x00"...)
	b = append(b, make([]byte, 3200)...)
	for _, other := range others {
		sound, _ := base64.StdEncoding.DecodeString(other)
		b = append(b, sound[12:]...)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// mp3 builds a recording of frames of 417 bytes.
func mp3(frames int) string {
	frame := append([]byte{0xff, 0xfb, 0x90, 0xc4}, make([]byte, 413)...)
	return base64.StdEncoding.EncodeToString(bytes.Repeat(frame, frames))
}

// TestBoundOfInput checks the held input: bytes for the visible parts of the body, with the vendors' own text around
// it, and the context window for the others, once and again for each call of a tool that the provider runs.
func TestBoundOfInput(t *testing.T) {
	t.Parallel()
	png := strings.Repeat("iVBORw0K", 100)
	const (
		shown    = -1                          // the bytes of the body, and the text around it
		working  = window * (1 + 10)           // with tools without a number
		oneImage = shown - (73_800 + 64) + 800 // without the bytes of png
		tools    = shown - aroundTools
	)
	tests := []struct {
		name, clientAPI, body string
		want                  int64 // of input tokens; negative for that many less one beyond the visible ones
		calls                 int64
	}{
		{"text", "openai", `{"messages":[{"role":"user","content":"Hi"}]}`, shown, 0},
		{"known fields", "openai", `{"store":true,"service_tier":"flex","logit_bias":{"1":2},"metadata":{"a":"b"},"messages":[{"role":"user","content":"Hi"}]}`, shown, 0},
		{"an unknown field", "openai", `{"new_thing":"x","messages":[{"role":"user","content":"Hi"}]}`, window, 0},
		{"an unknown field with a number", "openai", `{"new_thing":3,"messages":[{"role":"user","content":"Hi"}]}`, 3 * window, 0},
		{"an unknown field that is null", "openai", `{"new_thing":null,"messages":[{"role":"user","content":"Hi"}]}`, shown, 0},
		{"an image inline", "openai", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}]}]}`, oneImage, 0},
		{"an image elsewhere", "openai", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`, window, 0},
		{"a file by its id", "openai", `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`, window, 0},
		{"a document inline", "openai", `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}}]}]}`, window, 0},
		{"a recording", "openai", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"mp3","data":"` + mp3(20) + `"}}]}]}`, shown - aroundSound, 0},
		{"a recording that is not what it says", "openai", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"mp3","data":"` + png + `"}}]}]}`, window, 0},
		{"a wave", "openai", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav","data":"` + wave(8000) + `"}}]}]}`, shown - aroundSound, 0},
		{"a wave whose second format has few samples", "openai", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav","data":"` + wave(8000, wave(1)) + `"}}]}]}`, window, 0},
		{"a wave of few samples", "openai", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav","data":"` + wave(1) + `"}}]}]}`, window, 0},
		{"a recording of another kind", "openai", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"flac","data":"AAAA"}}]}]}`, window, 0},
		{"a part that nobody knows", "openai", `{"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://example.com/v"}}]}]}`, window, 0},
		{"a sound of before", "openai", `{"messages":[{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","content":"Hi"}]}`, window, 0},
		{"a call of a custom tool", "openai", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"custom","custom":{"name":"g","input":"raw text"}}]},{"role":"user","content":"Hi"}]}`, shown, 0},
		{"functions", "openai", `{"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"Hi"}]}`, tools - toolLayout, 0},
		{"a schema", "openai", `{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"Hi"}]}`, tools - toolLayout - 1 - 2*2, 0},
		{"a description", "openai", `{"tools":[{"type":"function","function":{"name":"f","description":"<é>"}}],"messages":[{"role":"user","content":"Hi"}]}`, tools - toolLayout - 6 - 4 - 6, 0},
		{"a call", "openai", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":[1,2e3,{}]}"}}]},{"role":"user","content":"Hi"}]}`, shown - (callMarks + 1) - 8*2 - (3 + longestNumber), 0},
		{"a result", "openai", `{"messages":[{"role":"tool","tool_call_id":"c","content":"\u003c\u007f & more"},{"role":"user","content":"Hi"}]}`, shown - 6 - 3 - 6, 0},
		{"what is longer in NFKC", "openai", `{"messages":[{"role":"user","content":"ﷺ"}]}`, shown - 30, 0},
		{"what is longer in NFKC, escaped", "openai", `{"messages":[{"role":"user","content":"\ufdfa"}]}`, shown - 27, 0},
		{"what is longer in NFC", "openai", `{"messages":[{"role":"user","content":"𝅘𝅥𝅮क़"}]}`, shown - 8 - 3, 0},
		{"a search", "openai", `{"web_search_options":{},"messages":[{"role":"user","content":"Hi"}]}`, working, 10},
		{"xAI's search", "openai", `{"search_parameters":{"mode":"on"},"messages":[{"role":"user","content":"Hi"}]}`, working, 10},

		{"text", "responses", `{"input":"Hi"}`, shown, 0},
		{"an image elsewhere", "responses", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"}]}]}`, window, 0},
		{"an image by its id", "responses", `{"input":[{"role":"user","content":[{"type":"input_image","file_id":"file-1"}]}]}`, window, 0},
		{"a file elsewhere", "responses", `{"input":[{"role":"user","content":[{"type":"input_file","file_url":"https://example.com/a.pdf"}]}]}`, window, 0},
		{"what went before", "responses", `{"previous_response_id":"resp_1","input":"Hi"}`, window, 0},
		{"a conversation", "responses", `{"conversation":"conv_1","input":"Hi"}`, window, 0},
		{"a stored prompt", "responses", `{"prompt":{"id":"pmpt_1"}}`, working, 10},
		{"an item that stands for another", "responses", `{"input":[{"type":"item_reference","id":"msg_1"}]}`, window, 0},
		{"a thought that is kept", "responses", `{"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"Hi"}]}`, window, 0},
		{"a thought that is kept, summed up", "responses", `{"input":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I look."}]},{"role":"user","content":"Hi"}]}`, window, 0},
		{"a thought in full", "responses", `{"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"role":"user","content":"Hi"}]}`, shown, 0},
		{"the output of a custom tool", "responses", `{"input":[{"type":"custom_tool_call_output","call_id":"c","output":"x"}]}`, shown, 0},
		{"an image as the output of a custom tool", "responses", `{"input":[{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_image","image_url":"https://example.com/a"}]}]}`, window, 0},
		{"a search", "responses", `{"tools":[{"type":"web_search"}],"input":"Hi"}`, working, 10},
		{"three calls at most", "responses", `{"tools":[{"type":"web_search"},{"type":"code_interpreter","container":{"type":"auto"}}],"max_tool_calls":3,"input":"Hi"}`, window * 4, 6}, // three of each
		{"a hundred calls at most", "responses", `{"tools":[{"type":"web_search"}],"max_tool_calls":100,"input":"Hi"}`, window * 101, 100},
		{"calls in one turn", "responses", `{"tools":[{"type":"web_search"}],"max_turns":1,"input":"Hi"}`, window * 11, 10},
		{"calls in a hundred turns", "responses", `{"tools":[{"type":"web_search"}],"max_turns":100,"max_tool_calls":2,"input":"Hi"}`, window * 101, 100},
		{"a cap that is no number", "responses", `{"tools":[{"type":"web_search"}],"max_tool_calls":"2","input":"Hi"}`, window * (maxUnknown + 1), maxUnknown},
		{"a cap and no tools", "responses", `{"max_tool_calls":100,"input":"Hi"}`, shown, 0},
		{"a cap that OpenAI does not know", "responses", `{"tools":[{"type":"web_search","max_uses":0}],"input":"Hi"}`, working, 10},
		{"a cap that chats do not know", "openai", `{"web_search_options":{},"max_tool_calls":0,"messages":[{"role":"user","content":"Hi"}]}`, working, 10},
		{"a tool that nobody knows", "responses", `{"tools":[{"type":"crystal_ball"}],"input":"Hi"}`, working, 10},
		{"a tool of the client's", "responses", `{"tools":[{"type":"local_shell"}],"input":"Hi"}`, tools - aroundVendorTool - int64(len(`{"type":"local_shell"}`)), 0},

		{"text", "anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, shown, 0},
		{"an image inline", "anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}]}]}`, oneImage, 0},
		{"an image in a result", "anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}]}]}]}`, oneImage, 0},
		{"an image elsewhere", "anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a"}}]}]}`, window, 0},
		{"a file by its id", "anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]}`, window, 0},
		{"a PDF inline", "anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]}]}`, window, 0},
		{"a text inline", "anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Hi"}}]}]}`, shown, 0},
		{"a thought with its signature", "anthropic", `{"max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":"Yes"}]},{"role":"user","content":"Hi"}]}`, shown, 0},
		{"a thread", "anthropic", `{"thread":"t","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, working, 10},
		{"a file for a container", "anthropic", `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]}`, window, 0},
		{"a search with a number", "anthropic", `{"max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":2}],"messages":[{"role":"user","content":"Hi"}]}`, window * 3, 2},
		{"a search", "anthropic", `{"max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"Hi"}]}`, working, 10},
		{"tools elsewhere", "anthropic", `{"max_tokens":9,"mcp_servers":[{"type":"url","url":"https://example.com"}],"messages":[{"role":"user","content":"Hi"}]}`, working, 0},
		{"a tool of the client's", "anthropic", `{"max_tokens":9,"tools":[{"type":"bash_20250124","name":"bash"}],"messages":[{"role":"user","content":"Hi"}]}`, tools - aroundVendorTool - int64(len(`{"type":"bash_20250124","name":"bash"}`)), 0},
		{"thoughts that are forgotten", "anthropic", `{"max_tokens":9,"context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"messages":[{"role":"user","content":"Hi"}]}`, shown, 0},
		{"a conversation that is summed up", "anthropic", `{"max_tokens":9,"context_management":{"edits":[{"type":"compact_20260112"}]},"messages":[{"role":"user","content":"Hi"}]}`, working, 0},

		{"text", "gemini", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, shown, 0},
		{"an image inline", "gemini", `{"contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":"` + png + `"}}]}]}`, oneImage, 0},
		{"a file", "gemini", `{"contents":[{"parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a"}}]}]}`, window, 0},
		{"a video inline", "gemini", `{"contents":[{"parts":[{"inlineData":{"mimeType":"video/mp4","data":"AAAA"}}]}]}`, window, 0},
		{"cached content", "gemini", `{"cached_content":"cachedContents/1","contents":[{"parts":[{"text":"Hi"}]}]}`, window, 0},
		{"code that ran", "gemini", `{"contents":[{"parts":[{"executableCode":{"code":"1"}}]}]}`, shown, 0},
		{"code that ran, and a file", "gemini", `{"contents":[{"parts":[{"executableCode":{"code":"1"},"fileData":{"fileUri":"https://example.com/a"}}]}]}`, window, 0},
		{"a search", "gemini", `{"tools":[{"google_search":{}}],"contents":[{"parts":[{"text":"Hi"}]}]}`, tools, mostQueries},
		{"a search, and pages that are read", "gemini", `{"tools":[{"google_search":{}},{"url_context":{}}],"contents":[{"parts":[{"text":"Hi"}]}]}`, working, mostQueries},

		{"text", "native", `{"messages":[{"role":"user","prompt":"Hi"}]}`, shown, 0},
	}
	for _, tt := range tests {
		target := tt.clientAPI
		if target == "native" {
			target = "openai"
		}
		q := newAsked(t, quotetest.Asked{ClientAPI: tt.clientAPI, Target: target, Body: tt.body, Sizes: sized()})
		want := tt.want
		if want < 0 {
			want = int64(len(tt.body)) + aroundRequest + shown - want
		}
		u := q.bound(Coarse)
		if got, calls := u.InputTokens(), toolCalls(&u); got != want || calls != tt.calls {
			t.Errorf("%s, %s: %d tokens of input and %d calls of tools, want %d and %d: %s", tt.clientAPI, tt.name, got, calls, want, tt.calls, tt.body)
		}
		if books := q.BoundBooks(); books.InputTokens() != int64(len(tt.body)) {
			t.Errorf("%s, %s: without a budget %d tokens of input, want the bytes, %d", tt.clientAPI, tt.name, books.InputTokens(), len(tt.body))
		}
	}
}

// toolCalls returns the number of calls of tools that a provider charges for.
func toolCalls(u *llm.Usage) (n int64) {
	for c := range u {
		if llm.Class(c).IsTool() {
			n += u[c]
		}
	}
	return n
}

// bound returns the most that an attempt without an inserted cap can use.
func (q *Quote) bound(how Precision) llm.Usage {
	k := q.demandOf(how)
	if k.open { // nothing stops the model
		return k.bound(max(k.most, q.MaxOutput()))
	}
	return k.Granted(0, k.calls)
}

// TestBoundElsewhere checks that members of the client's wire format count for nothing at a target that does not
// receive them, and the known facts of models and headers.
func TestBoundElsewhere(t *testing.T) {
	t.Parallel()
	const hi = `"messages":[{"role":"user","content":"Hi"}]}`
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("word ", window/4) + `"}]}`
	tests := []struct {
		name string
		quotetest.Asked
		want int64 // of input tokens
	}{
		{"a field that does not go there", quotetest.Asked{ClientAPI: "openai", Target: "anthropic", Body: `{"new_thing":"x",` + hi, Sizes: sized()}, int64(len(`{"new_thing":"x",`+hi)) + aroundRequest},
		{"a window that nobody knows", quotetest.Asked{ClientAPI: "openai", Body: `{"new_thing":"x",` + hi}, unknownWindow},
		{"a longer window by a header", quotetest.Asked{ClientAPI: "anthropic", Body: `{"max_tokens":1,"new_thing":"x",` + hi, Sizes: sized(), Header: http.Header{"Anthropic-Beta": {"other,context-1m-2025-08-07"}}}, 1_000_000},
		{"a longer window by a field", quotetest.Asked{ClientAPI: "anthropic", Body: `{"max_tokens":1,"anthropic_beta":["context-1m-2025-08-07"],` + hi, Sizes: sized()}, 1_000_000},
		{"more than the window has", quotetest.Asked{ClientAPI: "openai", Body: long, Sizes: sized()}, window},
		{"more than the longer window by a header has", quotetest.Asked{ClientAPI: "anthropic", Body: `{"max_tokens":1,` + long[1:], Sizes: sized(), Header: http.Header{"Anthropic-Beta": {"context-1m-2025-08-07"}}}, int64(len(long)+len(`"max_tokens":1,`)) + aroundRequest},
		{"more than a window that nobody knows", quotetest.Asked{ClientAPI: "openai", Body: long}, int64(len(long)) + aroundRequest},
		{"more than the window has, and what the body does not show", quotetest.Asked{ClientAPI: "openai", Body: `{"new_thing":"x",` + long[1:], Sizes: sized()}, window},
		{"a model that searches by itself", quotetest.Asked{ClientAPI: "openai", Model: "gpt-4o-search-preview", Body: "{" + hi, Sizes: sized()}, 11 * window},
		{"an image for the model that counts most", quotetest.Asked{
			ClientAPI: "openai", Model: "gpt-4o-mini", Sizes: sized(),
			Body: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
		}, int64(len(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}]}`)) + 32 + 2833 + 8*5667 + 64},
		{"vectors", quotetest.Asked{ClientAPI: "openai", Op: llm.OpEmbed, Body: `{"input":"Hi"}`, Sizes: sized()}, int64(len(`{"input":"Hi"}`))},
		{"vectors of images", quotetest.Asked{ClientAPI: "openai", Op: llm.OpEmbed, Body: `{"input":["Hi",{"image":"https://example.com/a"},{"image":"https://example.com/b"}]}`, Sizes: sized()}, 2 * window},
	}
	for _, tt := range tests {
		q := newAsked(t, tt.Asked)
		if u := q.bound(Coarse); u.InputTokens() != tt.want {
			t.Errorf("%s: %d tokens of input, want %d", tt.name, u.InputTokens(), tt.want)
		}
	}
}

// TestBoundOfOutput checks the held output, and which of the caps can be inserted.
func TestBoundOfOutput(t *testing.T) {
	t.Parallel()
	const hi = `"messages":[{"role":"user","content":"Hi"}]}`
	only := func(context, output int64) pricing.ModelOverride {
		return pricing.ModelOverride{Context: context, MaxOutput: output}
	}
	tests := []struct {
		name string
		quotetest.Asked
		least, most, answers int64
		open                 bool
	}{
		{"the client's cap", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,` + hi, Sizes: sized()}, 50, 50, 1, false},
		{"beyond what the model writes", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":5000,` + hi, Sizes: sized()}, mostText, mostText, 1, false},
		{"three answers", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"n":3,` + hi, Sizes: sized()}, 50, 50, 3, false},
		{"the best of five", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"n":3,"best_of":5,` + hi, Sizes: sized()}, 50, 50, 5, false},
		{"sequences by another name", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"num_return_sequences":64,` + hi, Sizes: sized()}, 50, 50, 64, false},
		{"sequences in a text", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"num_return_sequences":"64",` + hi, Sizes: sized()}, 50, 50, 64, false},
		{"answers by a new name", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"num_outputs":7,` + hi, Sizes: sized()}, 50, 50, 7, false},
		{"answers by a new name, each more than one", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"n":2,"samples":7.0,` + hi, Sizes: sized()}, 50, 50, 14, false},
		{"answers deep in a new field", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"extra_body":{"config":[{"n":"7"}]},` + hi, Sizes: sized()}, 50, 50, 7, false},
		{"a list of what to answer", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"batch":["a","b","c"],` + hi, Sizes: sized()}, 50, 50, 3, false},
		{"a number that is none of answers", quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"length_penalty":2,"top_a":0.3,"new":0.5,` + hi, Sizes: sized()}, 50, 50, 1, false},
		{"answers of Gemini by a new name", quotetest.Asked{ClientAPI: "gemini", Body: `{"generationConfig":{"maxOutputTokens":50,"numberOfDrafts":7},"contents":[{"parts":[{"text":"Hi"}]}]}`, Sizes: sized()}, 50, 50, 7, false},
		{"numbers of Gemini that are none of answers", quotetest.Asked{ClientAPI: "gemini", Body: `{"generationConfig":{"maxOutputTokens":50,"seed":7,"top_k":9,"logprobs":5,"audioTimestamp":true},"contents":[{"parts":[{"text":"Hi"}]}]}`, Sizes: sized()}, 50, 50, 1, false},
		{"answers of Responses by a new name", quotetest.Asked{ClientAPI: "responses", Body: `{"max_output_tokens":50,"reasoning":{"effort":"low","drafts":7},"input":"Hi"}`, Sizes: sized()}, 50, 50, 7, false},
		{"three of Gemini", quotetest.Asked{ClientAPI: "gemini", Body: `{"generation_config":{"candidate_count":3},"contents":[{"parts":[{"text":"Hi"}]}]}`, Sizes: sized()}, 256, mostText, 3, true},
		{"none", quotetest.Asked{ClientAPI: "openai", Body: "{" + hi, Sizes: sized()}, 256, mostText, 1, true},
		{"none, of a model of short answers", quotetest.Asked{ClientAPI: "openai", Body: "{" + hi, Sizes: only(window, 100)}, 100, 100, 1, true},
		{"none, of a model that nobody knows", quotetest.Asked{ClientAPI: "openai", Body: "{" + hi}, 256, 8192, 1, true},
		{"none, of a model with a known window", quotetest.Asked{ClientAPI: "openai", Body: "{" + hi, Sizes: only(window, 0)}, 256, 8192, 1, true},
		{"none, and a window that is small", quotetest.Asked{ClientAPI: "openai", Model: "gpt-5", Body: "{" + hi, Sizes: only(4000, 4000)}, 256, 4000 - 32 - aroundText - 14, 1, true},
		{"none, and a window that is full", quotetest.Asked{ClientAPI: "openai", Body: `{"messages":[{"role":"user","content":"` + strings.Repeat("Hi ", 9000) + `"}]}`, Sizes: only(4000, 4000)}, 256, 256, 1, true},
		{"a null", quotetest.Asked{ClientAPI: "responses", Body: `{"max_output_tokens":null,"input":"Hi"}`, Sizes: sized()}, 256, mostText, 1, true},
		{"Anthropic's 0", quotetest.Asked{ClientAPI: "anthropic", Body: `{"max_tokens":0,` + hi, Sizes: sized()}, 0, 0, 1, false},
		{"the provider's own field", quotetest.Asked{ClientAPI: "openai", Body: `{"limit":70,` + hi, Sizes: sized(), Quirks: llm.Quirks{MaxOutputField: "limit"}}, 70, 70, 1, false},
		{"the provider's own field, oddly", quotetest.Asked{ClientAPI: "openai", Body: `{"limit":"70",` + hi, Sizes: sized(), Quirks: llm.Quirks{MaxOutputField: "limit"}}, mostText, mostText, 1, false},
		{"vectors", quotetest.Asked{ClientAPI: "openai", Op: llm.OpEmbed, Body: `{"input":"Hi"}`, Sizes: sized()}, 0, 0, 1, false},
		{"images", quotetest.Asked{ClientAPI: "openai", Op: llm.OpImage, Body: `{"prompt":"Hi","n":2}`, Sizes: sized()}, mostText, mostText, 2, false},
		{"images, of a model that nobody knows", quotetest.Asked{ClientAPI: "openai", Op: llm.OpImage, Body: `{"prompt":"Hi","n":2}`}, mostMade, mostMade, 2, false},
	}
	for _, tt := range tests {
		q := newAsked(t, tt.Asked)
		for _, how := range []Precision{Coarse, Fine} {
			k := q.demandOf(how)
			if k.least != tt.least || k.most != tt.most || k.answers != tt.answers || k.open != tt.open {
				t.Errorf("%s: from %d to %d tokens for each of %d answers, open %t; want %d, %d, %d, %t", tt.name, k.least, k.most, k.answers, k.open, tt.least, tt.most, tt.answers, tt.open)
			}
		}
		if u := q.bound(Coarse); !tt.open && u.OutputTokens() != tt.most*tt.answers {
			t.Errorf("%s: %d tokens of output, want %d", tt.name, u.OutputTokens(), tt.most*tt.answers)
		}
	}
	q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,"prediction":{"type":"content","content":"x"},` + hi, Sizes: sized()})
	if u := q.bound(Coarse); u.OutputTokens() != 50+int64(len(`{"type":"content","content":"x"}`)) {
		t.Errorf("an answer that is foretold: %d tokens of output", u.OutputTokens())
	}
}

// TestUncappedFormatsUseLongestAnswer checks that no cap, not even the client's, bounds the answers of a wire format
// without caps: the model's longest does, and none is inserted.
func TestUncappedFormatsUseLongestAnswer(t *testing.T) {
	t.Parallel()
	const hi = `"messages":[{"role":"user","content":"Hi"}]}`
	for _, body := range []string{`{` + hi, `{"max_tokens":50,` + hi} {
		for sizes, want := range map[pricing.ModelOverride]int64{sized(): mostText, {Context: window}: window, {}: maxUnknown} {
			q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Body: body, Sizes: sizes})
			uncapped := *q.Spoken
			uncapped.Uncapped = true
			q.Spoken = &uncapped
			k := q.demandOf(Coarse)
			least, most := k.Amounts()
			limit, ok := k.CapFor(most)
			if _, poor := k.CapFor(most - 1); k.most != want || least != most || limit != 0 || !ok || poor {
				t.Errorf("%s of %+v: got %+v and a cap of %d, want answers of %d tokens and no cap", body, sizes, k, limit, want)
			}
		}
	}
}

// TestBoundBeyondCap checks the held output beyond the caps on answers.
func TestBoundBeyondCap(t *testing.T) {
	t.Parallel()
	const hi = `"messages":[{"role":"user","content":"Hi"}]}`
	beside := llm.Quirks{ReasoningBesideCap: true}
	yes, no := true, false
	for _, tt := range []struct {
		members string
		quirks  llm.Quirks
		reasons *bool // the model; nil for unknown
		want    int64
	}{
		{`"thinking_budget":700`, llm.Quirks{}, nil, 750},
		{`"thinking_budget":"700"`, llm.Quirks{}, nil, 750},
		{`"thinking_budget":-1`, llm.Quirks{}, nil, 50 + maxUnknown},
		{`"n":2,"thinking":{"type":"enabled","budget_tokens":700}`, llm.Quirks{}, nil, 1500},
		{`"reasoning":{"effort":"high"}`, llm.Quirks{}, nil, 50},
		{`"reasoning":{"max_tokens":700}`, llm.Quirks{}, nil, 750},
		{`"chat_template_kwargs":{"enable_thinking":true,"thinking_budget":700}`, llm.Quirks{}, nil, 750},
		{`"max_new_tokens":700`, llm.Quirks{}, nil, 750},
		{`"maxTokens":700`, llm.Quirks{}, nil, 750},
		{`"n_predict":-1`, llm.Quirks{}, nil, 50 + maxUnknown},
		{`"store":false`, beside, nil, 50 + window},
		{`"store":false`, beside, &yes, 50 + window},
		{`"store":false`, beside, &no, 50},
		{`"enable_thinking":false`, beside, &yes, 50},
		{`"enable_thinking":true`, beside, &yes, 50 + window},
		{`"thinking_budget":700`, beside, &yes, 750},
	} {
		sizes := sized()
		sizes.Reasoning = tt.reasons
		q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Body: `{"max_tokens":50,` + tt.members + `,` + hi, Sizes: sizes, Quirks: tt.quirks})
		if u := q.bound(Coarse); u.OutputTokens() != tt.want {
			t.Errorf("%s, %+v: %d tokens of output, want %d", tt.members, tt.quirks, u.OutputTokens(), tt.want)
		}
	}
	if q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Body: "{" + hi, Quirks: beside}); usual(q) {
		t.Error("a model that reasons beyond its cap is read as usual")
	}
}

func usual(q *Quote) bool {
	_, ok := q.PlainText()
	return ok
}

// TestThinkingBeyondCap checks that thinking beyond the cap, as Anthropic allows between calls of tools, has the
// context window as its bound.
func TestThinkingBeyondCap(t *testing.T) {
	t.Parallel()
	for budget, want := range map[int64]int64{1024: 1000, 1999: 1000, 2000: window, 60000: window} { // the model writes 1000 at most
		q := newAsked(t, quotetest.Asked{ClientAPI: "anthropic", Body: fmt.Sprintf(`{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":%d},"messages":[{"role":"user","content":"Hi"}]}`, budget), Sizes: sized()})
		if u := q.bound(Coarse); u.OutputTokens() != want {
			t.Errorf("%d tokens of thinking: %d of output, want %d", budget, u.OutputTokens(), want)
		}
		if u := q.BoundBooks(); u.OutputTokens() != want {
			t.Errorf("%d tokens of thinking, without a budget: %d of output, want %d", budget, u.OutputTokens(), want)
		}
	}
}

// TestUnpricedRequestsAreRefused checks the requests that are refused under a budget.
func TestUnpricedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ clientAPI, target, members, param string }{
		{"openai", "openai", ``, ""},
		{"openai", "openai", `"service_tier":"flex",`, "service_tier"},
		{"openai", "openai", `"service_tier":"default",`, ""},
		{"openai", "openai", `"service_tier":"auto",`, ""},
		{"openai", "openai", `"service_tier":null,`, ""},
		{"openai", "openai", `"service_tier":"priority",`, "service_tier"},
		{"openai", "anthropic", `"service_tier":"priority",`, ""},
		{"openai", "openai", `"service_tier":7,`, "service_tier"},
		{"openai", "openai", `"models":["dear"],`, "models"},
		{"openai", "openai", `"x":{"prompt_cache_breakpoint" : {"mode":"explicit","ttl":"12h"}},`, "prompt_cache_breakpoint"},
		{"openai", "openai", `"x":{"prompt_cache_breakpoint":{"mode":"explicit","ttl":"30m"}},`, ""},
		{"openai", "openai", `"x":["prompt_cache_breakpoint",{"mode":"explicit","ttl":"12h"}],`, ""},
		{"openai", "anthropic", `"x":{"prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}},`, ""},
		{"responses", "responses", `"service_tier":"priority",`, "service_tier"},
		{"anthropic", "anthropic", `"max_tokens":1,"service_tier":"standard_only",`, ""},
		{"anthropic", "anthropic", `"max_tokens":1,"inference_geo":"us",`, "inference_geo"},
		{"gemini", "gemini", `"service_tier":"priority",`, "service_tier"},
		{"gemini", "gemini", `"serviceTier":"SERVICE_TIER_STANDARD",`, ""},
		// the parser here reads one type and another parser a dearer one
		{"openai", "openai", `"tools":[{"type":"custom","type":"web_search"}],`, "type"},
		{"openai", "anthropic", `"tools":[{"type":"custom","type":"web_search"}],`, ""},
		{"responses", "responses", `"tools":[{"type":"function","name":"f","\u0074ype":"web_search"}],`, "type"},
		{"anthropic", "anthropic", `"max_tokens":1,"system":[{"type":"search_result","type":"document","source":{"type":"url","url":"https://example.com/a"}}],`, "type"},
	}
	for _, tt := range tests {
		rest := map[string]string{"responses": `"input":"Hi"}`, "gemini": `"contents":[{"parts":[{"text":"Hi"}]}]}`}[tt.clientAPI]
		if rest == "" {
			rest = `"messages":[{"role":"user","content":"Hi"}]}`
		}
		q := newAsked(t, quotetest.Asked{ClientAPI: tt.clientAPI, Target: tt.target, Body: "{" + tt.members + rest})
		got := ""
		if err := q.unpriced(); err != nil {
			got = llm.AsError(err).Param
		}
		if got != tt.param {
			t.Errorf("%s to %s, %s: refused %q, want %q", tt.clientAPI, tt.target, tt.members, got, tt.param)
		}
	}
}
