package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
)

// refuse says what a request in another format's words asks for that this one
// cannot carry and that would change the answer's meaning; nil for nothing.
func (e *requestEncoder) refuse(r *llm.Request) error {
	if r.Choices != nil && *r.Choices > 1 {
		return llm.Invalid("n", "Anthropic gives one answer to a request. Ask for one, or ask several times.")
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
				return llm.Invalid(param+".tool_calls", "A tool call needs a name.")
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

// refusePart says why a part cannot be carried; empty where it can.
func refusePart(role llm.Role, p *llm.Part) string {
	switch p.Kind {
	case llm.PartText, llm.PartRefusal, llm.PartReasoning:
		return ""
	case llm.PartToolResult:
		if p.Result != nil && role != llm.RoleSystem && role != llm.RoleAssistant {
			return ""
		}
		return "A tool's result is out of place here."
	case llm.PartImage, llm.PartDocument:
		if role == llm.RoleAssistant || role == llm.RoleSystem {
			return "Anthropic takes images and documents from the user and from tools alone."
		}
		return refuseMedia(p)
	case llm.PartAudio:
		return "Anthropic's Messages API takes no audio. Send a transcript."
	}
	return "A content part of this type has no counterpart in Anthropic's Messages API."
}

func refuseMedia(p *llm.Part) string {
	m := p.Media
	switch {
	case m != nil && m.Document != nil && m.Document.Chunks != nil:
	case m == nil || m.URL == "" && m.Data == "" && m.FileID == "":
		return "The part holds neither an address nor data."
	case m.Data == "" && m.FileID != "":
		return "A file that was uploaded elsewhere is not known to Anthropic. Send it inline or by address."
	case m.Data == "" && !strings.HasPrefix(m.URL, "https://") && !strings.HasPrefix(m.URL, "http://"):
		return "The address must begin with https:// or http://."
	case p.Kind == llm.PartImage && m.Data != "" && !slices.Contains([]string{
		"", "image/jpeg", "image/png",
		"image/gif", "image/webp",
	}, m.MIME):
		return "Anthropic takes images of the types image/jpeg, image/png, image/gif and image/webp alone."
	case p.Kind == llm.PartDocument && m.Data != "" && documentType(m) == "":
		return "Anthropic takes documents of the types application/pdf and text/plain alone."
	}
	return ""
}
