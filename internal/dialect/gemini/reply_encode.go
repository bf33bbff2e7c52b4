package gemini

import (
	"encoding/base64"
	"time"

	"weir/internal/dialect/callid"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// finishMalformed is Google's reason for a call with arguments that are not an object.
const finishMalformed = "MALFORMED_FUNCTION_CALL"

// EncodeReply appends a GenerateContentResponse to dst.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	r = r.For(Name)
	dst = append(dst, '{')
	if !isBlockedReply(r) {
		dst = append(dst, `"candidates":[`...)
		for i := range r.Choices {
			dst = appendCandidate(rawjson.AppendComma(dst), &r.Choices[i], r.ExtraOf == Name)
		}
		dst = append(dst, "],"...)
	}
	if r.Reported || !r.Usage.IsZero() {
		dst = append(appendUsage(append(dst, `"usageMetadata":`...), &r.Usage, r.Cost), ',')
	}
	dst = rawjson.AppendString(append(dst, `"modelVersion":`...), r.Model)
	if r.Created > 0 && r.ExtraOf == Name { // Vertex AI's; the Gemini API's own answers have none
		dst = append(dst, `,"createTime":"`...)
		dst = append(time.Unix(r.Created, 0).UTC().AppendFormat(dst, time.RFC3339), '"')
	}
	dst = rawjson.AppendString(append(dst, `,"responseId":`...), r.ID)
	return append(compose.AppendFields(dst, r.Extra, nil), '}')
}

// isBlockedReply recognizes the answer to a blocked prompt, which has no candidates.
func isBlockedReply(r *llm.Reply) bool {
	if len(r.Choices) != 1 || len(r.Choices[0].Message.Parts) > 0 {
		return false
	}
	for _, f := range r.Extra {
		if string(spelled([]byte(f.Name))) == "promptFeedback" {
			return isBlocked(f.Value)
		}
	}
	return false
}

func appendCandidate(dst []byte, c *llm.Choice, own bool) []byte {
	dst = append(dst, `{"content":{"parts":[`...)
	empty := len(dst)
	broken := ""
	written := 0
	var g grounded
	for i := range c.Message.Parts {
		p := &c.Message.Parts[i]
		if p.Call != nil && broken == "" {
			if _, ok := parse.Object(p.Call.Arguments); !ok {
				broken = p.Call.Name
				continue
			}
		}
		before := len(dst)
		if dst = appendPart(dst, p); len(dst) > before {
			g.part(p, written)
			written++
		} else if p.Search() != nil {
			g.search(p.Search())
		}
	}
	if len(dst) == empty && c.Finish != llm.FinishContentFilter {
		dst = append(dst, `{"text":""}`...)
	}
	dst = append(dst, endOfParts...)
	dst = appendFinish(dst, c, broken)
	if !own {
		dst = appendLogprobs(g.append(dst), c.Tokens)
	}
	dst = rawjson.AppendCount(dst, `,"index":`, int64(c.Index))
	return append(compose.AppendFields(dst, c.Extra, nil), '}')
}

// appendFinish writes the reason, unless the extras have Google's own.
func appendFinish(dst []byte, c *llm.Choice, broken string) []byte {
	for _, f := range c.Extra {
		if f.Name == "finishReason" {
			return dst
		}
	}
	if broken != "" {
		return appendMalformed(dst, broken)
	}
	return rawjson.AppendString(append(dst, `,"finishReason":`...), finishWord(c.Finish))
}

func appendMalformed(dst []byte, function string) []byte {
	dst = append(dst, `,"finishReason":"`+finishMalformed+`","finishMessage":`...)
	return rawjson.AppendString(dst, "The arguments of the call of "+function+" are not a JSON object.")
}

// appendPart writes a part of an answer, after a comma unless it is the first. It writes nothing for a part that the
// format cannot express.
func appendPart(dst []byte, p *llm.Part) []byte {
	before := len(dst)
	if dst[before-1] != '[' {
		dst = append(dst, ',')
	}
	ok := true
	switch p.Kind {
	case llm.PartText, llm.PartRefusal:
		dst = appendText(dst, p.Text, false)
	case llm.PartReasoning:
		dst, ok = appendText(dst, p.Text, true), p.Text != "" || signatureOf(p.Maker, p.Signature, p.Redacted) != ""
	case llm.PartToolCall:
		dst = appendCall(dst, p.Call)
	case llm.PartImage, llm.PartAudio, llm.PartDocument:
		if dst, ok = appendMedia(append(dst, '{'), p); !ok && p.Text != "" { // the transcript of a sound
			dst, ok = appendText(dst[:len(dst)-1], p.Text, false), true
		}
	case llm.PartOther:
		if p.Raw != nil {
			return append(dst, p.Raw...)
		}
		ok = false
	default:
		ok = false
	}
	if !ok {
		return dst[:before]
	}
	dst = appendSigned(dst, signatureOf(p.Maker, p.Signature, p.Redacted))
	return append(compose.AppendFields(dst, p.Extra, nil), '}')
}

// appendText begins a part of text, or of thinking.
func appendText(dst []byte, text string, thought bool) []byte {
	dst = rawjson.AppendString(append(dst, `{"text":`...), text)
	if thought {
		dst = append(dst, `,"thought":true`...)
	}
	return dst
}

// appendCall begins a part that calls a function.
func appendCall(dst []byte, c *llm.ToolCall) []byte {
	args, _ := parse.Object(c.Arguments)
	dst = append(dst, `{"functionCall":{`...)
	if c.ID != "" && !callid.IsPosition(c.ID) {
		dst = append(rawjson.AppendString(append(dst, `"id":`...), c.ID), ',')
	}
	dst = rawjson.AppendString(append(dst, `"name":`...), c.Name)
	dst = append(append(dst, `,"args":`...), args...)
	return append(compose.AppendFields(dst, c.Extra, nil), '}')
}

// signatureOf returns the signature of a part: Google's own if it is base64, as Google's libraries require, and another
// vendor's sealed.
func signatureOf(maker, signature, redacted string) string {
	switch {
	case proof.IsForeign(maker, Name):
		return proof.Base64(proof.Seal(proof.Proof{Maker: maker, Signature: signature, Redacted: redacted}))
	case isBase64(signature):
		return signature
	}
	return ""
}

func appendSigned(dst []byte, signature string) []byte {
	if signature == "" {
		return dst
	}
	return rawjson.AppendString(append(dst, `,"thoughtSignature":`...), signature)
}

func isBase64(s string) bool {
	if s == "" {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}
