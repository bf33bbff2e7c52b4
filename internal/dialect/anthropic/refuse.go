package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
)

// refuse returns an error if a request of another format asks for something that this format cannot carry and that
// would change the meaning of the answer.
func refuse(r *llm.Request) error {
	if r.Choices != nil && *r.Choices > 1 {
		return llm.Invalid("n", "Anthropic returns one answer per request. Set n to 1 or send several requests.")
	}
	for i := range r.Tools {
		if t := &r.Tools[i]; t.Raw != nil && t.Search == nil {
			return compose.ForeignTool(r.Tools[i].Raw, i)
		}
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if err := refuseParts(m.Role, m.Parts, "messages["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}

func refuseParts(role llm.Role, parts []llm.Part, param string) error {
	for i := range parts {
		p := &parts[i]
		if p.Kind == llm.PartToolCall {
			if p.Call == nil {
				return llm.Invalid(param+".tool_calls", "The tool call has no name. Send one.")
			}
			continue
		}
		if why := refusePart(role, p); why != "" {
			return llm.Invalid(param+".content["+strconv.Itoa(p.Index(i))+"]", why)
		}
		if p.Kind == llm.PartToolResult {
			if err := refuseParts(llm.RoleTool, p.Result.Parts, param); err != nil {
				return err
			}
		}
	}
	return nil
}

// refusePart returns the reason why the format cannot carry a part; empty if it can.
func refusePart(role llm.Role, p *llm.Part) string {
	switch p.Kind {
	case llm.PartText, llm.PartRefusal, llm.PartReasoning:
		return ""
	case llm.PartToolResult:
		if p.Result != nil && role != llm.RoleSystem && role != llm.RoleAssistant {
			return ""
		}
		return "A tool result is not allowed here. Put it into a message after the tool call."
	case llm.PartImage, llm.PartDocument:
		if role == llm.RoleAssistant || role == llm.RoleSystem {
			return "Anthropic accepts images and documents only from the user and from tools. Put them into a user " +
				"message."
		}
		return refuseMedia(p)
	case llm.PartAudio:
		return "Anthropic's Messages API accepts no audio. Send a transcript."
	}
	return "Anthropic's Messages API has no counterpart of this type of content part. Leave it out."
}

func refuseMedia(p *llm.Part) string {
	m := p.Media
	switch {
	case m != nil && m.Document != nil && m.Document.Chunks != nil:
	case m == nil || m.URL == "" && m.Data == "" && m.FileID == "":
		return "The part has neither a URL nor data. Send one of them."
	case m.Data == "" && m.FileID != "":
		return "Anthropic does not have a file that was uploaded to another provider. Send it inline or by its URL."
	case m.Data == "" && !strings.HasPrefix(m.URL, "https://") && !strings.HasPrefix(m.URL, "http://"):
		return "The URL must begin with https:// or http://."
	case p.Kind == llm.PartImage && m.Data != "" && !slices.Contains([]string{
		"", "image/jpeg", "image/png",
		"image/gif", "image/webp",
	}, m.MIME):
		return "Anthropic accepts only images of the types image/jpeg, image/png, image/gif and image/webp."
	case p.Kind == llm.PartDocument && m.Data != "" && documentType(m) == "":
		return "Anthropic accepts only documents of the types application/pdf and text/plain."
	}
	return ""
}
