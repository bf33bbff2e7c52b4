package gateway

import "weir/internal/llm"

// eventsOf returns a whole choice as the events of a stream.
func eventsOf(choice *llm.Choice) []llm.Event {
	events := []llm.Event{{Kind: llm.EventStart, Choice: choice.Index}}
	calls, said := 0, 0
	for i := range choice.Message.Parts {
		p := &choice.Message.Parts[i]
		e := llm.Event{Choice: choice.Index, Text: p.Text, Signature: p.Signature, Redacted: p.Redacted, Maker: p.Maker}
		switch p.Kind {
		case llm.PartText:
			e.Kind = llm.EventText
		case llm.PartReasoning:
			e.Kind = llm.EventReasoning
		case llm.PartRefusal:
			e.Kind = llm.EventRefusal
		case llm.PartToolCall:
			e.Kind, e.Text = llm.EventToolCall, p.Call.Arguments
			e.Tool = llm.ToolDelta{Index: calls, ID: p.Call.ID, Name: p.Call.Name}
			calls++
		case llm.PartImage, llm.PartAudio, llm.PartDocument:
			e.Kind, e.Media = llm.EventOther, p.Media
		case llm.PartOther:
			if p.Search() == nil {
				continue
			}
			e.Kind, e.Search = llm.EventSearch, p.Search()
		default:
			continue
		}
		events = append(events, e)
		for _, c := range p.Claims() {
			c.Start, c.End = said+c.Start, said+c.End
			events = append(events, llm.Event{Kind: llm.EventClaim, Choice: choice.Index, Claim: &c})
		}
		if p.Kind == llm.PartText {
			said += len(p.Text)
		}
	}
	return events
}
