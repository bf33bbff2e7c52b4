package gemini

import (
	"bytes"
	"strconv"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// live describes the Live API (https://ai.google.dev/api/live, copy of 2026-11-30). Its SDKs join the address of the
// host and this path.
func live() *dialect.Live {
	const service = "GenerativeService.BidiGenerateContent"
	return &dialect.Live{
		Routes: []string{
			"GET /ws/google.ai.generativelanguage.v1beta." + service,
			"GET /ws/google.ai.generativelanguage.v1alpha." + service,
			"GET /ws/google.ai.generativelanguage.v1." + service,
		},
		Target: "/ws/google.ai.generativelanguage.{version}." + service,
		Read:   readLive, Setup: liveSetup, Event: readLiveEvent, Usage: liveUsage, Tokens: liveTokens,
	}
}

// liveTokens is twice the tokens that Google counts for a second of sound or of speech: 32
// (https://ai.google.dev/gemini-api/docs/tokens, copy of 2026-11-30).
const liveTokens = 64

// The kinds of a client's message.
const (
	kindSetup    = "setup"
	kindContent  = "clientContent"
	kindRealtime = "realtimeInput"
	kindResults  = "toolResponse"
)

// liveMembers lists the members of each kind of message. Another one might begin something whose cost has no bound.
func liveMembers(kind string) rawjson.Names {
	switch kind {
	case kindSetup:
		return rawjson.Names{
			"model", "generationConfig", "systemInstruction", "tools", "realtimeInputConfig", "sessionResumption",
			"contextWindowCompression", "inputAudioTranscription", "outputAudioTranscription", "proactivity",
			"explicitVadSignal", "historyConfig",
		}
	case kindContent:
		return rawjson.Names{"turns", "turnComplete"}
	case kindRealtime:
		return rawjson.Names{
			"mediaChunks", "audio", "video", "text", "activityStart", "activityEnd", "audioStreamEnd",
		}
	case kindResults:
		return rawjson.Names{"functionResponses"}
	}
	return nil
}

// liveConfig lists the members of a setup's generationConfig.
var liveConfig = rawjson.Names{
	"candidateCount", "maxOutputTokens", "temperature", "topP", "topK", "presencePenalty", "frequencyPenalty", "seed",
	"responseModalities", "speechConfig", "mediaResolution", "thinkingConfig", "enableAffectiveDialog",
	"stopSequences",
}

// readLive reads a message of a client.
func readLive(frame []byte) (m dialect.LiveMessage, err error) {
	if err := rawjson.Validate(frame, maxDepth); err != nil {
		return m, llm.Invalidf("", "The message is not valid JSON: %v. Send one JSON object a message.", err)
	}
	if name, twice := rawjson.Repeated(frame); twice {
		return m, llm.Invalidf("", "The message has the field %q twice in one object. Send it once.", name)
	}
	kind := ""
	for member := range rawjson.Members(frame) {
		if kind != "" {
			return m, llm.Invalidf("", "The message has both %s and %s. Send one of them.", kind, member.Name())
		}
		kind, m.Body = string(spelled(member.Key())), member.Value
	}
	names := liveMembers(kind)
	if names == nil {
		return m, llm.Invalidf("", "The gateway does not relay messages of the kind %.100q. Send one object with "+
			"setup, clientContent, realtimeInput or toolResponse.", kind)
	}
	if m.Body, err = liveObject(kind, m.Body, names); err != nil {
		return m, err
	}
	switch kind {
	case kindSetup:
		return m, readSetup(&m)
	case kindContent:
		m.Asks = !isOff(rawjson.Get(m.Body, "turnComplete"))
	case kindResults:
		m.Asks = true
	default:
		listen(&m)
	}
	m.Unbounded = m.Unbounded || kind != kindRealtime && hasMedia(m.Body)
	return m, nil
}

// isOff reports whether a field is absent or false. Google also reads a text such as "true".
func isOff(v []byte) bool {
	on, ok := rawjson.AsBool(v)
	return !rawjson.Present(v) || ok && !on
}

// listen reads a message with sound, pictures or text as they arise.
func listen(m *dialect.LiveMessage) {
	m.Asks = rawjson.Present(rawjson.Get(m.Body, "text")) || rawjson.Present(rawjson.Get(m.Body, "activityEnd"))
	m.Unbounded = rawjson.Present(rawjson.Get(m.Body, "video"))
	blobs := [][]byte{rawjson.Get(m.Body, "audio")}
	for _, v := range list(rawjson.Get(m.Body, "mediaChunks")) {
		blobs = append(blobs, v)
	}
	for _, blob := range blobs {
		if !rawjson.Present(blob) {
			continue
		}
		second, ok := pcmSecond(rawjson.Text(get(blob, "mimeType")))
		m.Unbounded = m.Unbounded || !ok || !isDistinct(blob)
		m.Millis += (int64(len(get(blob, "data")))*750 + second - 1) / second
	}
	m.Listens = m.Unbounded || m.Millis > 0
	m.Words = int64(len(rawjson.Get(m.Body, "text")))
}

// liveObject returns an object with names in camelCase, all of which have to be known.
func liveObject(of string, v []byte, names rawjson.Names) ([]byte, error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return nil, llm.Invalidf(of, "The member %s is not an object.", of)
	}
	var seen rawjson.Seen
	v = rawjson.Rewrite(v, func(name string) string { return string(spelled([]byte(name))) })
	for m := range rawjson.Members(v) {
		i, err := names.Find(m, &seen)
		if err != nil {
			return nil, llm.Invalidf(of, "The member %s has a mistake: %v.", of, err)
		}
		if i < 0 {
			return nil, llm.Invalidf(of, "The gateway does not relay the field %.100q of %s. Leave it out.", m.Name(),
				of)
		}
	}
	return v, nil
}

// readSetup reads a setup, and writes the names of its limits in camelCase.
func readSetup(m *dialect.LiveMessage) error {
	config, err := []byte("{}"), error(nil)
	if v := rawjson.Get(m.Body, "generationConfig"); rawjson.Present(v) {
		if config, err = liveObject("generationConfig", v, liveConfig); err != nil {
			return err
		}
	}
	count := rawjson.Get(config, "candidateCount")
	if n, ok := rawjson.AsInt(count); rawjson.Present(count) && (!ok || n > 1) {
		return llm.Invalid("setup.generationConfig.candidateCount", "The Live API has one answer. Leave it out.")
	}
	m.Body = rawjson.Splice(nil, m.Body, rawjson.Set(m.Body, "generationConfig", config))
	input := rawjson.Get(m.Body, "realtimeInputConfig")
	for _, v := range [][]byte{
		input, get(input, "automaticActivityDetection"), rawjson.Get(m.Body, "sessionResumption"),
	} {
		if !isDistinct(v) {
			return llm.Invalid("setup", "The setup has a field in two spellings. Send it once.")
		}
	}
	if err := checkLiveTools(rawjson.Get(m.Body, "tools")); err != nil {
		return err
	}
	detection := get(input, "automaticActivityDetection")
	disabled, ok := rawjson.AsBool(get(detection, "disabled"))
	m.Setup = &dialect.LiveSetup{
		Model: Canonical(rawjson.Text(rawjson.Get(m.Body, "model"))), Detects: !ok || !disabled,
		Resumes:  rawjson.Present(get(rawjson.Get(m.Body, "sessionResumption"), "handle")),
		Parallel: goesOn(rawjson.Get(m.Body, "tools")),
	}
	if v := get(detection, "silenceDurationMs"); rawjson.Present(v) {
		n, _ := rawjson.AsInt(v) // a text or a fraction, too, is a number for Google: the shortest counts
		m.Setup.Silence = max(1, n)
	}
	if n, ok := rawjson.AsInt(rawjson.Get(config, "maxOutputTokens")); ok {
		m.Setup.Cap = max(0, n)
	}
	m.Unbounded = hasMedia(m.Body)
	return nil
}

// checkLiveTools refuses tools that are no functions.
func checkLiveTools(tools []byte) error {
	if rawjson.Present(tools) && !isList(tools) {
		return llm.Invalid("setup.tools", "The member tools is no array. Send an array of objects.")
	}
	for _, tool := range list(tools) {
		if rawjson.KindOf(tool) != rawjson.Object {
			return llm.Invalid("setup.tools", "A tool is no object. Send objects with functionDeclarations.")
		}
		for member := range rawjson.Members(tool) {
			if string(spelled(member.Key())) != "functionDeclarations" {
				return llm.Invalidf("setup.tools", "The tool %.100q runs at the provider, so that its cost has no "+
					"bound. Send functions.", member.Name())
			}
		}
	}
	return nil
}

// goesOn reports whether the model may go on while a function runs: "NON_BLOCKING" of its declaration
// (https://ai.google.dev/gemini-api/docs/live-tools, copy of 2026-11-30). All but the known words and numbers of the
// others count as that.
func goesOn(tools []byte) bool {
	for _, tool := range list(tools) {
		for _, function := range list(get(tool, "functionDeclarations")) {
			v := get(function, "behavior")
			switch {
			case !rawjson.Present(v), string(v) == "0", string(v) == "1":
			case rawjson.Text(v) != "UNSPECIFIED" && rawjson.Text(v) != "BLOCKING":
				return true
			}
		}
	}
	return false
}

// isDistinct reports whether no two members of an object have the same name in any spelling.
func isDistinct(object []byte) bool {
	seen := map[string]bool{}
	for m := range rawjson.Members(object) {
		name := strings.ToLower(string(spelled(m.Key())))
		if seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// liveSetup returns a setup as a message to the provider.
func liveSetup(m *dialect.LiveMessage, model string, limit int64) []byte {
	if !strings.Contains(model, "/") {
		model = modelsPrefix + model
	}
	body := rawjson.Splice(nil, m.Body, rawjson.Set(m.Body, "model", rawjson.AppendString(nil, model)))
	if limit > 0 {
		config := rawjson.Get(body, "generationConfig")
		config = rawjson.Splice(nil, config, rawjson.Set(config, "maxOutputTokens", strconv.AppendInt(nil, limit, 10)))
		body = rawjson.Splice(nil, body, rawjson.Set(body, "generationConfig", config))
	}
	return append(append([]byte(`{"setup":`), body...), '}')
}

// pcmSecond returns the bytes of a second of PCM in 16 bits, by default 16 kHz. It reports false for another type, and
// for other options than one rate.
func pcmSecond(mime string) (n int64, ok bool) {
	kind, option, found := strings.Cut(mime, ";")
	rate := int64(16_000)
	if found {
		text, named := strings.CutPrefix(strings.TrimSpace(option), "rate=")
		asked, err := strconv.ParseInt(text, 10, 64)
		if !named || err != nil || asked < 1000 || asked > 192_000 {
			return 2 * rate, false
		}
		rate = asked
	}
	return 2 * rate, strings.EqualFold(strings.TrimSpace(kind), "audio/pcm")
}

// hasMedia reports whether a text of JSON may have media. An escaped letter may hide a name.
func hasMedia(v []byte) bool {
	for _, word := range []string{"inlineData", "inline_data", "fileData", "file_data", `\u00`} {
		if bytes.Contains(v, []byte(word)) {
			return true
		}
	}
	return false
}

// readLiveEvent reads a message of the provider.
func readLiveEvent(frame []byte) (e dialect.LiveEvent) {
	for m := range rawjson.Members(frame) {
		switch string(spelled(m.Key())) {
		case "setupComplete":
			e.Ready = true
		case "toolCall":
			e.Calls, e.Begun, e.Text = true, true, int64(len(m.Value))
		case "usageMetadata":
			e.Usage = m.Value
		case "serverContent":
			readContent(&e, m.Value)
		}
	}
	return e
}

// readContent reads a part of an answer.
func readContent(e *dialect.LiveEvent, v []byte) {
	for m := range rawjson.Members(v) {
		yes, _ := rawjson.AsBool(m.Value)
		switch string(spelled(m.Key())) {
		case "turnComplete":
			e.Complete = yes
		case "interrupted":
			e.Interrupted = yes
		case "outputTranscription":
			e.Begun = true
		case "modelTurn":
			e.Begun = true
			for _, part := range rawjson.Elements(get(m.Value, "parts")) {
				e.Sound += int64(len(get(get(part, "inlineData"), "data")))
				e.Text += int64(len(get(part, "text")))
			}
		}
	}
}

// liveUsage reads the usageMetadata of the Live API. In contrast to generateContent, its total does not contain
// thoughts, and its modalities may leave out tokens, which count as text and in most as sound
// (https://discuss.ai.google.dev/t/188765, 2026-11-30). It reports false if there is none, or if it is not valid.
func liveUsage(v []byte) (used, most llm.Usage, ok bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return used, most, false
	}
	var r rawUsage
	for m := range rawjson.Members(v) {
		r.read(m)
	}
	if r.Wild || !r.hasAny {
		return used, most, false
	}
	if r.thoughts > 0 && r.total == r.prompt+r.toolUse+r.candidates {
		r.total += r.thoughts
	}
	used = r.classes()
	video := min(r.videoIn, used[llm.Input]) // at the price of images, as on the vendor's page
	used[llm.Input], used[llm.ImageIn] = used[llm.Input]-video, used[llm.ImageIn]+video
	if most = used; r.most() != nil {
		most = *r.most()
	}
	if gap := min(max(0, r.prompt-r.promptTold), most[llm.Input]); gap > 0 {
		most[llm.Input] -= gap
		most[llm.AudioIn] += gap
	}
	if gap := min(max(0, r.candidates-r.candidatesTold), most[llm.Output]); gap > 0 {
		most[llm.Output] -= gap
		most[llm.AudioOut] += gap
	}
	return used, most, used.Plausible()
}
