package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// probable lists the wire formats of clients whose answers have log probabilities.
var probable = []string{"openai", "responses", "gemini"}

// token holds a token of an answer in the form of Chat Completions.
type token struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
	Top     []token `json:"top_logprobs,omitempty"`
}

// likelyTokens generates tokens of texts of one to four bytes a character, with up to three likely ones each.
func likelyTokens() *rapid.Generator[[]token] {
	one := rapid.Custom(func(t *rapid.T) token {
		text := rapid.SampledFrom([]string{"a", " rain", "é", "漢字", "😀", "\n", "\"", "e\u0301", "x😀y"}).Draw(t, "token")
		return token{Token: text, Logprob: -float64(rapid.IntRange(0, 99999).Draw(t, "log")) / 1000, Bytes: bytesOf(text)}
	})
	return rapid.Custom(func(t *rapid.T) []token {
		all := rapid.SliceOfN(one, 1, 8).Draw(t, "tokens")
		top := rapid.IntRange(0, 3).Draw(t, "top")
		for i := range all {
			all[i].Top = rapid.SliceOfN(one, top, top).Draw(t, "likely")
		}
		return all
	})
}

func bytesOf(s string) (list []int) {
	for _, b := range []byte(s) {
		list = append(list, int(b))
	}
	return list
}

func textOf(tokens []token) (text string) {
	for _, t := range tokens {
		text += t.Token
	}
	return text
}

func tokenJSON(t *rapid.T, tokens []token) json.RawMessage {
	body, err := json.Marshal(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// readTokens reads the tokens of a tree.
func readTokens(t *rapid.T, raw json.RawMessage) (tokens []token) {
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &tokens); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return tokens
}

func sameTokens(a, b []token) bool {
	return slices.EqualFunc(a, b, func(a, b token) bool {
		return a.Token == b.Token && a.Logprob == b.Logprob && slices.Equal(a.Bytes, b.Bytes) && sameTokens(a.Top, b.Top)
	})
}

// TestLogprobsCrossFormats checks that the log probabilities of an answer's tokens stay the same through each pair of
// the wire formats that have them, whole and streamed.
func TestLogprobsCrossFormats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := likelyTokens().Draw(t, "tokens")
		raw, text := tokenJSON(t, want), textOf(want)
		for _, first := range probable {
			for _, second := range probable {
				r := llm.Reply{ID: "id-1", Model: "m", Choices: []llm.Choice{{
					Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}},
					Finish:  llm.FinishStop, Tokens: raw,
				}}}
				var body []byte
				for _, name := range []string{first, second} {
					d := registrytest.All().Named(name)
					body = d.EncodeReply(nil, &r)
					got, err := d.DecodeReply(body, &llm.Quirks{})
					if err != nil {
						t.Fatalf("%s: %v in %s", name, err, body)
					}
					r = *got
				}
				if got := readTokens(t, r.Choices[0].Tokens); !sameTokens(got, want) {
					t.Fatalf("%s, %s: %s\ntokens %v, want %v", first, second, body, got, want)
				}
			}
			d := registrytest.All().Named(first)
			stream := probableStream(t, d, want)
			if gotText, got := streamedTokens(t, d, stream); gotText != text || !sameTokens(got, want) {
				t.Fatalf("%s: %s\ntokens %v of %q, want %v of %q", first, stream, got, gotText, want, text)
			}
		}
	})
}

// TestStreamedLogprobsAreRepeated checks that the last event of a response has the tokens of the whole answer.
func TestStreamedLogprobsAreRepeated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := likelyTokens().Draw(t, "tokens")
		d := registrytest.All().Named("responses")
		stream := probableStream(t, d, want)
		last := stream[bytes.LastIndex(stream, []byte("data: "))+len("data: "):]
		r, err := d.DecodeReply(rawjson.Get(last, "response"), &llm.Quirks{})
		if err != nil {
			t.Fatalf("%v in %s", err, last)
		}
		if got := readTokens(t, r.Choices[0].Tokens); !sameTokens(got, want) {
			t.Fatalf("%s\ntokens %v, want %v", last, got, want)
		}
	})
}

// probableStream encodes an answer token by token.
func probableStream(t *rapid.T, d *dialect.Dialect, tokens []token) (out []byte) {
	enc := d.NewEncoder(llm.Meta{ID: "id-1", Model: "m"})
	for _, one := range tokens {
		out = enc.Append(out, &llm.Event{Kind: llm.EventText, Text: one.Token, Tokens: tokenJSON(t, []token{one})})
	}
	return enc.Finish(out, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}})
}

// streamedTokens reads the text of a stream and its tokens.
func streamedTokens(t *rapid.T, d *dialect.Dialect, stream []byte) (text string, tokens []token) {
	dec, frames := d.NewDecoder(&llm.Quirks{}), d.Framing.NewReader(bytes.NewReader(stream), 1<<20)
	for {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return text, tokens
		}
		if err != nil {
			t.Fatalf("%v in %s", err, stream)
		}
		events, err := dec.Decode(nil, f)
		if err != nil {
			t.Fatalf("%v in %s", err, stream)
		}
		for _, ev := range events {
			if ev.Kind == llm.EventText {
				text += ev.Text
				tokens = append(tokens, readTokens(t, ev.Tokens)...)
			}
		}
	}
}

// TestLogprobsOfEachPart checks that each text of a response has its own tokens.
func TestLogprobsOfEachPart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []token
		var parts []llm.Part
		var want [][]token
		for range rapid.IntRange(1, 3).Draw(t, "texts") {
			tokens := likelyTokens().Draw(t, "tokens")
			all, want = append(all, tokens...), append(want, tokens)
			parts = append(parts, llm.Part{Kind: llm.PartText, Text: textOf(tokens)})
		}
		d := registrytest.All().Named("responses")
		body := d.EncodeReply(nil, &llm.Reply{ID: "id-1", Model: "m", Choices: []llm.Choice{{
			Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.FinishStop, Tokens: tokenJSON(t, all),
		}}})
		for i := range parts {
			content := rawjson.Get(body, "output")
			got := readTokens(t, nth(rawjson.Get(nth(content, 0), "content"), i, "logprobs"))
			if !sameTokens(got, want[i]) {
				t.Fatalf("%s\ntext %d has tokens %v, want %v", body, i, got, want[i])
			}
		}
	})
}

// nth returns element i of an array, or a path in it.
func nth(v []byte, i int, path ...string) []byte {
	for at, e := range rawjson.Elements(v) {
		if at == i && len(path) > 0 {
			return rawjson.Get(e, path...)
		} else if at == i {
			return e
		}
	}
	return nil
}

// TestIncompleteLogprobs checks the handling of incomplete or odd tokens of vendors.
func TestIncompleteLogprobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, format, body, want string }{
		{
			"no bytes", "openai", chatTold(`[{"token":"é","logprob":-0.5}]`),
			`[{"token":"é","logprob":-0.5,"bytes":[195,169],"top_logprobs":[]}]`,
		},
		{
			"a piece of a character", "openai", chatTold(`[{"token":"\\xf0\\x9f","logprob":-0.5,"bytes":[240,159],"top_logprobs":[]}]`),
			`[{"token":"\\xf0\\x9f","logprob":-0.5,"bytes":[240,159],"top_logprobs":[]}]`,
		},
		{
			"a piece without bytes", "openai", chatTold(`[{"token":"\ufffd","logprob":-0.5}]`),
			`[{"token":"\ufffd","logprob":-0.5,"bytes":null,"top_logprobs":[]}]`,
		},
		{
			"no number", "openai", chatTold(`[{"token":"a","logprob":null,"top_logprobs":null}]`),
			`[{"token":"a","logprob":-9999.0,"bytes":[97],"top_logprobs":[]}]`,
		},
		{"no tokens", "openai", chatTold(`[1,null,{"logprob":-1},"x"]`), ""},
		{"no list", "openai", chatTold(`{"token":"a"}`), ""},
		{
			"Ollama's", "ollama", `{"model":"m","message":{"role":"assistant","content":"a"},"done":true,"logprobs":[{"token":"a","logprob":-1,"bytes":[97]}]}`,
			`[{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[]}]`,
		},
		{
			"Google's without likely ones", "gemini", geminiTold(`{"chosenCandidates":[{"token":"a","tokenId":7,"logProbability":-1e-05}]}`),
			`[{"token":"a","logprob":-1e-05,"bytes":[97],"top_logprobs":[]}]`,
		},
		{
			"Google's by other spelling", "gemini", geminiTold(`{"chosen_candidates":[{"token":"a","log_probability":"-Infinity"}],"top_candidates":[{"candidates":[{"token":"b","log_probability":-1}]}]}`),
			`[{"token":"a","logprob":-9999.0,"bytes":[97],"top_logprobs":[{"token":"b","logprob":-1,"bytes":[98]}]}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := registrytest.All().Named(c.format).DecodeReply([]byte(c.body), &llm.Quirks{})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.Choices[0].Tokens); got != c.want {
				t.Errorf("%s\ntokens %s, want %s", c.body, got, c.want)
			}
		})
	}
}

func chatTold(tokens string) string {
	return `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop","logprobs":{"content":` + tokens + `}}]}`
}

func geminiTold(result string) string {
	return `{"candidates":[{"content":{"parts":[{"text":"x"}],"role":"model"},"finishReason":"STOP","logprobsResult":` + result + `}],"modelVersion":"m","responseId":"r"}`
}

// TestWishesForLogprobsCrossFormats checks that a request for log probabilities reaches each provider that has them in
// its own fields, and is reported as dropped by the others.
func TestWishesForLogprobsCrossFormats(t *testing.T) {
	t.Parallel()
	wishes := map[string]func(top int) string{
		"openai": func(top int) string {
			return `{"model":"m","messages":[{"role":"user","content":"hi"}],"logprobs":true` + someTop(`,"top_logprobs":`, top) + `}`
		},
		"responses": func(top int) string {
			return `{"model":"m","input":"hi","include":["message.output_text.logprobs"]` + someTop(`,"top_logprobs":`, top) + `}`
		},
		"gemini": func(top int) string {
			return `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"responseLogprobs":true` + someTop(`,"logprobs":`, top) + `}}`
		},
	}
	sent := map[string]string{"openai": "logprobs", "responses": "include", "gemini": "generationConfig", "ollama": "logprobs"}
	for from, wish := range wishes {
		for _, to := range registrytest.All().OfProviders() {
			d := registrytest.All().Named(to)
			if from == to {
				continue
			}
			for _, top := range []int{0, 3, 20, 21} {
				r, err := registrytest.All().Named(from).DecodeRequest([]byte(wish(top)))
				if err != nil {
					t.Fatal(err)
				}
				body, dropped, err := d.EncodeRequest(r, &llm.Quirks{})
				if err != nil {
					t.Fatalf("%s, %s: %v", from, to, err)
				}
				named := slices.ContainsFunc(dropped, func(s string) bool { return strings.Contains(strings.ToLower(s), "logprobs") || s == "include" })
				if member := sent[to]; member == "" {
					if !named || strings.Contains(strings.ToLower(string(body)), "logprobs") {
						t.Errorf("%s, %s: sent %s, named %q, want it left out and named", from, to, body, dropped)
					}
				} else if got := sentTop(body); !strings.Contains(string(rawjson.Get(body, member)), "true") && to != "responses" ||
					got != min(top, 20) || named != (top > 20) {
					t.Errorf("%s, %s: %d of a wish for %d likely tokens, named %q in %s", from, to, got, top, dropped, body)
				}
			}
		}
	}
}

func someTop(name string, top int) string {
	if top == 0 {
		return ""
	}
	return name + strconv.Itoa(top)
}

// sentTop returns the number of likely tokens that a body asks for; -1 if it asks for no probabilities.
func sentTop(body []byte) int {
	wishes, top := rawjson.Get(body, "logprobs"), rawjson.Get(body, "top_logprobs")
	if config := rawjson.Get(body, "generationConfig"); config != nil {
		wishes, top = rawjson.Get(config, "responseLogprobs"), rawjson.Get(config, "logprobs")
	}
	if include := string(rawjson.Get(body, "include")); strings.Contains(include, "message.output_text.logprobs") {
		wishes = []byte("true")
	}
	if string(wishes) != "true" {
		return -1
	}
	n, _ := rawjson.AsInt(top)
	return int(n)
}

// TestTokensWithoutText checks that a piece with only tokens, as of a character in two pieces, is not a piece of text
// in formats without tokens.
func TestTokensWithoutText(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`[{"token":"\\xf0","logprob":-1,"bytes":[240],"top_logprobs":[]}]`)
	for _, name := range registrytest.All().OfProviders() {
		d := registrytest.All().Named(name)
		enc := d.NewEncoder(llm.Meta{ID: "id-1", Model: "m"})
		got := string(enc.Append(nil, &llm.Event{Kind: llm.EventText, Tokens: raw}))
		if told := strings.Contains(got, "xf0"); told != slices.Contains(probable, name) {
			t.Errorf("%s encodes %q of a piece with only tokens", name, fmt.Sprint(got))
		} else if !told && got != "" {
			t.Errorf("%s encodes %q of tokens without a place in it", name, got)
		}
	}
}
