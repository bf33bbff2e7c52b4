package gemini

import (
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// rawUsage holds the counts of a usageMetadata. Absent ones are zero; the has fields report their presence.
type rawUsage struct {
	parse.Counter
	prompt, toolUse, cached          int64
	candidates, thoughts, total      int64
	audioIn, imageIn, videoIn        int64
	audioOut, imageOut               int64
	cachedAudio, cachedImage         int64
	hasPrompt, hasCandidates, hasAny bool
	cachedTold                       int64 // cached tokens with a known modality
	promptTold, candidatesTold       int64 // the same for prompt and candidates
	toolInput                        int64 // tool use within the input
}

// decodeUsage reads a usageMetadata into the classes, which add up to Google's own total: prompt, tool use, candidates
// and thoughts; the prompt includes cached tokens. It reports false if the value is no object, has no counts, or has a
// count that no request can have. It returns the upper bound if the counts contradict one another, as in llm.Reply.
// Tool use is the part of the input that tools found or read.
//
// https://ai.google.dev/api/generate-content#UsageMetadata
func decodeUsage(v []byte) (u llm.Usage, toolUse int64, most *llm.Usage, ok bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return u, 0, nil, false
	}
	var r rawUsage
	for m := range rawjson.Members(v) {
		r.read(m)
	}
	if r.Wild || !r.hasAny {
		return u, 0, parse.Told(r.separate()), false
	}
	u = r.classes()
	return u, r.toolInput, r.most(), u.Plausible()
}

// most returns an upper bound of the usage if the counts contradict one another, or if the total exceeds the sum of its
// parts: it then adds up all counts as if none contained another, because the charged ones are unknown. If the number
// of cached audio tokens is unknown, the bound is the classes with the most of them. It returns nil if the usage is
// certain.
func (r *rawUsage) most() *llm.Usage {
	input, output := r.totals()
	if (r.unknown() <= 0 || r.hasPrompt != r.hasCandidates) && r.inputAgrees(input) &&
		(!r.hasPrompt || r.promptTold <= r.prompt) && (!r.hasCandidates || r.candidatesTold <= r.candidates) &&
		r.thoughts+r.audioOut+r.imageOut <= output {
		if least, most := r.cachedSound(); least < most {
			u := r.classes()
			return &u
		}
		return nil
	}
	u := r.separate()
	return &u
}

// unknown returns the tokens of the total beyond all its parts.
func (r *rawUsage) unknown() int64 { return r.total - r.prompt - r.toolUse - r.candidates - r.thoughts }

// separate returns each count separately, with tokens of unknown kind as output.
func (r *rawUsage) separate() llm.Usage {
	input, output := r.totals()
	u := r.classes()
	if !r.hasPrompt && !r.hasCandidates {
		input = r.toolUse // the rest of the total is unknown
	}
	input = max(input, r.promptTold-r.audioIn-r.imageIn)
	output = max(output, r.candidatesTold-r.audioOut-r.imageOut)
	u[llm.Input], u[llm.CacheRead], u[llm.CacheReadAudio] = input, r.cached, r.cachedAudio
	u[llm.AudioIn], u[llm.ImageIn] = r.audioIn, r.imageIn
	u[llm.Output] = output + max(0, r.unknown())
	u[llm.Reasoning], u[llm.AudioOut], u[llm.ImageOut] = r.thoughts, r.audioOut, r.imageOut
	return u
}

// inputAgrees reports whether the parts of the input fit into it. Audio and images do not overlap, but cached tokens
// may be either: if their modality is reported, audio and images contain the cached tokens of their own modality, and
// no others.
func (r *rawUsage) inputAgrees(input int64) bool {
	kinds := r.audioIn + r.imageIn
	if r.cachedTold > 0 {
		if r.cachedAudio+r.cachedImage > r.cached {
			return false
		}
		kinds += max(0, min(r.cached, r.cachedTold)-r.cachedAudio-r.cachedImage)
	}
	return max(r.cached, kinds) <= input
}

func (r *rawUsage) read(m rawjson.Member) {
	switch string(spelled(m.Key())) {
	case "promptTokenCount":
		r.hasPrompt = r.count(&r.prompt, m.Value)
	case "candidatesTokenCount", "responseTokenCount": // the Live API's
		r.hasCandidates = r.count(&r.candidates, m.Value)
	case "totalTokenCount":
		r.count(&r.total, m.Value)
	case "cachedContentTokenCount":
		r.count(&r.cached, m.Value)
	case "thoughtsTokenCount":
		r.count(&r.thoughts, m.Value)
	case "toolUsePromptTokenCount":
		r.count(&r.toolUse, m.Value)
	case "promptTokensDetails":
		r.promptTold, r.videoIn = r.modalities(m.Value, &r.audioIn, &r.imageIn)
	case "toolUsePromptTokensDetails":
		r.modalities(m.Value, &r.audioIn, &r.imageIn)
	case "cacheTokensDetails":
		r.cachedTold, _ = r.modalities(m.Value, &r.cachedAudio, &r.cachedImage)
	case "candidatesTokensDetails", "responseTokensDetails":
		var video int64
		r.candidatesTold, video = r.modalities(m.Value, &r.audioOut, &r.imageOut)
		r.imageOut = min(r.imageOut+video, parse.MaxCount)
	}
}

// count reads a count into n and reports whether there was one.
func (r *rawUsage) count(n *int64, v []byte) bool {
	told := r.Count(n, v)
	r.hasAny = r.hasAny || told
	return told
}

// modalities adds the tokens of audio and images, and returns those of all modalities, and of video, which has the
// price of text as input and of images as output.
func (r *rawUsage) modalities(v []byte, audio, image *int64) (all, video int64) {
	for _, e := range rawjson.Elements(v) {
		var kind []byte
		var n int64
		for m := range rawjson.Members(e) {
			switch string(spelled(m.Key())) {
			case "modality":
				kind = m.Value
			case "tokenCount":
				r.count(&n, m.Value)
			}
		}
		switch string(kind) {
		case `"AUDIO"`:
			*audio = min(*audio+n, parse.MaxCount)
		case `"IMAGE"`:
			*image = min(*image+n, parse.MaxCount)
		case `"VIDEO"`:
			video = min(video+n, parse.MaxCount)
		}
		all = min(all+n, parse.MaxCount)
	}
	return all, video
}

// classes splits the totals. A detail that exceeds the rest of its total is cut to it, so that the sum always equals
// the total.
func (r *rawUsage) classes() llm.Usage {
	var u llm.Usage
	input, output := r.totals()
	r.toolInput = max(0, min(r.toolUse, input-r.prompt))
	cached := min(r.cached, input)
	u[llm.CacheReadAudio], _ = r.cachedSound()
	u[llm.CacheRead] = cached - u[llm.CacheReadAudio]
	left := input - cached
	u[llm.AudioIn] = min(max(0, r.audioIn-u[llm.CacheReadAudio]), left)
	left -= u[llm.AudioIn]
	u[llm.ImageIn] = min(max(0, r.imageIn-r.cachedImage), left)
	u[llm.Input] = left - u[llm.ImageIn]

	u[llm.Reasoning] = min(r.thoughts, output)
	left = output - u[llm.Reasoning]
	u[llm.AudioOut] = min(r.audioOut, left)
	left -= u[llm.AudioOut]
	u[llm.ImageOut] = min(r.imageOut, left)
	u[llm.Output] = left - u[llm.ImageOut]
	return u
}

// cachedSound returns the least and the most cached audio tokens: both equal if Google reports them.
func (r *rawUsage) cachedSound() (least, most int64) {
	input, _ := r.totals()
	if cached := min(r.cached, input); r.cachedTold >= cached {
		told := min(r.cachedAudio, cached)
		return told, told
	}
	return parse.CachedSound(r.cached, r.audioIn, input)
}

// totals returns all input and output tokens. Tool use and thoughts are in addition to prompt and candidates, unless
// Google's total is only correct otherwise. A remainder of the total belongs to the missing count, or else to the
// prompt.
func (r *rawUsage) totals() (input, output int64) {
	input, output = r.prompt+r.toolUse, r.candidates+r.thoughts
	if r.total == 0 || r.total == input+output {
		return input, output
	}
	switch r.total {
	case input + r.candidates:
		return input, r.candidates
	case r.prompt + output:
		return r.prompt, output
	case r.prompt + r.candidates:
		return r.prompt, r.candidates
	}
	if more := r.total - input - output; more > 0 && r.hasPrompt && !r.hasCandidates {
		output += more
	} else if more > 0 {
		input += more
	}
	return input, output
}

// appendUsage writes a usageMetadata, and the cost in US dollars if it is known.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	prompt, candidates := u.InputTokens(), u.OutputTokens()-u[llm.Reasoning]
	dst = rawjson.AppendCount(dst, `{"promptTokenCount":`, prompt)
	dst = rawjson.AppendCount(dst, `,"candidatesTokenCount":`, candidates)
	dst = rawjson.AppendCount(dst, `,"totalTokenCount":`, u.TotalTokens())
	cached := u[llm.CacheRead] + u[llm.CacheReadAudio]
	if cached > 0 {
		dst = rawjson.AppendCount(dst, `,"cachedContentTokenCount":`, cached)
	}
	if n := u[llm.Reasoning]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"thoughtsTokenCount":`, n)
	}
	audio, image := u[llm.AudioIn]+u[llm.CacheReadAudio], u[llm.ImageIn]
	if cached > 0 && audio > 0 {
		dst = appendModalities(dst, `,"cacheTokensDetails":`, u[llm.CacheRead], u[llm.CacheReadAudio], 0)
	}
	dst = appendModalities(dst, `,"promptTokensDetails":`, prompt-audio-image, audio, image)
	if audio, image = u[llm.AudioOut], u[llm.ImageOut]; audio+image > 0 {
		dst = appendModalities(dst, `,"candidatesTokensDetails":`, u[llm.Output], audio, image)
	}
	return append(stamp.Cost(dst, cost), '}')
}

// appendModalities writes a member that splits a count by modality.
func appendModalities(dst []byte, member string, text, audio, image int64) []byte {
	dst = rawjson.AppendCount(append(dst, member...), `[{"modality":"TEXT","tokenCount":`, text)
	dst = appendModality(dst, `,{"modality":"AUDIO","tokenCount":`, audio)
	return append(appendModality(dst, `,{"modality":"IMAGE","tokenCount":`, image), "}]"...)
}

// appendModality closes the element before it and begins the next, unless its count is 0.
func appendModality(dst []byte, opening string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return rawjson.AppendCount(append(dst, '}'), opening, n)
}

// Stamp appends to dst a reply, or the data of one stream event, with the cost in its usageMetadata and, after more
// than one attempt, the list of attempts. Without a usageMetadata the bytes stay unchanged.
func Stamp(dst, data []byte, f *llm.Final) []byte {
	return stamp.Reply(dst, data, "usageMetadata", f)
}

// HasUsage reports whether data has a usage object that Stamp can complete.
func HasUsage(data []byte) bool { return stamp.Has(data, "usageMetadata") }
