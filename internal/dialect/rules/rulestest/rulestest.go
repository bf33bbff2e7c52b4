// Package rulestest creates requests that break the rules of package rules.
package rulestest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// Model returns a prefix of a name among the models of a rule; empty if all match.
func Model(o rules.Of) string {
	switch {
	case len(o.Models) == 0:
		return ""
	case o.Since == 0:
		return o.Models[0]
	}
	return fmt.Sprintf("%s-%d-%d", o.Models[0], o.Since/100, o.Since%100)
}

// Example returns a request that breaks a rule, and for a rules.InBody also the body that does. It panics for an
// unknown type.
func Example(ask rules.Ask) (r *llm.Request, body []byte) {
	r = saying("hello")
	if a, is := ask.(rules.InBody); is {
		return r, []byte(a.Wrong)
	}
	for _, breaks := range []func(*llm.Request, rules.Ask) bool{breakContent, breakOrder, breakMarks, breakTools, breakOptions} {
		if breaks(r, ask) {
			return r, nil
		}
	}
	panic(fmt.Sprintf("rulestest: no example of %T: add one", ask))
}

// breakContent breaks a rule about the content of messages.
func breakContent(r *llm.Request, ask rules.Ask) bool {
	switch a := ask.(type) {
	case rules.UncitedResults:
		call(r, "tooluse_1", "f")
		r.Messages[2].Parts[0].Result.Parts = []llm.Part{{Kind: llm.PartDocument, Media: &llm.Media{
			MIME: "text/plain", Data: "cGxhaW4=", Document: &llm.Document{Cited: true},
		}}}
	case rules.NoDocuments:
		add(r, llm.Part{
			Kind: llm.PartDocument, Media: &llm.Media{MIME: "text/plain", Data: "cGxhaW4=", Name: "notes"},
		})
	case rules.NoEmptyTexts:
		r.Messages[0].Parts[0].Text = ""
		add(r, llm.Part{Kind: llm.PartText, Text: "hello"})
	case rules.MessageMembers: // the forbidden member, or one that no vendor accepts
		r.ExtraOf = "openai"
		say(r, llm.RoleAssistant, "Hi.")
		say(r, llm.RoleUser, "and now?")
		name := a.Without
		if name == "" {
			name = "metadata"
		}
		r.Messages[1].Extra = []llm.Field{{Name: name, Value: []byte(`"x"`)}}
	case rules.NoRefusals:
		say(r, llm.RoleAssistant, "No.")
		r.Messages[1].Parts[0].Kind = llm.PartRefusal
		say(r, llm.RoleUser, "why?")
	case rules.NoNames:
		r.Messages[0].Name = "ann"
	case rules.NoSounds:
		add(r, llm.Part{Kind: llm.PartAudio, Media: &llm.Media{Data: "UklGRg==", Format: "wav"}})
		say(r, llm.RoleAssistant, "Hi.")
		say(r, llm.RoleUser, "and now?")
	case rules.ResultsShown:
		call(r, "call_a", "f")
		result := r.Messages[2].Parts[0].Result
		result.Parts = append(result.Parts, llm.Part{
			Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: "iVBORw0KGgo="},
		})
	default:
		return false
	}
	return true
}

// breakOrder breaks a rule about the order of messages and parts.
func breakOrder(r *llm.Request, ask rules.Ask) bool {
	switch ask.(type) {
	case rules.SomethingSaid:
		*r = llm.Request{Messages: []llm.Message{message(llm.RoleSystem, "Be brief.")}}
	case rules.ResultsNext:
		call(r, "call_a", "f")
		r.Messages = slices.Insert(r.Messages, 2, message(llm.RoleUser, "and be quick"),
			message(llm.RoleAssistant, "I am"))
	case rules.LastPrefix, rules.NoPrefill:
		say(r, llm.RoleAssistant, "one, two,")
	case rules.NoSpaceAtEnd:
		say(r, llm.RoleAssistant, "one, two, ")
	case rules.BridgedResults:
		call(r, "callabcd1", "f")
		say(r, llm.RoleUser, "and now?")
	case rules.OneResult:
		call(r, "call_a", "f")
		r.Messages = append(r.Messages, r.Messages[2])
	case rules.UserFirst:
		r.Messages = slices.Insert(r.Messages, 0, message(llm.RoleAssistant, "What can I do for you?"))
	case rules.ThinkingBack:
		call(r, "call_a", "f")
		r.Messages[1].Parts = append(r.Messages[1].Parts,
			llm.Part{Kind: llm.PartReasoning, Text: "it is to be called"})
	default:
		return false
	}
	return true
}

// breakMarks breaks a rule about marks of a prompt cache.
func breakMarks(r *llm.Request, ask rules.Ask) bool {
	const short, long = `{"type":"ephemeral"}`, `{"type":"ephemeral","ttl":"1h"}`
	switch a := ask.(type) {
	case rules.MostMarks:
		r.Messages[0].Parts[0].CacheControl = []byte(short)
		for range a.Most {
			add(r, llm.Part{Kind: llm.PartText, Text: "more", CacheControl: []byte(short)})
		}
	case rules.ShortMarks:
		r.Messages[0].Parts[0].CacheControl = []byte(long)
	case rules.LongMarksFirst:
		r.Messages[0].Parts[0].CacheControl = []byte(short)
		add(r, llm.Part{Kind: llm.PartText, Text: "more", CacheControl: []byte(long)})
	case rules.NoMarks:
		r.Tools = []llm.Tool{tool("f")}
		r.Tools[0].CacheControl = []byte(short)
		if a.OnMedia {
			image := &llm.Media{MIME: "image/png", Data: "iVBORw0KGgo="}
			add(r, llm.Part{Kind: llm.PartImage, Media: image, CacheControl: []byte(short)})
		}
	default:
		return false
	}
	return true
}

// breakTools breaks a rule about tools and their calls.
func breakTools(r *llm.Request, ask rules.Ask) bool {
	switch ask.(type) {
	case rules.NoCustomTools:
		custom(r)
	case rules.NoFunctions:
		r.ExtraOf, r.Tools = "openai", []llm.Tool{tool("f")}
		r.Elsewhere = &llm.Elsewhere{Tools: r.Tools, Called: llm.Called{Legacy: true}}
	case rules.NoForcedTools:
		r.Tools = []llm.Tool{tool("f")}
		r.ToolChoice = &llm.ToolChoice{Mode: llm.ToolsRequired}
	case rules.CallIDs: // 90 characters, one of them a dot
		call(r, "functions.get_weather:0.a23456789b123456789c123456789d123456789e123456789f123456789g123456", "f")
	case rules.ToolNames: // 140 characters, with dots, after a digit
		name := "9" + strings.Repeat(".lives_of_cats", 10)
		call(r, "call_a", name)
		r.ToolChoice = &llm.ToolChoice{Mode: llm.ToolsNamed, Name: name}
	case rules.ToolParameters:
		r.Tools = []llm.Tool{{Name: "f"}}
	case rules.NoAllowedTools:
		r.Tools = []llm.Tool{tool("f"), tool("g")}
		r.ToolChoice = &llm.ToolChoice{Mode: llm.ToolsAuto, Allowed: []string{"g"}}
	case rules.ToolsElsewhere:
		r.Tools = []llm.Tool{tool("f")}
	default:
		return false
	}
	return true
}

// breakOptions breaks a rule about the options of a request.
func breakOptions(r *llm.Request, ask rules.Ask) bool {
	switch a := ask.(type) {
	case rules.NoLogprobs:
		r.Logprobs = &llm.Logprobs{Top: 3, Fields: []string{"logprobs", "top_logprobs"}}
		r.Extra = []llm.Field{{Name: "logprobs", Value: []byte("true")}, {Name: "top_logprobs", Value: []byte("3")}}
	case rules.EndUser: // more than 150 characters, as Claude Code sends it
		r.User = strings.Repeat("user_0a1b2c3d4e_account__session_5f6a.", 4)
	case rules.StrictSchema: // an open object with bounds of numbers and texts
		r.Format = &llm.Format{Kind: llm.FormatSchema, Name: "one", Schema: []byte(
			`{"type":"object","properties":{"n":{"type":"integer","minimum":1},` +
				`"s":{"type":"string","maxLength":9}},"required":["n"]}`)}
	case rules.Within:
		set(r, a.Field, "1.9")
	case rules.MostTopK:
		r.TopK = new(a.Most + 1)
	case rules.LeastOutput:
		r.MaxOutput = new(int64(1))
	case rules.NoSampling:
		for _, field := range a.Fields {
			set(r, field, "0.5")
		}
	case rules.OneSampling:
		set(r, "temperature", "0.5")
		set(r, "top_p", "0.5")
	case rules.MostStops:
		for i := range a.Most + 1 {
			r.Stop = append(r.Stop, "END"+strconv.Itoa(i))
		}
	case rules.Words: // a value that no vendor accepts
		if a.Field == "reasoning_effort" {
			r.Reasoning = &llm.ReasoningOptions{Effort: "utmost"}
		} else {
			r.Extra = []llm.Field{{Name: a.Field, Value: []byte(`"utmost"`)}}
		}
	case rules.UsualModalities:
		r.Extra = []llm.Field{{Name: "modalities", Value: []byte(`["text"]`)}}
	case rules.Seeds:
		r.Seed = new(a.Least - 1)
	case rules.Positive:
		set(r, a.Field, "0")
	default:
		return false
	}
	return true
}

// set sets an option by its name in Chat Completions.
func set(r *llm.Request, name string, value json.Number) {
	switch name {
	case "temperature":
		r.Temperature = &value
	case "top_p":
		r.TopP = &value
	case "frequency_penalty":
		r.FrequencyPenalty = &value
	case "presence_penalty":
		r.PresencePenalty = &value
	case "stop":
		r.Stop = []string{"END"}
	case "top_k":
		r.TopK = new(int64(5))
	default:
		panic("rulestest: no option is named " + name + ": add it")
	}
}

// custom adds a custom tool, its call and the result.
func custom(r *llm.Request) {
	call(r, "AbCdEfGh9", "patch")
	r.ExtraOf = "openai"
	r.Elsewhere = &llm.Elsewhere{Tools: r.Tools}
	r.Elsewhere.Called.Add("patch", llm.ClientTool{Kind: llm.ToolCustom, Name: "patch"})
	r.Tools = []llm.Tool{{Raw: []byte(`{"type":"custom","custom":{"name":"patch"}}`)}}
	p := &r.Messages[1].Parts[0]
	function := *p.Call
	function.Arguments = `{"input":"x"}`
	p.Call.Arguments, p.Call.Extra = "x", []llm.Field{{Name: "type", Value: []byte(`"custom"`)}}
	p.Elsewhere = &llm.PartElsewhere{Parts: []llm.Part{{Kind: llm.PartToolCall, Call: &function}}}
}

func saying(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{message(llm.RoleUser, text)}}
}

func message(role llm.Role, text string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}}
}

// say appends a message.
func say(r *llm.Request, role llm.Role, text string) {
	r.Messages = append(r.Messages, message(role, text))
}

// add appends a part to the first message.
func add(r *llm.Request, p llm.Part) { r.Messages[0].Parts = append(r.Messages[0].Parts, p) }

func tool(name string) llm.Tool { return llm.Tool{Name: name, Parameters: []byte(`{"type":"object"}`)} }

// call adds a tool, its call and the result.
func call(r *llm.Request, id, name string) {
	r.Tools = []llm.Tool{tool(name)}
	r.Messages = append(r.Messages,
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{
			Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: id, Name: name, Arguments: "{}"},
		}}},
		llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{
			Kind:   llm.PartToolResult,
			Result: &llm.ToolResult{CallID: id, Parts: []llm.Part{{Kind: llm.PartText, Text: "done"}}},
		}}},
	)
}
