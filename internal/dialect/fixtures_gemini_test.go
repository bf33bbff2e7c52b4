package dialect_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"weir/internal/llm"
)

func geminiFamily() family {
	return family{
		dialect: "gemini",
		is: func(url string) bool {
			return strings.Contains(url, ":generateContent") || strings.Contains(url, ":streamGenerateContent")
		},
		expect:   expectGemini,
		normal:   normalGemini,
		searches: geminiSearches,
	}
}

// geminiSearches counts the queries of a grounded answer; of a stream, in the
// piece that has most.
func geminiSearches(t *testing.T, response []byte) (most int64) {
	t.Helper()
	for piece := range bytes.SplitSeq(response, []byte("data: ")) {
		var v struct {
			Candidates []struct {
				GroundingMetadata struct{ WebSearchQueries []string }
			}
		}
		if len(bytes.TrimSpace(piece)) > 0 && json.Unmarshal(piece, &v) != nil {
			continue
		}
		n := 0
		for _, c := range v.Candidates {
			n += len(c.GroundingMetadata.WebSearchQueries)
		}
		most = max(most, int64(n))
	}
	return most
}

func expectGemini(t *testing.T, want *answer, expected []byte) {
	t.Helper()
	type modality struct {
		Modality string
		Count    int64 `json:"tokenCount"`
	}
	var e struct {
		Finish string `json:"finish_reason"`
		Usage  *struct {
			Prompt     int64      `json:"promptTokenCount"`
			ToolUse    int64      `json:"toolUsePromptTokenCount"`
			Cached     int64      `json:"cachedContentTokenCount"`
			Candidates int64      `json:"candidatesTokenCount"`
			Thoughts   int64      `json:"thoughtsTokenCount"`
			Total      int64      `json:"totalTokenCount"`
			In         []modality `json:"promptTokensDetails"`
			Out        []modality `json:"candidatesTokensDetails"`
		}
	}
	if err := json.Unmarshal(expected, &e); err != nil {
		t.Fatal(err)
	}
	for i := range want.Calls {
		if want.Calls[i].ID == "" {
			want.Calls[i].ID = "call_" + strconv.Itoa(i)
		}
	}
	want.Finish = geminiFinishes[e.Finish]
	if want.Finish == llm.FinishStop && len(want.Calls) > 0 {
		want.Finish = llm.FinishToolCalls
	}
	if e.Usage == nil {
		return
	}
	u := e.Usage
	counts := map[string]int64{}
	for _, m := range u.In {
		counts["in "+m.Modality] += m.Count
	}
	for _, m := range u.Out {
		counts["out "+m.Modality] += m.Count
	}
	audioIn, imageIn, audioOut := counts["in AUDIO"], counts["in IMAGE"], counts["out AUDIO"]
	want.Usage = &llm.Usage{
		llm.Input: u.Prompt + u.ToolUse - u.Cached - audioIn - imageIn, llm.CacheRead: u.Cached,
		llm.AudioIn: audioIn, llm.ImageIn: imageIn,
		llm.Output: u.Candidates - audioOut, llm.Reasoning: u.Thoughts, llm.AudioOut: audioOut,
	}
	if got := want.Usage.TotalTokens(); got != u.Total {
		t.Errorf("the classes sum to %d, Google's own total is %d", got, u.Total)
	}
}

var geminiFinishes = map[string]llm.FinishReason{
	"STOP": llm.FinishStop, "MAX_TOKENS": llm.FinishLength, "SAFETY": llm.FinishContentFilter,
	"RECITATION": llm.FinishContentFilter, "PROHIBITED_CONTENT": llm.FinishContentFilter,
	"MALFORMED_FUNCTION_CALL": llm.FinishError, "OTHER": llm.FinishError,
}

// normalGemini writes names in camelCase, and removes defaults.
func normalGemini(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	v = camelCased(v).(map[string]any)
	if c, ok := v["generationConfig"].(map[string]any); ok && len(c) == 0 {
		delete(v, "generationConfig")
	}
	if s, ok := v["systemInstruction"].(map[string]any); ok {
		delete(s, "role") // it has no role
	}
	if contents, ok := v["contents"].([]any); ok {
		for _, c := range contents {
			if c := c.(map[string]any); c["role"] == nil {
				c["role"] = "user"
			}
		}
	}
	return v
}

// camelCased renames the members of Google's own objects; a client's, such as a
// function's arguments, stay.
func camelCased(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = camelCased(v[i])
		}
	case map[string]any:
		cased := make(map[string]any, len(v))
		for name, value := range v {
			switch name = camelName(name); name {
			case "args", "response", "properties", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema":
				cased[name] = value
			default:
				cased[name] = camelCased(value)
			}
		}
		return cased
	}
	return v
}

func camelName(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
