package quote

import (
	"bytes"
	"fmt"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Inputs holds the properties of a request that determine how much a provider reads and works for it, in addition to
// the bytes of its body.
type Inputs struct {
	own      bool // fields without a place in the tree reach the target
	untooled bool // it has no tools, which its calls may need in another wire format
	kept     bool // a thought in it may refer to one that the provider stores

	hidden     bool  // the body does not show the size of all input
	reads      int64 // how often a provider may charge for the input, because of an unknown field; 0 for once
	calls      int64 // of tools that the provider runs, at most
	open       openCalls
	usual      bool        // hold the usual cost of tools
	others     bool        // some calls are of tools without a fee
	tools      llm.Usage   // tool usage by class, without tools that cost only tokens
	unreported llm.Classes // the classes that a reply may not report
	// uploads says that a file is put into a container.
	uploads bool
	// searchInFee says that the fee for a request includes its search.
	searchInFee bool

	// requested and contained kinds of sound and images that may have a class of their own
	modalities llm.Classes

	answers int64
	many    string // the field that requests an implausible number of answers; empty for none
	limit   int64  // the client's cap on each answer
	capped  bool   // the client set a cap

	reasonsWithin bool // reasoning is switched off or has a cap of its own

	around  int64 // tokens of the vendor's own text
	schemas int64 // tokens that the JSON of tools and calls may gain when written again
	escapes int64 // the same for escapes in it and in tool results
	fine    int64 // the Fine result of upperBound.visible, once computed
	counted int64 // the provider's count with a margin and the content that it excludes; 0 if it has not counted
	beside  int64 // output tokens beyond the caps on answers: reasoning, and the wrong part of a predicted answer

	enclosed
}

// inputs returns the properties of the request at the target, as budgets hold it.
func (q *Quote) inputs() Inputs {
	r := q.inputsAtMost()
	if r.usual = q.table.UsualTools() && !worksLong(q.Target.Model); r.usual {
		r.holdUsual()
		r.tools[llm.OtherTools] = max(r.tools[llm.OtherTools], q.SeparateFees()) // these are not calls
	}
	return r
}

// holdUsual limits tool calls to their usual number.
func (r *Inputs) holdUsual() {
	calls := int64(usualCalls)
	if r.open.caps > 0 {
		r.open.each = min(r.open.each, usualCalls/min(r.open.caps, usualCalls))
	} else if r.calls >= mostCalls { // there is no cap
		calls = usualReads
	}
	r.calls = min(r.calls, calls)
	for c := range r.tools {
		r.tools[c] = min(r.tools[c], usualCalls)
	}
}

// inputsAtMost returns the upper bounds of the request's properties at the target. Fields of the client's wire format
// reach only a target that speaks it.
func (q *Quote) inputsAtMost() Inputs {
	r := Inputs{
		answers: max(1, q.Head.Choices), limit: q.askedCap(), capped: q.Head.MaxOutput > 0,
		enclosed: q.enclosed(),
	}
	if q.Op.Op != llm.OpChat {
		return r
	}
	tree, err := q.Tree()
	if err != nil { // it cannot be decoded, but a provider may accept it
		r.hidden = true
		r.run(toolOf(unknownKind, &q.Dialect.Inputs), mostCalls)
		return r
	}
	if tree.MaxOutput != nil && !r.capped { // a cap of 0
		r.limit, r.capped = *tree.MaxOutput, true
	}
	r.own, r.kept, r.searchInFee = tree.ExtraOf == q.Speaks.Name, q.Op.Kept != nil, q.hasSearchInFee()
	if tree.Format != nil {
		r.format(tree.Format)
	}
	if tree.HasTools() {
		r.around += aroundTools
	}
	if tree.Elsewhere != nil && (!r.own || q.BreaksOwn()) {
		r.offered(tree.Elsewhere)
	}
	r.translated(tree)
	in := &q.Dialect.Inputs
	for i := range tree.Tools {
		t := &tree.Tools[i]
		r.function(t)
		if t.Raw != nil && (r.own || t.Search == nil) {
			r.tool(t.Raw, in, q.usesOf(t.Raw))
			q.openUses(&r, t.Raw)
		}
	}
	if !r.own {
		q.asksSearches(&r, tree)
	}
	for i := range tree.Messages {
		r.extra(tree.Messages[i].Extra, in)
		r.parts(tree.Messages[i].Parts, in)
	}
	if r.own {
		r.members(tree, in, q.Quirks)
	}
	r.around += q.growth(tree)
	if q.Quirks.BillsFetches { // each call may open a page
		r.tools[llm.OtherTools] += r.calls
	}
	if q.Quirks.ReasoningBesideCap && !r.reasonsWithin && q.table.MayReason(q.Target) {
		r.beside += q.window() // more does not fit
	}
	r.tools[llm.OtherTools] += q.SeparateFees()
	if class, ok := unaskedClass(q.Target.Model); ok && r.tools[class] == 0 && !r.isInFee(class) {
		r.run(dialect.Tool{Class: class}, mostCalls)
	}
	return r
}

// format adds the format of the answer, which may become an instruction in other wire formats.
func (r *Inputs) format(f *llm.Format) {
	r.schema(f.Schema)
	r.around += aroundTools
	if f.Kind == llm.FormatJSON && !r.own {
		r.schemas += aroundOwn + int64(len(compose.OnlyJSON))
	}
}

// usesOf returns the most uses of a provider's own tool for one request.
func (o *Offer) usesOf(raw []byte) int64 {
	limit := o.Speaks.Inputs.MaxUses
	if limit == "" || o.Quirks.IgnoresCallCaps {
		return mostCalls
	}
	if n, ok := rawjson.AsInt(rawjson.Get(raw, limit)); ok && n >= 0 && n <= maxUnknown {
		return n
	}
	return mostCalls
}

// parts adds the parts of a message or of a tool result.
func (r *Inputs) parts(parts []llm.Part, in *dialect.Inputs) {
	for i := range parts {
		p := &parts[i]
		r.extra(p.Extra, in)
		switch {
		case p.Elsewhere != nil && !r.own:
			r.elsewhere(p.Elsewhere.Parts, in)
		case p.Kind == llm.PartOther:
			r.other(p.Raw, in)
		case p.Media != nil:
			r.media(p.Kind, p.Media)
			if p.Kind == llm.PartDocument && !r.own { // a text may be added before it
				r.schemas += aroundCall
			}
		case p.Call != nil:
			r.call(p.Call)
			r.called(p.Call)
		case p.Result != nil:
			r.result(p.Result.Parts)
			r.parts(p.Result.Parts, in)
		case p.Kind == llm.PartReasoning && r.kept && p.Signature != "" && p.Redacted == "":
			r.hidden = true // the provider stores it under its id
		}
	}
}

// extra adds the extra fields of a message or a part.
func (r *Inputs) extra(fields []llm.Field, in *dialect.Inputs) {
	for _, f := range fields {
		if name := plain(f.Name); r.own && !shownInside.Has(name) {
			r.hidden = true
			r.toolsBy(name, f.Value, in)
			if name == "audio" { // of an earlier answer, by its id
				r.modalities = r.modalities.With(llm.AudioIn)
			}
		}
	}
}

// other adds a part or an item of unknown type. It may be a list of tools, such as OpenAI's additional_tools; a list
// from an MCP server is only its report.
func (r *Inputs) other(raw []byte, in *dialect.Inputs) {
	if isShown(raw, in) {
		return
	}
	r.hidden = true
	if isToolList(raw) {
		return
	}
	for m := range rawjson.Members(raw) {
		r.toolsBy(plain(m.Name()), m.Value, in)
	}
}

// members adds the extra top-level fields.
func (r *Inputs) members(tree *llm.Request, in *dialect.Inputs, q *llm.Quirks) {
	total := int64(-1)
	for _, f := range tree.Extra {
		name := plain(f.Name)
		r.modalities |= modalitiesAsked(name, f.Value)
		n, isInt := rawjson.AsInt(f.Value)
		switch {
		case q.MaxOutputField != "" && f.Name == q.MaxOutputField:
			if !isInt || n < 0 { // not a reliable number
				n = maxUnknown
			}
			r.limit, r.capped = max(r.limit, n), true
		case in.MaxCalls.Has(name):
			if !isInt || n < 0 { // the same
				n = maxUnknown
			}
			if name == maxTurns { // each turn may have several calls
				n = max(n, mostCalls)
			}
			if rawjson.Present(f.Value) {
				total = max(total, min(n, maxUnknown)) // it is unknown which of two caps is obeyed
			}
		case name == "maxtoolcalls": // chats have no such cap
		case numbersOfAnswers.Has(name):
			r.answers = max(r.answers, answersAsked(f.Value))
		case otherCaps.Has(name):
			r.beside += tokensAllowed(f.Value)
			r.reasonsWithin = r.reasonsWithin || name == "thinkingbudget"
		case name == "enablethinking":
			on, isBool := rawjson.AsBool(f.Value)
			r.reasonsWithin = r.reasonsWithin || isBool && !on
		case name == "prediction":
			r.beside += int64(len(f.Value))
		case name == "contextmanagement" && bytes.Contains(f.Value, []byte("compact")):
			r.run(dialect.Tool{Class: llm.Input}, mostCalls)
		case f.Name == capMember && q.CapsPrice: // only the highest prices; other fields were refused
		case r.works(name, f.Value, in):
		case !in.Shown.Has(name):
			r.hidden = true
			r.toolsBy(name, f.Value, in)
			asked := answersAsked(f.Value)
			r.answers, r.reads = times(r.answers, asked), times(max(1, r.reads), asked)
		}
		if r.many == "" && r.answers > mostAnswers {
			r.many = f.Name
		}
	}
	if total < 0 && r.calls > 0 && in.MaxCalls.Has(plain(q.CallCap)) {
		total = mostCalls
		r.openCap()
	}
	if total >= 0 && r.calls > 0 && !q.IgnoresCallCaps {
		r.capCalls(total)
	}
}

// capCalls limits the calls of all tools to that total.
func (r *Inputs) capCalls(most int64) {
	r.calls = most
	for c := range r.tools {
		if r.tools[c] > 0 {
			r.tools[c] = most
		}
	}
}

// searchesAlone reports whether all calls are web searches.
func (r *Inputs) searchesAlone() bool {
	for c, n := range r.tools {
		if n > 0 && llm.Class(c) != llm.Searches {
			return false
		}
	}
	return r.tools[llm.Searches] > 0 && !r.others
}

// Inputs returns the properties of the request at the target, or an error if no budget can bound its cost. The number
// of elements in its body must have been checked.
func (q *Quote) Inputs() (Inputs, error) {
	if err := q.unpriced(); err != nil {
		return Inputs{}, err
	}
	r := q.inputs()
	if r.many != "" {
		return Inputs{}, unknownField(r.many)
	}
	return r, nil
}

// unpriced returns the error for a request under a budget that has an unknown price at the target although its model
// has a price.
func (q *Quote) unpriced() error {
	if q.Price.Rates[llm.CacheWrite].Known() && !q.Price.Rates[llm.CacheWrite1h].Known() && asksHourCache(q.Body) {
		return llm.Invalid("cache_control",
			fmt.Sprintf("The price of the model %q for a cache lifetime of one hour is unknown, so a budget cannot "+
				`bound its cost. Remove ttl, or use "5m".`, q.Target.FullName()))
	}
	if q.Speaks != q.Dialect {
		return nil // none of these fields reaches the target
	}
	if q.Head.Unknown != "" {
		return unknownField(q.Head.Unknown)
	}
	if q.Head.LongCache {
		return llm.Invalid("prompt_cache_options",
			fmt.Sprintf("The price of the model %q with this ttl in prompt_cache_options is unknown, "+
				`so a budget cannot bound its cost. Remove ttl, or use "30m".`, q.Target.FullName()))
	}
	if asksLongBreak(q.Body) {
		return llm.Invalid(compose.Breakpoint,
			fmt.Sprintf("The price of the model %q with this ttl in prompt_cache_breakpoint is unknown, "+
				`so a budget cannot bound its cost. Remove ttl, or use "30m".`, q.Target.FullName()))
	}
	if q.Op.Multipart {
		return nil
	}
	if name, twice := rawjson.Repeated(q.Body); twice {
		return llm.Invalid(
			name, fmt.Sprintf("The field %q appears twice in one object of the body, and a provider may obey either, "+
				"so a budget cannot bound its cost. Send it once.", name))
	}
	for m := range rawjson.Members(q.Body) {
		if isMore(q.Op.Op, m) {
			return unknownField(m.Name())
		}
		kind, decides := modeMembers[plain(m.Name())]
		value := m.Value
		if kind == "latency:" { // Bedrock puts it into an object
			value = rawjson.Get(value, "latency")
		}
		if !decides || q.isPriceCap(m) || !rawjson.Present(value) || rawjson.KindOf(value) == rawjson.String &&
			q.Price.Has(kind+rawjson.Text(value)) {
			continue
		}
		return llm.Invalid(m.Name(),
			fmt.Sprintf("The price of the model %q with this %s is unknown, so a budget cannot bound its cost. "+
				"Remove %s, or ask the operator to set a price.", q.Target.FullName(), m.Name(), m.Name()))
	}
	return nil
}

func unknownField(name string) error {
	return llm.Invalid(
		name, fmt.Sprintf(
			"The cost of the field %.64s is unknown, so a budget cannot bound it. Remove the field.",
			name))
}
