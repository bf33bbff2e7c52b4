package quote

import (
	"strings"

	"weir/internal/llm"
)

const (
	// countAtMost bounds how much text is counted exactly; what lies beyond is
	// taken to be as dense as what was counted.
	countAtMost = 256 << 10
	// messageOverhead is what providers add to each message, in tokens, as in
	// https://github.com/openai/openai-cookbook (how to count tokens).
	messageOverhead = 4
	// bytesPerToken is a common ratio, for when nothing better is there.
	bytesPerToken = 4
	// mediaTokens stands for an image, a sound or a document: what a small
	// image costs at the large vendors.
	mediaTokens = 255
	// madeTokens stands for an image that was made: a square one of medium quality
	// (https://platform.openai.com/docs/guides/image-generation).
	madeTokens = 1056
	// CountingWork is how many times the work on a body it is to count the tokens of as much text.
	CountingWork = 32
)

// estimate is the usage of an answer of which the provider did not give the
// last numbers. Those that it gave are believed, as far as they go.
func (a Answer) estimate() llm.Usage {
	u := a.units()
	if a.believable() && a.inPrice() {
		u = a.Usage
	}
	if !a.Head.Units.IsZero() {
		a.estimateUnits(&u)
		return u
	}
	for class := range u {
		if llm.Class(class).IsTool() && !a.Reported {
			u[class] = a.Usage[class] // what the answer shows of them
		}
	}
	if u.InputTokens() == 0 {
		u[llm.Input] = a.chargedInput()
	}
	a.addCounted(&u)
	return u
}

// estimateUnits completes the usage of a request that is not for words by what
// there is of its answer.
func (a Answer) estimateUnits(u *llm.Usage) {
	switch {
	case u.InputTokens() == 0: // nothing of it is charged by tokens
		u[llm.Images] = min(u[llm.Images], a.Usage[llm.Images])
	case u[llm.Images] > 0:
		u[llm.Images] = a.Usage[llm.Images]
		if u.OutputTokens() == 0 {
			u[llm.Output] = madeTokens * u[llm.Images]
		}
	default:
		a.addCounted(u)
	}
}

// addCounted adds what was counted of the words beyond what was told of them.
func (a Answer) addCounted(u *llm.Usage) {
	var output, reasoning int64
	a.Source.Step(CountingWork*a.kept, func() { output, reasoning = a.countOutput() })
	more := max(0, output+reasoning-u.OutputTokens())
	thought := min(more, max(0, reasoning-u[llm.Reasoning]))
	u[llm.Reasoning] += thought
	u[llm.Output] += more - thought
}

// units is what a request that is not for words is charged for where nobody
// told: by images, characters or seconds where its model has a price for these,
// or none at all, else by tokens.
func (a Answer) units() llm.Usage {
	u, price := a.Head.Units, &a.Attempt.Price
	for _, class := range []llm.Class{llm.Images, llm.Characters, llm.Milliseconds} {
		switch {
		case u[class] == 0:
		case price.Rates[class].Known() || !price.Known():
			clear(u[:llm.NumTokens])
		case class != llm.Images: // these are counted all the same
			u[class] = 0
		}
	}
	return u
}

// InputUsage is what an attempt is charged for that may have been served, and
// of whose answer nothing came.
func (a Answer) InputUsage() llm.Usage {
	u := a.units()
	if a.Head.Units.IsZero() {
		u[llm.Input] = a.chargedInput()
	}
	for class := range u {
		if llm.Class(class).IsOutput() || llm.Class(class) == llm.Images {
			u[class] = 0
		}
	}
	a.bill(&u)
	return u
}

// chargedInput is how many tokens of input are charged where nobody told. It is
// never 0 of what costs anything: a request that reached a provider has been
// read.
func (q *Quote) chargedInput() int64 {
	if q.Op.Free {
		return 0
	}
	return q.InputTokens()
}

func (r *Request) countInput() int64 {
	request, err := r.Source.Tree()
	if err != nil {
		return max(1, int64(len(r.Body))/bytesPerToken)
	}
	return countTree(request, countAtMost)
}

// roughText is how much of a request's text is counted for a rough estimate, in bytes.
const roughText = 4 << 10

// RoughInput estimates the tokens of a request with little work: the beginning of its text is
// counted, and taken for the rest too.
func RoughInput(request *llm.Request) int64 { return countTree(request, roughText) }

// countTree counts the tokens of a request, of so many bytes of its text.
func countTree(request *llm.Request, most int) int64 {
	var text strings.Builder
	tokens := int64(0)
	for i := range request.Messages {
		tokens += messageOverhead
		tokens += gather(&text, request.Messages[i].Parts)
	}
	if e := request.Embedding; e != nil {
		counted := 0
		for _, s := range e.Texts {
			if counted += len(s); counted > countAtMost { // what is beyond is counted as one text
				text.WriteString(s)
				continue
			}
			tokens += countText(s, most)
		}
	}
	tools := request.Tools
	if request.Elsewhere != nil {
		tools = request.Elsewhere.Tools
	}
	for i := range tools {
		text.WriteString(tools[i].Name)
		text.WriteString(tools[i].Description)
		text.Write(tools[i].Parameters)
	}
	return max(1, tokens+countText(text.String(), most))
}

// gather collects the text of parts and counts what is not text.
func gather(text *strings.Builder, parts []llm.Part) (tokens int64) {
	for i := range parts {
		p := &parts[i]
		text.WriteString(p.Text)
		switch {
		case p.Elsewhere != nil:
			tokens += gather(text, p.Elsewhere.Parts)
		case p.Media != nil:
			tokens += mediaTokens
		case p.Call != nil:
			text.WriteString(p.Call.Name)
			text.WriteString(p.Call.Arguments)
		case p.Result != nil:
			tokens += gather(text, p.Result.Parts)
		}
	}
	return tokens
}

// CountTokens estimates the tokens of a text by the o200k vocabulary, the most
// common one. Other vendors' counts differ by some percent.
func CountTokens(text string) int64 { return countText(text, countAtMost) }

// countText is CountTokens by so many bytes of the text, taken for the rest too.
func countText(text string, most int) int64 {
	if text == "" {
		return 0
	}
	head := text[:min(len(text), most)]
	tokens, ok := countTokens(head)
	if !ok {
		tokens = int64(len(head)) / bytesPerToken
	}
	return max(1, tokens*int64(len(text))/int64(len(head)))
}
