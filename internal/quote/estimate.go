package quote

import (
	"strings"

	"weir/internal/llm"
)

const (
	// countAtMost bounds the text whose tokens are counted exactly; the density of the rest is assumed to be equal.
	countAtMost = 256 << 10
	// messageOverhead is the number of tokens that providers add to each message, as in
	// https://github.com/openai/openai-cookbook (how to count tokens).
	messageOverhead = 4
	// bytesPerToken is a common ratio, for texts that are not counted.
	bytesPerToken = 4
	// mediaTokens is an estimate for an image, a sound or a document: a small image at the large vendors.
	mediaTokens = 255
	// madeTokens is an estimate for a generated image: a square one of medium quality
	// (https://platform.openai.com/docs/guides/image-generation).
	madeTokens = 1056
	// CountingWork is the ratio of the work of counting tokens to other work on a text of the same length.
	CountingWork = 32
)

// estimate returns the usage of an answer without the provider's final counts. It uses the counts that the provider
// reported so far.
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
			u[class] = a.Usage[class] // the tools that the answer shows
		}
	}
	if u.InputTokens() == 0 {
		u[llm.Input] = a.chargedInput()
	}
	a.addCounted(&u)
	return u
}

// estimateUnits completes the usage of an operation without a text answer by the received part of its answer.
func (a Answer) estimateUnits(u *llm.Usage) {
	switch {
	case u.InputTokens() == 0: // nothing is charged by tokens
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

// addCounted adds the counted tokens of text beyond the reported ones.
func (a Answer) addCounted(u *llm.Usage) {
	output, reasoning := a.countKept()
	more := max(0, output+reasoning-u.OutputTokens())
	thought := min(more, max(0, reasoning-u[llm.Reasoning]))
	u[llm.Reasoning] += thought
	u[llm.Output] += more - thought
}

// countKept counts the tokens of the stored text, in its turn.
func (a Answer) countKept() (output, reasoning int64) {
	defer a.Capacity.TurnAnyway(CountingWork * a.kept).End()
	return a.countOutput()
}

// units returns the estimated usage of an operation without a text answer if the provider reports none: in images,
// characters or seconds if its model has a price for these, or no price, and otherwise in tokens.
func (a Answer) units() llm.Usage {
	u, price := a.Head.Units, &a.Attempt.Price
	for _, class := range []llm.Class{llm.Images, llm.Characters, llm.Milliseconds} {
		switch {
		case u[class] == 0:
		case price.Rates[class].Known() || !price.Known():
			clear(u[:llm.NumTokens])
		case class != llm.Images: // images count in addition to tokens
			u[class] = 0
		}
	}
	return u
}

// InputUsage returns the charged usage of an attempt that the provider may have served and whose answer was not
// received.
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

// chargedInput returns the charged input tokens if the provider reports none. It is never 0 for an operation that
// costs anything, because a provider has read every request that reached it.
func (q *Quote) chargedInput() int64 {
	if q.Op.Free {
		return 0
	}
	return q.InputTokens()
}

func (r *Request) countInput() int64 {
	request, err := r.Tree()
	if err != nil {
		return max(1, int64(len(r.Body))/bytesPerToken)
	}
	return countTree(request, countAtMost)
}

// roughText is the number of bytes of text that are counted for a rough estimate.
const roughText = 4 << 10

// RoughInput estimates the tokens of a request with little work: it counts the beginning of its text and
// extrapolates.
func RoughInput(request *llm.Request) int64 { return countTree(request, roughText) }

// countTree estimates the tokens of a request, counting at most that many bytes of its text.
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
			if counted += len(s); counted > countAtMost { // the rest is counted as one text
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

// gather collects the text of parts and counts the tokens of other content.
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

// CountTokens estimates the tokens of a text by the o200k vocabulary, the most common one. Other vendors' counts
// differ by some percent.
func CountTokens(text string) int64 { return countText(text, countAtMost) }

// countText counts at most that many bytes of the text and extrapolates.
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
