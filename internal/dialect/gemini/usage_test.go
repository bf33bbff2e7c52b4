package gemini_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/gemini"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

const (
	threeQueries = `"webSearchQueries":["a","b","c"]`
	aPage        = `"groundingChunks":[{"web":{"uri":"https://example.com"}}]`
)

// metered lists Google's documented answers, and their charges.
var metered = []struct {
	name, model, grounding, usage string
	want                          llm.Usage
	tier                          string
}{
	{
		"searches of Gemini 3", "gemini-3.5-flash", threeQueries + "," + aPage, `"serviceTier":"standard"`,
		llm.Usage{llm.Searches: 3},
		"standard",
	},
	{
		"searches without a page", "gemini-3.5-flash", threeQueries, `"serviceTier":"priority"`,
		llm.Usage{llm.Searches: 3},
		"priority",
	},
	{
		"a search twice, and an empty one", "gemini-3.5-flash", `"webSearchQueries":["a","\u0061","","b"]`, `"serviceTier":"standard"`,
		llm.Usage{llm.Searches: 2},
		"standard",
	},
	{"the same at Google Cloud", "gemini-3.5-flash", threeQueries, `"trafficType":"ON_DEMAND"`, llm.Usage{}, ""},
	{
		"a grounded prompt", "models/gemini-2.5-flash", threeQueries + "," + aPage, `"trafficType":"ON_DEMAND_FLEX"`,
		llm.Usage{llm.Searches: 1},
		"flex",
	},
	{"no page at Google Cloud", "gemini-2.5-flash", threeQueries, `"trafficType":"ON_DEMAND_FLEX"`, llm.Usage{}, "flex"},
	{"no page", "gemini-2.5-pro", threeQueries, `"serviceTier":"flex"`, llm.Usage{llm.Searches: 1}, "flex"},
	{"an entry point alone", "gemini-2.5-pro", `"searchEntryPoint":{"renderedContent":"<a>"}`, `"serviceTier":"flex"`, llm.Usage{llm.Searches: 1}, "flex"},
	{"no search", "gemini-2.5-pro", `"webSearchQueries":[]`, `"serviceTier":"flex"`, llm.Usage{}, "flex"},
	{"no name", "", threeQueries, `"trafficTypeOf":1`, llm.Usage{llm.Searches: 3}, ""},
	{
		"maps", "gemini-3.5-flash", `"groundingChunks":[{"maps":{"uri":"a"}},{"maps":{"uri":"b"}}]`,
		`"trafficType":"PROVISIONED_THROUGHPUT"`,
		llm.Usage{llm.Maps: 1},
		"provisioned",
	},
	{
		"own data at Google Cloud", "gemini-2.5-flash", `"groundingChunks":[{"retrievedContext":{"title":"m"}}]`,
		`"trafficType":"ON_DEMAND_PRIORITY"`,
		llm.Usage{llm.FileSearches: 1},
		"priority",
	},
	{
		"own data", "gemini-3.5-flash", `"groundingChunks":[{"retrievedContext":{"title":"m"}}]`,
		`"serviceTier":"standard"`,
		llm.Usage{},
		"standard",
	},
	{
		"what a search found", "gemini-3.5-flash", threeQueries + "," + aPage,
		`"toolUsePromptTokenCount":5,"totalTokenCount":15`,
		llm.Usage{llm.Searches: 3, llm.Citation: 5},
		"",
	},
	{
		"what a search found, and a page that was read", "gemini-3.5-flash",
		threeQueries + "," + aPage + `},"urlContextMetadata":{"urlMetadata":[]`,
		`"toolUsePromptTokenCount":5,"totalTokenCount":15`,
		llm.Usage{llm.Searches: 3, llm.Input: 5},
		"",
	},
	{
		"own data that was found", "gemini-3.5-flash", `"groundingChunks":[{"retrievedContext":{"title":"m"}}]`,
		`"toolUsePromptTokenCount":5,"totalTokenCount":15`,
		llm.Usage{llm.Input: 5},
		"",
	},
	{"an unknown kind of traffic", "gemini-3.5-flash", "", `"trafficType":"SPOT"`, llm.Usage{}, "spot"},
	{
		"images and cached sound", "gemini-3.1-flash-image", "", `"cachedContentTokenCount":5,` +
			`"promptTokensDetails":[{"modality":"AUDIO","tokenCount":4}],` +
			`"cacheTokensDetails":[{"modality":"TEXT","tokenCount":2},{"modality":"AUDIO","tokenCount":3}],` +
			`"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":1},{"modality":"IMAGE","tokenCount":2}]`,
		llm.Usage{
			llm.Input: -6, llm.CacheRead: 2, llm.CacheReadAudio: 3, llm.AudioIn: 1, llm.Output: -2, llm.ImageOut: 2,
		},
		"",
	},
	{
		"video that went in and that came out", "gemini-omni-flash-preview", "",
		`"promptTokensDetails":[{"modality":"VIDEO","tokenCount":6},{"modality":"TEXT","tokenCount":1}],` +
			`"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":1},{"modality":"VIDEO","tokenCount":2}]`,
		llm.Usage{llm.Output: -2, llm.ImageOut: 2},
		"",
	},
}

// body builds an answer of seven input tokens and three output tokens.
func body(model, grounding, usage string) []byte {
	return []byte(`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP",` +
		`"groundingMetadata":{` + grounding + `}}],` +
		`"modelVersion":"` + model + `","usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,` +
		`"totalTokenCount":10,` + usage + `}}`)
}

func TestRepliesAreMetered(t *testing.T) {
	t.Parallel()
	for _, tt := range metered {
		want := tt.want
		want[llm.Input] += 7
		want[llm.Output] += 3
		data := body(tt.model, tt.grounding, tt.usage)
		r := must.Get(gemini.DecodeReply(data, nil))(t)
		if diff := cmp.Diff(r.Usage, want); diff != "" || r.Tier != tt.tier {
			t.Errorf("%s: tier %q, want %q (-got +want)\n%s", tt.name, r.Tier, tt.tier, diff)
		}
		events := must.Get(gemini.NewDecoder(nil).Decode(nil, sse.Event{Data: data}))(t)
		last := events[len(events)-1]
		if diff := cmp.Diff(last.Usage, want); diff != "" || last.Tier != tt.tier {
			t.Errorf("%s, streamed: tier %q, want %q (-got +want)\n%s", tt.name, last.Tier, tt.tier, diff)
		}
	}
}

// TestCachedSound checks the split of cached tokens between sound and text if Google does not report it: the dearer
// one, because a cache saves more on sound than on text.
func TestCachedSound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name               string
		audio, cached      int
		details            string
		sound, text, heard int64
		certain            bool
	}{
		{name: "no sound", cached: 4, text: 4, certain: true},
		{name: "nothing cached", audio: 4, heard: 4, certain: true},
		{name: "all is sound", audio: 10, cached: 4, sound: 4, heard: 6, certain: true},
		{name: "all is cached", audio: 6, cached: 10, sound: 6, text: 4, certain: true},
		{name: "more than the text", audio: 6, cached: 7, sound: 3, text: 4, heard: 3},
		{name: "less than the text", audio: 6, cached: 3, text: 3, heard: 6},
		{"told", 6, 3, `{"modality":"AUDIO","tokenCount":2},{"modality":"TEXT","tokenCount":1}`, 2, 1, 4, true},
		{"told in part", 6, 3, `{"modality":"TEXT","tokenCount":1}`, 0, 3, 6, false},
	}
	for _, tt := range tests {
		data := fmt.Appendf(nil, `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],`+
			`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":1,"totalTokenCount":11,`+
			`"cachedContentTokenCount":%d,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":%d}],`+
			`"cacheTokensDetails":[%s]}}`, tt.cached, tt.audio, tt.details)
		want := llm.Usage{
			llm.Input: 10 - tt.sound - tt.text - tt.heard, llm.AudioIn: tt.heard, llm.CacheRead: tt.text,
			llm.CacheReadAudio: tt.sound, llm.Output: 1,
		}
		r := must.Get(gemini.DecodeReply(data, nil))(t)
		if diff := cmp.Diff(r.Usage, want); diff != "" {
			t.Errorf("%s (-got +want)\n%s", tt.name, diff)
		}
		if certain := r.Most == nil; certain != tt.certain || !certain && *r.Most != want {
			t.Errorf("%s: most %v; want certain %t, %v", tt.name, r.Most, tt.certain, want)
		}
	}
}

// TestContradictoryCountsAreBounded checks that usage is certain only if its counts agree, and otherwise has a bound
// with each count in full.
func TestContradictoryCountsAreBounded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, usage string
		want, most  llm.Usage // most is empty if the counts agree
	}{
		{
			"more sound than went in", `"promptTokensDetails":[{"modality":"AUDIO","tokenCount":6000}]`,
			llm.Usage{llm.AudioIn: 1000, llm.Output: 100},
			llm.Usage{llm.Input: 1000, llm.AudioIn: 6000, llm.Output: 100},
		},
		{
			"sound and images that went in",
			`"promptTokensDetails":[{"modality":"AUDIO","tokenCount":700},{"modality":"IMAGE","tokenCount":700}]`,
			llm.Usage{llm.AudioIn: 700, llm.ImageIn: 300, llm.Output: 100},
			llm.Usage{llm.Input: 1000, llm.AudioIn: 700, llm.ImageIn: 700, llm.Output: 100},
		},
		{
			"sound and images that came out",
			`"candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":60},{"modality":"IMAGE","tokenCount":60}]`,
			llm.Usage{llm.Input: 1000, llm.AudioOut: 60, llm.ImageOut: 40},
			llm.Usage{llm.Input: 1000, llm.Output: 100, llm.AudioOut: 60, llm.ImageOut: 60},
		},
		{
			"sound and thoughts", `"thoughtsTokenCount":60,"candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":101}]`,
			llm.Usage{llm.Input: 1000, llm.Reasoning: 60, llm.AudioOut: 100},
			llm.Usage{llm.Input: 1000, llm.Output: 160, llm.Reasoning: 60, llm.AudioOut: 101},
		},
		{
			"all of it sound", `"thoughtsTokenCount":60,"candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":100}],` +
				`"promptTokensDetails":[{"modality":"AUDIO","tokenCount":400},{"modality":"IMAGE","tokenCount":600}]`,
			llm.Usage{llm.AudioIn: 400, llm.ImageIn: 600, llm.Reasoning: 60, llm.AudioOut: 100},
			llm.Usage{},
		},
		{
			"sound that a tool found", `"toolUsePromptTokenCount":50,` +
				`"promptTokensDetails":[{"modality":"AUDIO","tokenCount":1000}],` +
				`"toolUsePromptTokensDetails":[{"modality":"AUDIO","tokenCount":50}]`,
			llm.Usage{llm.AudioIn: 1050, llm.Output: 100},
			llm.Usage{},
		},
		{
			"cached sound and images", `"cachedContentTokenCount":1000,` +
				`"promptTokensDetails":[{"modality":"AUDIO","tokenCount":400},{"modality":"IMAGE","tokenCount":600}],` +
				`"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":400},{"modality":"IMAGE","tokenCount":600}]`,
			llm.Usage{llm.CacheRead: 600, llm.CacheReadAudio: 400, llm.Output: 100},
			llm.Usage{},
		},
		{
			"cached text and sound", `"cachedContentTokenCount":500,` +
				`"promptTokensDetails":[{"modality":"AUDIO","tokenCount":700}],` +
				`"cacheTokensDetails":[{"modality":"TEXT","tokenCount":500}]`,
			llm.Usage{llm.CacheRead: 500, llm.AudioIn: 500, llm.Output: 100},
			llm.Usage{llm.Input: 1000, llm.CacheRead: 500, llm.AudioIn: 700, llm.Output: 100},
		},
		{
			"more cached sound than is cached", `"cachedContentTokenCount":50,` +
				`"promptTokensDetails":[{"modality":"AUDIO","tokenCount":70}],` +
				`"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":60}]`,
			llm.Usage{llm.Input: 930, llm.CacheReadAudio: 50, llm.AudioIn: 20, llm.Output: 100},
			llm.Usage{llm.Input: 1000, llm.CacheRead: 50, llm.CacheReadAudio: 60, llm.AudioIn: 70, llm.Output: 100},
		},
		{
			"more text than came out", `"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":9000}]`,
			llm.Usage{llm.Input: 1000, llm.Output: 100},
			llm.Usage{llm.Input: 1000, llm.Output: 9000},
		},
		{
			"text and images that came out",
			`"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":80},{"modality":"IMAGE","tokenCount":80}]`,
			llm.Usage{llm.Input: 1000, llm.Output: 20, llm.ImageOut: 80},
			llm.Usage{llm.Input: 1000, llm.Output: 100, llm.ImageOut: 80},
		},
		{
			"more text than went in", `"promptTokensDetails":[{"modality":"TEXT","tokenCount":9000}]`,
			llm.Usage{llm.Input: 1000, llm.Output: 100},
			llm.Usage{llm.Input: 9000, llm.Output: 100},
		},
		{
			"text and sound that went in, beside a tool", `"toolUsePromptTokenCount":500,` +
				`"promptTokensDetails":[{"modality":"TEXT","tokenCount":800},{"modality":"AUDIO","tokenCount":700}]`,
			llm.Usage{llm.Input: 800, llm.AudioIn: 700, llm.Output: 100},
			llm.Usage{llm.Input: 1500, llm.AudioIn: 700, llm.Output: 100},
		},
	}
	for _, tt := range tests {
		data := []byte(`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],` +
			`"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":100,` + tt.usage + `}}`)
		r := must.Get(gemini.DecodeReply(data, nil))(t)
		must.Equal(t, r.Usage, tt.want, "%s", tt.name)
		most := r.Most
		if most == nil {
			most = new(llm.Usage)
		}
		must.Equal(t, *most, tt.most, "%s at most", tt.name)
	}
}

// TestSearchesInParts checks that a search counts once, in any pieces of a stream.
func TestSearchesInParts(t *testing.T) {
	t.Parallel()
	dec := gemini.NewDecoder(nil)
	got := int64(0)
	for _, queries := range []string{`"a"`, `"a","b"`, `"c"`, ``} {
		events, err := dec.Decode(nil, sse.Event{Data: body("gemini-3.5-flash", `"webSearchQueries":[`+queries+`]`, `"serviceTier":"standard"`)})
		must.Do(t, err)
		got = events[len(events)-1].Usage[llm.Searches]
	}
	if got != 3 {
		t.Errorf("got %d searches, want 3", got)
	}
}

// TestGroundingInParts checks that pages and searches in different pieces of a stream are joined, also after the
// tokens.
func TestGroundingInParts(t *testing.T) {
	t.Parallel()
	dec := gemini.NewDecoder(nil)
	var got llm.Usage
	for _, data := range []string{
		string(body("gemini-2.5-flash", threeQueries, `"trafficType":"ON_DEMAND"`)),
		`{"candidates":[{"groundingMetadata":{` + aPage + `}}],"modelVersion":"gemini-2.5-flash"}`,
	} {
		events := must.Get(dec.Decode(nil, sse.Event{Data: []byte(data)}))(t)
		for _, ev := range events {
			if ev.Kind == llm.EventUsage {
				got = ev.Usage
			}
		}
	}
	if want := (llm.Usage{llm.Input: 7, llm.Output: 3, llm.Searches: 1}); got != want {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// TestUsageAddsUp checks that all classes are decoded from an encoded answer.
func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	want := llm.Usage{
		llm.Input: 1, llm.CacheRead: 2, llm.CacheReadAudio: 8, llm.AudioIn: 16, llm.ImageIn: 32,
		llm.Output: 64, llm.Reasoning: 128, llm.AudioOut: 256, llm.ImageOut: 512,
	}
	r := llm.Reply{ExtraOf: gemini.Name, Reported: true, Usage: want, Choices: make([]llm.Choice, 1)}
	got, err := gemini.DecodeReply(gemini.EncodeReply(nil, &r), nil)
	if err != nil || got.Usage != want {
		t.Errorf("read %v, want %v: %v", got.Usage, want, err)
	}
}
