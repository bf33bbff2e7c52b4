package quote

import (
	"bytes"
	"fmt"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Inputs are what of a request decides how much a provider reads and works for
// it, beside the bytes of its body.
type Inputs struct {
	own      bool // what nobody modelled of it reaches the target
	untooled bool // it has no tools, which its calls may need in another wire format
	kept     bool // a thought in it may stand for one that the provider has kept

	hidden bool  // there is input whose size the body does not show
	reads  int64 // how often a provider may charge for the input, by a field that is not known; 0 for once
	calls  int64 // of tools that the provider runs itself, at most
	open   openCalls
	usual  bool        // what tools usually cost is to be held
	others bool        // some of the calls are of tools without a fee
	tools  llm.Usage   // what these are, by class; what costs nothing but tokens is in none
	untold llm.Classes // those of which a reply may not tell
	// uploads says that a file is put into a container.
	uploads bool
	// searchInFee says that the fee for a request has its search in it.
	searchInFee bool

	// of tokens of sounds and images that it has or asks for, where these have a class of their own
	modalities llm.Classes

	answers int64
	many    string // the field that asks for more answers than can be believed; empty for none
	limit   int64  // the client's cap on each
	capped  bool   // it gave one

	reasonsWithin bool // reasoning is switched off, or has a limit of its own

	around  int64 // tokens of the vendor's own words
	schemas int64 // tokens that the JSON of tools and of calls may have beyond its bytes, written anew
	escapes int64 // likewise, of escapes in it and in results of tools
	fine    int64 // boundShown as Fine, once it was found
	counted int64 // tokens that the provider counts, with what it does not count and a margin; 0 where it was not asked
	beside  int64 // tokens of output beyond the caps on answers: reasoning, and what of a predicted answer is wrong

	enclosed
}

// inputs finds what a request is for the target, as budgets hold it.
func (q *Quote) inputs() Inputs {
	r := q.inputsAtMost()
	if r.usual = q.table.UsualTools() && !worksLong(q.Target.Model); r.usual {
		r.holdUsual()
		r.tools[llm.OtherTools] = max(r.tools[llm.OtherTools], q.Apart()) // which are no calls
	}
	return r
}

// holdUsual has tools be called as often as is usual.
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

// inputsAtMost finds what a request is for the target at most. What is in the words of the
// client's wire format reaches only a target that speaks it.
func (q *Quote) inputsAtMost() Inputs {
	r := Inputs{
		answers: max(1, q.Head.Choices), limit: q.askedCap(), capped: q.Head.MaxOutput > 0,
		enclosed: q.enclosed(),
	}
	if q.Op.Op != llm.OpChat {
		return r
	}
	tree, err := q.Source.Tree()
	if err != nil { // nobody here understands it, and a provider may
		r.hidden = true
		r.run(toolOf(unknownKind, &q.Dialect.Inputs), mostCalls)
		return r
	}
	if tree.MaxOutput != nil && !r.capped { // 0
		r.limit, r.capped = *tree.MaxOutput, true
	}
	r.own, r.kept, r.searchInFee = tree.ExtraOf == q.Speaks.Name, q.Op.Kept != nil, q.hasSearchInFee()
	if tree.Format != nil {
		r.format(tree.Format)
	}
	if tree.HasTools() {
		r.around += aroundTools
	}
	if tree.Elsewhere != nil && !r.own {
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
	r.tools[llm.OtherTools] += q.Apart()
	if class, ok := unaskedClass(q.Target.Model); ok && r.tools[class] == 0 && !r.isInFee(class) {
		r.run(dialect.Tool{Class: class}, mostCalls)
	}
	return r
}

// format takes note of what the answer must look like. It may become words in other wire formats.
func (r *Inputs) format(f *llm.Format) {
	r.schema(f.Schema)
	r.around += aroundTools
	if f.Kind == llm.FormatJSON && !r.own {
		r.schemas += aroundOwn + int64(len(compose.OnlyJSON))
	}
}

// usesOf is how often the provider may use a tool of its own for one request.
func (q *Quote) usesOf(raw []byte) int64 {
	limit := q.Speaks.Inputs.MaxUses
	if limit == "" || q.Quirks.IgnoresCallCaps {
		return mostCalls
	}
	if n, ok := rawjson.AsInt(rawjson.Get(raw, limit)); ok && n >= 0 && n <= maxUnknown {
		return n
	}
	return mostCalls
}

// parts takes note of what stands in a message or in the result of a tool.
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
			if p.Kind == llm.PartDocument && !r.own { // words may be put before it
				r.schemas += aroundCall
			}
		case p.Call != nil:
			r.call(p.Call)
			r.called(p.Call)
		case p.Result != nil:
			r.result(p.Result.Parts)
			r.parts(p.Result.Parts, in)
		case p.Kind == llm.PartReasoning && r.kept && p.Signature != "" && p.Redacted == "":
			r.hidden = true // the provider has kept it, by its id
		}
	}
}

// extra takes note of fields of a message or a part that nobody modelled.
func (r *Inputs) extra(fields []llm.Field, in *dialect.Inputs) {
	for _, f := range fields {
		if name := plain(f.Name); r.own && !shownInside.Has(name) {
			r.hidden = true
			r.toolsBy(name, f.Value, in)
			if name == "audio" { // of an answer before this one, by its id
				r.modalities = r.modalities.With(llm.AudioIn)
			}
		}
	}
}

// other takes note of a part or an item that nobody modelled. It may be a list of tools,
// such as OpenAI's additional_tools; one of an MCP server's is what that has told.
func (r *Inputs) other(raw []byte, in *dialect.Inputs) {
	if isShown(raw, in) {
		return
	}
	r.hidden = true
	if isTold(raw) {
		return
	}
	for m := range rawjson.Members(raw) {
		r.toolsBy(plain(m.Name()), m.Value, in)
	}
}

// members takes note of the top-level fields that nobody modelled.
func (r *Inputs) members(tree *llm.Request, in *dialect.Inputs, q *llm.Quirks) {
	total := int64(-1)
	for _, f := range tree.Extra {
		name := plain(f.Name)
		r.modalities |= modalitiesAsked(name, f.Value)
		n, isInt := rawjson.AsInt(f.Value)
		switch {
		case q.MaxOutputField != "" && f.Name == q.MaxOutputField:
			if !isInt || n < 0 { // none that could be trusted
				n = maxUnknown
			}
			r.limit, r.capped = max(r.limit, n), true
		case in.MaxCalls.Has(name):
			if !isInt || n < 0 { // as above
				n = maxUnknown
			}
			if name == maxTurns { // each of which may have several calls
				n = max(n, mostCalls)
			}
			if rawjson.Present(f.Value) {
				total = max(total, min(n, maxUnknown)) // which of two is obeyed is not known
			}
		case name == "maxtoolcalls": // chats have none
		case numbersOfAnswers.Has(name):
			r.answers = max(r.answers, answersAsked(f.Value))
		case capsBeside.Has(name):
			r.beside += tokensBeside(f.Value)
			r.reasonsWithin = r.reasonsWithin || name == "thinkingbudget"
		case name == "enablethinking":
			on, isBool := rawjson.AsBool(f.Value)
			r.reasonsWithin = r.reasonsWithin || isBool && !on
		case name == "prediction":
			r.beside += int64(len(f.Value))
		case name == "contextmanagement" && bytes.Contains(f.Value, []byte("compact")):
			r.run(dialect.Tool{Class: llm.Input}, mostCalls)
		case f.Name == capMember && q.CapsPrice: // the highest prices alone, or the request is refused
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

// capCalls has all tools be called no more often than that in all.
func (r *Inputs) capCalls(most int64) {
	r.calls = most
	for c := range r.tools {
		if r.tools[c] > 0 {
			r.tools[c] = most
		}
	}
}

// searchesAlone reports whether all calls are searches of the web.
func (r *Inputs) searchesAlone() bool {
	for c, n := range r.tools {
		if n > 0 && llm.Class(c) != llm.Searches {
			return false
		}
	}
	return r.tools[llm.Searches] > 0 && !r.others
}

// Inputs finds what a request is for the target, or why no budget can be kept with it. Its
// body is one whose elements were counted.
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

// unpriced is the error for a request whose price at the target is not known here,
// although that of its model is: under a budget it cannot be made.
func (q *Quote) unpriced() error {
	if q.Price.Rates[llm.CacheWrite].Known() && !q.Price.Rates[llm.CacheWrite1h].Known() && asksHourCache(q.Body) {
		return llm.Invalid("cache_control",
			fmt.Sprintf("What the model %q costs with a cache that is kept for an hour is not known here, so that no "+
				`budget can be kept with it. Leave ttl out, or use "5m".`, q.Target.FullName()))
	}
	if q.Speaks != q.Dialect {
		return nil // no such thing reaches the target
	}
	if q.Head.Unknown != "" {
		return unknownField(q.Head.Unknown)
	}
	if q.Head.LongCache {
		return llm.Invalid("prompt_cache_options",
			fmt.Sprintf("What the model %q costs with this ttl in prompt_cache_options is not known here, so that no "+
				`budget can be kept with it. Leave ttl out, or use "30m".`, q.Target.FullName()))
	}
	if q.Op.Multipart {
		return nil
	}
	if name, twice := rawjson.Repeated(q.Body); twice {
		return llm.Invalid(
			name, fmt.Sprintf("%q stands twice in one object of the body. Which of the two a provider obeys is not "+
				"known here, so that no budget can be kept with it. Give it once.", name))
	}
	for m := range rawjson.Members(q.Body) {
		if isMore(q.Op.Op, m) {
			return unknownField(m.Name())
		}
		kind, decides := modeMembers[plain(m.Name())]
		value := m.Value
		if kind == "latency:" { // Bedrock has it in an object
			value = rawjson.Get(value, "latency")
		}
		if !decides || q.isPriceCap(m) || !rawjson.Present(value) || rawjson.KindOf(value) == rawjson.String &&
			q.Price.Has(kind+rawjson.Text(value)) {
			continue
		}
		return llm.Invalid(m.Name(),
			fmt.Sprintf("What the model %q costs with this %s is not known here, so that no budget can be kept with "+
				"it. Leave %s out, or ask the operator to give it a price.", q.Target.FullName(), m.Name(), m.Name()))
	}
	return nil
}

func unknownField(name string) error {
	return llm.Invalid(
		name, fmt.Sprintf(
			"What %.64s has the provider make is not known here, so that no budget can be kept with it. Leave it out.",
			name))
}
