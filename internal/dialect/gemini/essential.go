package gemini

import "weir/internal/dialect/parse"

const (
	bySchema = "Ask for application/json with a responseJsonSchema"
	asText   = "Leave it out: the answer is text"
)

// essentials are the fields that a translation must not drop, of https://ai.google.dev/api/generate-content and of
// Vertex AI (https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentRequest; undated
// copies of 2026). An enumeration of texts differs from one in a JSON Schema: the latter's answer has quotation marks.
var essentials = parse.Essentials{
	"cachedContent":    {Instead: "Send the cached content in the contents"},
	"modelArmorConfig": {Instead: "Leave it out"},
	"toolConfig": {Instead: "Set the mode to AUTO, ANY or NONE, and name allowed functions only " +
		"with ANY"},
	inConfig + "imageConfig":         {Instead: asText},
	inConfig + "responseMimeType":    {Instead: bySchema, Usual: []string{mimeText}},
	inConfig + "responseModalities":  {Instead: `Ask for the responseModalities ["TEXT"]`, Usual: []string{"TEXT"}},
	inConfig + "responseSchema":      {Instead: bySchema},
	inConfig + "responseJsonSchema":  {Instead: bySchema},
	inConfig + "_responseJsonSchema": {Instead: bySchema},
	inConfig + "speechConfig":        {Instead: asText},
}
