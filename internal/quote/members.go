package quote

import (
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// What a request may have in the words of its own wire format, that the tree does
// not model and that goes to a provider as it came. Names are without their
// underscores and in lower case. Who is not on one of these lists, or of those of the wire
// format, may carry input
// that the body does not show, and is held at the context window.

// numbersOfAnswers are the fields beside "n" that say how many answers are made: of servers
// that speak as OpenAI does or did.
var numbersOfAnswers = rawjson.Names{"bestof", "numreturnsequences", "numcompletions", "numgenerations"}

// capsBeside are the fields whose numbers a provider may write beside the cap on output: of
// reasoning, which not everybody counts under that cap, and caps by other names, of which it
// is not known which one is obeyed.
var capsBeside = rawjson.Names{
	"thinking", "thinkingbudget", "reasoning", "reasoning.maxtokens", "chattemplatekwargs", "maxthinkingtokens",
	"maxreasoningtokens",
	"maxtokens", "maxcompletiontokens", "maxoutputtokens", "maxnewtokens", "maxgentokens", "maxlength", "npredict",
	"numpredict",
}

// mostAnswers is how many answers a request may ask for in a field that is not known: no
// more are believed of a provider's reply.
const mostAnswers = 128

// answersAsked is how many answers the value of an unknown field may ask for: the product
// of its numbers, and of how many values it holds. It is above mostAnswers where that is more.
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

// tokensBeside is how many tokens of output the value of a field of capsBeside allows.
func tokensBeside(v []byte) (n int64) {
	for m := range rawjson.Scalars(v) {
		asked := number(m.Value)
		if asked < 0 { // no limit
			asked = maxUnknown
		}
		n = min(n+asked, maxUnknown)
	}
	return n
}

// number is a whole number, though it stand in a string; 0 for anything else.
func number(scalar []byte) int64 {
	text := string(scalar)
	if rawjson.KindOf(scalar) == rawjson.String {
		text = rawjson.Text(scalar)
	}
	return min(parse.Whole(text), maxUnknown)
}

// modalitiesAsked are the classes of sounds and images that a field asks an answer for: OpenAI's modalities and audio
// (https://platform.openai.com/docs/api-reference/chat/create), which OpenRouter has, too, and Gemini's
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
			// that of a name: https://protobuf.dev/programming-guides/json/
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

// otherMembers are the fields of requests for images, speech, embeddings and compactions that say how to
// make them, and not how many or how long, and those whose number or length is read otherwise.
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
	llm.OpCompact: { // with those of Codex
		"model", "input", "instructions", "tools", "toolchoice", "paralleltoolcalls", "reasoning", "text", "include",
		"metadata", "clientmetadata", "promptcachekey", "promptcacheretention", "promptcacheoptions",
	},
}

// isMore says whether a field of a request for images, speech, embeddings or a compaction that is not known
// here may ask for more of them: a number, a list, or a text of some length or an address.
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

// working are the fields that have a provider search or call tools of its own, with the
// class of what these do: OpenAI's, xAI's, OpenRouter's, Alibaba's, Perplexity's, Groq's
// and Anthropic's; and its stored prompts, which may have tools.
var working = map[string]llm.Class{
	"websearchoptions": llm.Searches, "searchparameters": llm.Searches, "enablesearch": llm.Searches,
	"searchoptions": llm.Searches,
	"websearch":     llm.Searches, "plugins": llm.OtherTools, "compoundcustom": llm.OtherTools,
	"mcpservers": llm.Output, // which costs tokens alone
	"container":  llm.CodeSessions, "prompt": llm.OtherTools,
}

// shownInside are the fields of messages and of their parts that add nothing to
// the input beyond their own bytes.
var shownInside = rawjson.Names{
	"id", "type", "status", "phase", "name", "annotations", "logprobs", "citations", "context", "title", "caller",
	"detail",
	"prefix", "cachecontrol", "extracontent", "reasoningcontent", "refusal", "index", "videometadata",
	"mediaresolution",
	"partmetadata", "thought", "summary", "content", "weir:item", "weir:content",
}

// modeMembers are the fields that decide in which mode a request is served, with how the
// names of these modes begin. A list of further models to choose from has none, and neither
// has a preset, which names a model and its tools (https://openrouter.ai/docs/guides/features/presets.md, undated copy),
// nor a choice of who serves the model, each at a price of its own
// (https://openrouter.ai/docs/features/provider-routing.md, undated copy).
var modeMembers = map[string]string{
	"servicetier": "", "inferencegeo": "geo:", "speed": "speed:", "performanceconfig": "latency:", "models": "",
	"preset": "", "provider": "",
}

// unasked are pieces of the names of models that search or call tools without being asked, with
// the class of what these do, such as agents that each read and write beyond the request's cap
// (https://openrouter.ai/x-ai/grok-4.20-multi-agent/api, stored copy of 2026); and of those that choose who serves the model, at a price that is
// not known (https://openrouter.ai/docs/guides/routing/model-variants/nitro.md, undated copy). With ":online" OpenRouter searches as by its plugin
// (https://openrouter.ai/docs/guides/routing/model-variants/online.md, undated copy).
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

// plain is a field's name without regard to its spelling.
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

// isShown says whether a part that nobody modelled is told in full: of a type
// that is known to be, and without parts of its own.
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

// unaskedClass is the class of what a model does by itself without being asked; false for none.
func unaskedClass(model string) (llm.Class, bool) {
	model = strings.ToLower(model)
	for _, u := range unasked {
		if strings.Contains(model, u.piece) {
			return u.class, true
		}
	}
	return 0, false
}

// worksLong reports whether a model calls tools by itself as often as it likes, and thinks beside the cap on its answer: what
// is usual elsewhere says nothing of it.
func worksLong(model string) bool {
	model = strings.ToLower(model)
	return strings.Contains(model, "deep-research") || strings.Contains(model, "multi-agent")
}
