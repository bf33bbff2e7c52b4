package dialect_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/dialect/toytest"
	"weir/internal/llm"
)

// providers returns the wire formats that have both halves.
func providers() []*dialect.Dialect {
	return slices.DeleteFunc(registrytest.All(), func(d *dialect.Dialect) bool { return d.EncodeRequest == nil })
}

// TestNothingVanishes checks, for every wire format, that each feature of a request in another one is translated,
// reported as dropped, or refused.
func TestNothingVanishes(t *testing.T) {
	t.Parallel()
	for _, d := range append(providers(), toytest.Dialect()) {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			whole := 0
			rapid.Check(t, func(t *rapid.T) {
				x := requests(d).Draw(t, "request")
				body, dropped, err := d.EncodeRequest(x, &llm.Quirks{})
				if err != nil {
					if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param == "" || e.Message == "" {
						t.Fatalf("refused with %v, want an error for the client that names a parameter", err)
					}
					return
				}
				whole++
				got := decoded(t, d, body)
				for _, f := range features(x) {
					if !f.in(got) && !slices.ContainsFunc(f.drops, func(name string) bool { return slices.Contains(dropped, name) }) {
						t.Fatalf("%s is neither in %s nor named in %q", f.name, body, dropped)
					}
				}
			})
			if whole == 0 {
				t.Error("every request was refused")
			}
		})
	}
}

// TestRoundTrip checks that a request in its own wire format loses nothing between a tree and its bytes.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, d := range providers() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			own := cmpopts.IgnoreFields(llm.Request{}, "Elsewhere") // follows from the rest
			at := cmpopts.IgnoreFields(llm.Message{}, "At")         // of the body that was read
			search := cmpopts.IgnoreFields(llm.Tool{}, "Search")    // follows from the rest
			rapid.Check(t, func(t *rapid.T) {
				body, _, err := d.EncodeRequest(requests(d).Draw(t, "request"), &llm.Quirks{})
				if err != nil {
					return
				}
				want := decoded(t, d, body) // in its own format
				embellish(t, d, want)
				body, dropped, err := d.EncodeRequest(want, &llm.Quirks{})
				if err != nil || len(dropped) > 0 {
					t.Fatalf("encode: dropped %q, error %v", dropped, err)
				}
				if diff := cmp.Diff(decoded(t, d, body), want, cmpopts.EquateEmpty(), own, at, search); diff != "" {
					t.Fatalf("through %s (-got +want)\n%s", body, diff)
				}
			})
		})
	}
}

func decoded(t *rapid.T, d *dialect.Dialect, body []byte) *llm.Request {
	t.Helper()
	if _, err := d.Scan(body, arrived(d)); err != nil {
		t.Fatalf("scan of %s: %v", body, err)
	}
	r, err := d.DecodeRequest(body)
	if err != nil {
		t.Fatalf("decode of %s: %v", body, err)
	}
	return r
}

// feature describes a feature of a request, with the names of which one reports that it was dropped.
type feature struct {
	name  string
	drops []string
	in    func(r *llm.Request) bool
}

func features(x *llm.Request) (list []feature) {
	add := func(there bool, name string, in func(r *llm.Request) bool, drops ...string) {
		if there {
			list = append(list, feature{name, drops, in})
		}
	}
	add(x.MaxOutput != nil, "max", func(r *llm.Request) bool { return equal(r.MaxOutput, x.MaxOutput) })
	add(x.Temperature != nil && *x.Temperature != "1", "temperature", func(r *llm.Request) bool { return equal(r.Temperature, x.Temperature) }, "temperature")
	add(x.TopP != nil && *x.TopP != "1", "top_p", func(r *llm.Request) bool { return equal(r.TopP, x.TopP) }, "top_p")
	add(x.TopK != nil, "top_k", func(r *llm.Request) bool { return equal(r.TopK, x.TopK) || extra(r, `"topK":`) }, "top_k")
	add(x.FrequencyPenalty != nil, "frequency_penalty", func(r *llm.Request) bool { return equal(r.FrequencyPenalty, x.FrequencyPenalty) }, "frequency_penalty")
	add(x.PresencePenalty != nil, "presence_penalty", func(r *llm.Request) bool { return equal(r.PresencePenalty, x.PresencePenalty) }, "presence_penalty")
	add(x.Seed != nil, "seed", func(r *llm.Request) bool { return equal(r.Seed, x.Seed) }, "seed")
	add(x.Choices != nil, "n", func(r *llm.Request) bool { return equal(r.Choices, x.Choices) })
	add(x.Stop != nil, "stop", func(r *llm.Request) bool { return slices.Equal(r.Stop, x.Stop) }, "stop")
	add(x.User != "", "user", func(r *llm.Request) bool { return r.User == x.User }, "user")
	add(x.Reasoning != nil, "reasoning", func(r *llm.Request) bool { return r.Reasoning != nil || extra(r, "maxReasoningEffort") }, "reasoning_effort", "reasoning budget")
	if f := x.Format; f != nil && f.Kind != llm.FormatText {
		add(true, "format", func(r *llm.Request) bool {
			if r.Format == nil {
				return f.Kind == llm.FormatJSON && asksInWords(r)
			}
			return r.Format.Kind == f.Kind && string(r.Format.Schema) == string(f.Schema)
		})
		add(f.Description != "", "format description", func(r *llm.Request) bool { return r.Format.Description == f.Description },
			"response_format description", "response_format.json_schema.description")
	}
	add(len(x.Extra) > 0, "extra", none, "x_one")
	list = append(list, toolFeatures(x)...)
	for i := range x.Messages {
		list = append(list, messageFeatures(x, &x.Messages[i])...)
	}
	return list
}

// asksInWords reports whether a system message has the text that replaces a JSON mode.
func asksInWords(r *llm.Request) bool {
	return slices.ContainsFunc(r.Messages, func(m llm.Message) bool {
		return m.Role == llm.RoleSystem && slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Text == compose.OnlyJSON })
	})
}

// extra reports whether an unknown field holds the text.
func extra(r *llm.Request, text string) bool {
	return slices.ContainsFunc(r.Extra, func(f llm.Field) bool { return strings.Contains(string(f.Value), text) })
}

func none(*llm.Request) bool { return false }

func equal[T comparable](a, b *T) bool { return a != nil && b != nil && *a == *b }

func toolFeatures(x *llm.Request) (list []feature) {
	forbidden := x.ToolChoice != nil && x.ToolChoice.Mode == llm.ToolsNone
	for i := range x.Tools {
		want := &x.Tools[i]
		find := func(r *llm.Request, same func(t *llm.Tool) bool) bool {
			if forbidden && len(r.Tools) == 0 {
				return true // some formats express it this way
			}
			for j := range r.Tools {
				if r.Tools[j].Name == want.Name && same(&r.Tools[j]) {
					return true
				}
			}
			return false
		}
		list = append(list, feature{"tool " + want.Name, nil, func(r *llm.Request) bool {
			return find(r, func(t *llm.Tool) bool {
				return t.Description == want.Description && string(t.Parameters) == string(want.Parameters)
			})
		}})
		if want.Strict != nil && *want.Strict {
			list = append(list, feature{"strict", []string{"strict"}, func(r *llm.Request) bool {
				return find(r, func(t *llm.Tool) bool { return equal(t.Strict, want.Strict) })
			}})
		}
		if want.CacheControl != nil {
			list = append(list, feature{"cache of a tool", []string{"cache_control"}, func(r *llm.Request) bool {
				return find(r, func(t *llm.Tool) bool { return t.CacheControl != nil })
			}})
		}
		if want.Extra != nil {
			list = append(list, feature{"extra of a tool", []string{"tool fields of another API"}, func(r *llm.Request) bool { return forbidden && len(r.Tools) == 0 }})
		}
	}
	if c := x.ToolChoice; c != nil && c.Mode != llm.ToolsAuto {
		var drops []string
		if forbidden { // Bedrock has no such choice in a conversation with calls, so the system message expresses it
			drops = []string{"tool_choice"}
		}
		list = append(list, feature{"tool choice", drops, func(r *llm.Request) bool {
			return forbidden && len(r.Tools) == 0 ||
				r.ToolChoice != nil && (cmp.Equal(r.ToolChoice, c) || len(r.Tools) == 1 && r.ToolChoice.Mode == llm.ToolsRequired)
		}})
	}
	if p := x.ParallelTools; p != nil && !*p {
		list = append(list, feature{"one call at a time", []string{"parallel_tool_calls"}, func(r *llm.Request) bool { return equal(r.ParallelTools, p) }})
	}
	return list
}

func messageFeatures(x *llm.Request, m *llm.Message) (list []feature) {
	if m.Name != "" {
		list = append(list, feature{"name", []string{"name"}, func(r *llm.Request) bool {
			return slices.ContainsFunc(r.Messages, func(got llm.Message) bool { return got.Name == m.Name })
		}})
	}
	if m.Extra != nil {
		list = append(list, feature{"extra of a message", []string{"message fields of another API"}, none})
	}
	for i := range m.Parts {
		list = append(list, partFeatures(x, m.Role, &m.Parts[i])...)
	}
	return list
}

func partFeatures(x *llm.Request, role llm.Role, want *llm.Part) (list []feature) {
	add := func(there bool, name string, in func(p *llm.Part) bool, drops ...string) {
		if there {
			list = append(list, feature{name, drops, func(r *llm.Request) bool { return anyPart(r, in) }})
		}
	}
	switch want.Kind {
	case llm.PartText, llm.PartRefusal:
		list = append(list, feature{fmt.Sprintf("%s says %q", role, want.Text), nil, func(r *llm.Request) bool { return strings.Contains(said(r, role), want.Text) }})
	case llm.PartReasoning:
		add(want.Text != "", "thought", func(p *llm.Part) bool { return p.Kind == want.Kind && strings.Contains(p.Text, want.Text) }, "reasoning")
	case llm.PartImage, llm.PartAudio, llm.PartDocument:
		add(true, "media", func(p *llm.Part) bool {
			return p.Kind == want.Kind && p.Media.Data == want.Media.Data && p.Media.URL == want.Media.URL
		})
		add(want.Media.Detail != "", "detail", func(p *llm.Part) bool { return p.Media != nil && p.Media.Detail == want.Media.Detail }, "detail")
		add(want.Media.Name != "", "file name", func(p *llm.Part) bool { return p.Media != nil && p.Media.Name == want.Media.Name }, "filename")
	case llm.PartToolCall:
		add(true, "call", func(p *llm.Part) bool {
			return p.Call != nil && p.Call.Name == want.Call.Name && p.Call.Arguments == want.Call.Arguments
		})
		add(want.Call.Extra != nil, "extra of a call", func(*llm.Part) bool { return false }, "tool call fields of another API")
	case llm.PartToolResult:
		list = append(list, resultFeatures(x, want.Result)...)
	case llm.PartOther:
		add(true, "raw part", func(*llm.Part) bool { return false }, "content parts of another API")
	}
	add(want.Signature != "", "signature", func(p *llm.Part) bool { return p.Signature == want.Signature && p.Maker == want.Maker }, "reasoning signature", "reasoning")
	add(want.Redacted != "", "redacted", func(p *llm.Part) bool { return p.Redacted == want.Redacted && p.Maker == want.Maker }, "redacted reasoning", "reasoning")
	add(want.CacheControl != nil, "cache", func(p *llm.Part) bool { return p.CacheControl != nil }, "cache_control")
	add(want.Annotations != nil, "annotations", func(*llm.Part) bool { return false }, "annotations", "content fields of another API")
	add(want.Extra != nil, "extra of a part", func(*llm.Part) bool { return false }, "content fields of another API", "tool result fields of another API")
	return list
}

// resultFeatures returns the features of a result, which must answer a call of the same function as before.
func resultFeatures(x *llm.Request, want *llm.ToolResult) (list []feature) {
	function := functionOf(x, want.CallID)
	list = append(list, feature{"result of " + function, nil, func(r *llm.Request) bool {
		return anyPart(r, func(p *llm.Part) bool { return p.Result != nil && functionOf(r, p.Result.CallID) == function })
	}})
	if want.IsError {
		list = append(list, feature{"error of a tool", []string{"tool result is_error"}, func(r *llm.Request) bool {
			return anyPart(r, func(p *llm.Part) bool { return p.Result != nil && p.Result.IsError })
		}})
	}
	for i := range want.Parts {
		list = append(list, partFeatures(x, llm.RoleTool, &want.Parts[i])...)
	}
	return list
}

// functionOf returns the function of the call with that id.
func functionOf(r *llm.Request, id string) (name string) {
	anyPart(r, func(p *llm.Part) bool {
		if p.Call != nil && p.Call.ID == id {
			name = p.Call.Name
		}
		return false
	})
	return name
}

// anyPart reports whether a part of a message, or of a result, is such.
func anyPart(r *llm.Request, is func(p *llm.Part) bool) bool {
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			if is(p) || p.Result != nil && slices.ContainsFunc(p.Result.Parts, func(in llm.Part) bool { return is(&in) }) {
				return true
			}
		}
	}
	return false
}

// said joins the text of one role in a request.
func said(r *llm.Request, role llm.Role) (s string) {
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			switch {
			case p.Result != nil && role == llm.RoleTool:
				for k := range p.Result.Parts {
					s += p.Result.Parts[k].Text + "\n"
				}
			case r.Messages[i].Role == role && (p.Kind == llm.PartText || p.Kind == llm.PartRefusal):
				s += p.Text + "\n"
			}
		}
	}
	return s
}
