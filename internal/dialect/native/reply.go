package native

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeReply appends the reply object to dst.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	dst = appendOpening(dst, r.ID, r.Created, r.Model)
	for i := range r.Choices {
		dst = appendChoice(rawjson.AppendComma(dst), &r.Choices[i])
	}
	dst = append(dst, `],"usage":{`...)
	return append(appendTokens(dst, &r.Usage), "}}"...)
}

// appendOpening appends the common beginning of every object of a reply, up to and including the bracket that opens
// its choices.
func appendOpening(dst []byte, id string, created int64, model string) []byte {
	dst = rawjson.AppendString(append(dst, `{"id":`...), id)
	dst = strconv.AppendInt(append(dst, `,"created":`...), created, 10)
	dst = rawjson.AppendString(append(dst, `,"model":`...), model)
	return append(dst, `,"responsetype":"stream","choices":[`...)
}

func appendChoice(dst []byte, c *llm.Choice) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(c.Index), 10)
	dst = append(dst, `,"message":{"role":"assistant","content":`...)
	text, cited := content(&c.Message)
	dst = cited.append(rawjson.AppendString(dst, text))
	dst = rawjson.AppendString(append(dst, `},"finish_reason":`...), finishWord(c.Finish))
	return append(dst, '}')
}

// content returns the text for the user: text, a refusal, the transcript of audio, or a note about an image; and its
// sources.
func content(m *llm.Message) (text string, c cited) {
	var s llm.Joined
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.PartText, llm.PartRefusal, llm.PartAudio, llm.PartImage, llm.PartDocument:
			words := p.Words()
			s.Add(words)
			c.part(p, words)
		case llm.PartOther:
			if p.Search() != nil {
				c.searches = appendSearch(comma(c.searches), p.Search())
			}
		}
	}
	return s.String(), c
}

// finishWord returns the finish reason; a missing one means a normal end.
func finishWord(f llm.FinishReason) string {
	if f == "" {
		f = llm.FinishStop
	}
	return string(f)
}
