package quote

import (
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The lists below name fields of requests that have no field in the tree and are sent to a provider of the same wire
// format unchanged. Names are in lower case and without underscores. A field that is neither in one of these lists
// nor in those of the wire format may carry input that the body does not show, so that the request is held at the
// context window.

// numbersOfAnswers are the fields other than "n" that set the number of answers, on servers with OpenAI's current or
// former formats.
var numbersOfAnswers = rawjson.Names{"bestof", "numreturnsequences", "numcompletions", "numgenerations"}

// otherCaps are the fields whose numbers a provider may allow in addition to the output cap: reasoning, which not
// every provider counts under that cap, and caps under other names, because it is unknown which one is obeyed.
var otherCaps = rawjson.Names{
	"thinking", "thinkingbudget", "reasoning", "reasoning.maxtokens", "chattemplatekwargs", "maxthinkingtokens",
	"maxreasoningtokens",
	"maxtokens", "maxcompletiontokens", "maxoutputtokens", "maxnewtokens", "maxgentokens", "maxlength", "npredict",
	"numpredict",
}

// mostAnswers bounds the number of answers that an unknown field may request; a provider's reply cannot have more.
const mostAnswers = 128

// answersAsked returns the number of answers that the value of an unknown field may request: the product of its
// numbers and of the number of its values. A result above mostAnswers means too many.
func answersAsked(v []byte) int64 {
	n, values := int64(1), int64(0)
	for m := range rawjson.Scalars(v) {
		values++
		if asked := number(m.Value); asked > 1 {
			n = times(n, asked)
		}
	}
	return times(n, max(1, values))
}

// tokensAllowed returns the output tokens that the value of a field in otherCaps allows.
func tokensAllowed(v []byte) (n int64) {
	for m := range rawjson.Scalars(v) {
		asked := number(m.Value)
		if asked < 0 { // no limit
			asked = maxUnknown
		}
		n = min(n+asked, maxUnknown)
	}
	return n
}

// number returns a whole number, also from a string; 0 for any other value.
func number(scalar []byte) int64 {
	text := string(scalar)
	if rawjson.KindOf(scalar) == rawjson.String {
		text = rawjson.Text(scalar)
	}
	return min(parse.Whole(text), maxUnknown)
}

// modalitiesAsked returns the classes of sound and images that a field requests: OpenAI's modalities and audio
// (https://platform.openai.com/docs/api-reference/chat/create), also at OpenRouter, and Gemini's
// (https://ai.google.dev/api/generate-content#generationconfig).
func modalitiesAsked(name string, v []byte) (asked llm.Classes) {
	switch name {
	case "audio":
		if rawjson.Present(v) {
			asked = asked.With(llm.AudioOut)
		}
	case "modalities", "generationconfig.responsemodalities":
		for m := range rawjson.Scalars(v) {
			word := strings.ToLower(rawjson.Text(m.Value))
			// a number stands for an enum's name: https://protobuf.dev/programming-guides/json/
			isNumber := rawjson.KindOf(m.Value) == rawjson.Number
			if isNumber || word == "audio" {
				asked = asked.With(llm.AudioOut)
			}
			if isNumber || word == "image" {
				asked = asked.With(llm.ImageOut)
			}
		}
	}
	return asked
}

// otherMembers are the fields of requests for images, speech, embeddings and compactions that do not increase the
// amount of work, and those whose number or length is read elsewhere.
var otherMembers = map[llm.Op]rawjson.Names{
	llm.OpEmbed: {
		"model", "input", "inputs", "texts", "inputtext", "content", "requests", "user", "dimensions",
		"outputdimension",
		"outputdimensionality", "encodingformat", "embeddingtypes", "truncateprompttokens", "title", "options",
		"keepalive",
	},
	llm.OpImage: {
		"model", "prompt", "n", "stream", "size", "resolution", "quality",
		"seed", "width", "height", "steps", "numinferencesteps", "outputcompression", "partialimages",
	},
	llm.OpSpeech: {"model", "input", "instructions", "seed", "samplerate"},
	llm.OpCompact: { // including Codex' own
		"model", "input", "instructions", "tools", "toolchoice", "paralleltoolcalls", "reasoning", "text", "include",
		"metadata", "clientmetadata", "promptcachekey", "promptcacheretention", "promptcacheoptions",
	},
}

// isMore reports whether an unknown field of a request for images, speech, embeddings or a compaction may increase
// the amount of work: a number above 1, a list, a long text or an address.
func isMore(op llm.Op, m rawjson.Member) bool {
	known := otherMembers[op]
	if known == nil || known.Has(plain(m.Name())) {
		return false
	}
	switch rawjson.KindOf(m.Value) {
	case rawjson.Number:
		return parse.Whole(string(m.Value)) > 1
	case rawjson.Array, rawjson.Object:
		return true
	case rawjson.String:
		return parse.IsMore(m.Name(), rawjson.Text(m.Value))
	}
	return false
}

// working maps the fields that make a provider search or call tools of its own to the class of that work: OpenAI's,
// xAI's, OpenRouter's, Alibaba's, Perplexity's, Groq's and Anthropic's; and stored prompts, which may have tools.
var working = map[string]llm.Class{
	"websearchoptions": llm.Searches, "searchparameters": llm.Searches, "enablesearch": llm.Searches,
	"searchoptions": llm.Searches,
	"websearch":     llm.Searches, "plugins": llm.OtherTools, "compoundcustom": llm.OtherTools,
	"mcpservers": llm.Output, // costs only tokens
	"container":  llm.CodeSessions, "prompt": llm.OtherTools,
}

// shownInside are the fields of messages and parts whose input is only their own bytes.
var shownInside = rawjson.Names{
	"id", "type", "status", "phase", "name", "annotations", "logprobs", "citations", "context", "title", "caller",
	"detail",
	"prefix", "cachecontrol", "extracontent", "reasoningcontent", "refusal", "index", "videometadata",
	"mediaresolution",
	"partmetadata", "thought", "summary", "content", "weir:item", "weir:content",
}

// modeMembers maps the fields that decide in which mode a request is served to the prefix of these modes' names. A
// list of further models has no modes, and neither has a preset, which names a model and its tools
// (https://openrouter.ai/docs/guides/features/presets.md, undated copy), nor a choice of the company that serves the
// model, each at its own price (https://openrouter.ai/docs/features/provider-routing.md, undated copy).
var modeMembers = map[string]string{
	"servicetier": "", "inferencegeo": "geo:", "speed": "speed:", "performanceconfig": "latency:", "models": "",
	"preset": "", "provider": "",
}

// unasked maps parts of the names of models that search or call tools by themselves to the class of that work, such
// as agents that each read and write beyond the request's cap (https://openrouter.ai/x-ai/grok-4.20-multi-agent/api,
// stored copy of 2026); and of models whose variant selects a company at an unknown price
// (https://openrouter.ai/docs/guides/routing/model-variants/nitro.md, undated copy). With ":online" OpenRouter
// searches as with its plugin (https://openrouter.ai/docs/guides/routing/model-variants/online.md, undated copy).
var unasked = []struct {
	piece string
	class llm.Class
}{
	{"search-preview", llm.Searches},
	{"search-api", llm.Searches},
	{"sonar", llm.Searches},
	{"deep-research", llm.Searches},
	{"groq/compound", llm.Searches},
	{"multi-agent", llm.OtherTools},
	{":online", llm.OtherTools},
	{"@preset/", llm.OtherTools},
	{":nitro", llm.OtherTools},
	{":exacto", llm.OtherTools},
	{":floor", llm.OtherTools},
}

// plain returns a field's name in lower case and without underscores.
func plain(name string) string { return string(appendPlain(nil, []byte(name))) }

// appendPlain appends the plain form of a field's name to dst.
func appendPlain(dst, name []byte) []byte {
	for _, c := range name {
		switch {
		case c == '_':
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// isShown reports whether the body shows all content of a part of unknown kind: its type is in the list, and it has
// no parts of its own.
func isShown(raw []byte, in *dialect.Inputs) bool {
	members := true
	for m := range rawjson.Members(raw) {
		if k := rawjson.KindOf(m.Value); m.Is("output") && k != rawjson.String && rawjson.Present(m.Value) {
			return false
		}
		members = members && in.ShownMembers.Has(plain(m.Name()))
	}
	return members || in.ShownParts.Has(rawjson.Text(rawjson.Get(raw, "type")))
}

// unaskedClass returns the class of the tools that a model uses by itself; false for none.
func unaskedClass(model string) (llm.Class, bool) {
	model = strings.ToLower(model)
	for _, u := range unasked {
		if strings.Contains(model, u.piece) {
			return u.class, true
		}
	}
	return 0, false
}

// worksLong reports whether a model calls tools as often as it decides and reasons beyond the output cap: the usual
// numbers of calls do not apply to it.
func worksLong(model string) bool {
	model = strings.ToLower(model)
	return strings.Contains(model, "deep-research") || strings.Contains(model, "multi-agent")
}
