package openai_test

import (
	"bytes"
	"encoding/binary"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/sse"
)

// recordingForm is a form with a recording.
func recordingForm(t testing.TB, file []byte) ([]byte, *http.Request) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	_ = form.WriteField("model", "whisper-1")
	part, err := form.CreateFormFile("file", "a")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(file)
	_ = form.Close()
	return b.Bytes(), &http.Request{Header: http.Header{"Content-Type": {form.FormDataContentType()}}}
}

func packed(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case []byte:
			b.Write(p)
		default:
			_ = binary.Write(&b, binary.BigEndian, p)
		}
	}
	return b.Bytes()
}

// little is a number as little-endian bytes.
func little(v any) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, v)
	return b.Bytes()
}

// TestRecordings reads how long recordings are.
func TestRecordings(t *testing.T) {
	t.Parallel()
	filler := make([]byte, 20_000)
	// 128 kbit/s at 44.1 kHz: 417 bytes a frame of 1,152 samples.
	frame := append([]byte{0xff, 0xfb, 0x90, 0x00}, make([]byte, 413)...)
	for _, tt := range []struct {
		name string
		file []byte
		want int64
	}{
		{"wav", packed("RIFF____WAVEfmt ", little(uint32(16)), little([]uint16{1, 1}), little([]uint32{8000, 8000}), little([]uint16{1, 8}), "data", little(uint32(12_000)), filler[:12_000]), 1500},
		{"wav of a live recording", packed("RIFF____WAVEfmt ", little(uint32(16)), little([]uint16{1, 1}), little([]uint32{8000, 8000}), little([]uint16{1, 8}), "data", little(uint32(0xffffffff)), filler[:4000]), 500},
		{"wav that lies", packed("RIFF____WAVEfmt ", little(uint32(16)), little([]uint16{1, 1}), little([]uint32{1, 1}), little([]uint16{1, 8}), "data", little(uint32(12_000)), filler[:12_000]), 12_044},
		{"wav of a false rate", packed("RIFF____WAVEfmt ", little(uint32(16)), little([]uint16{1, 1}), little([]uint32{8000, 12_000_000}), little([]uint16{1, 8}), "data", little(uint32(12_000)), filler[:12_000]), 1500},
		{"wav of ADPCM", packed("RIFF____WAVEfmt ", little(uint32(16)), little([]uint16{17, 1}), little([]uint32{8000, 4000}), little([]uint16{1, 4}), "data", little(uint32(6000)), filler[:6000]), 1500},
		{"wav of ADPCM of a false rate", packed("RIFF____WAVEfmt ", little(uint32(16)), little([]uint16{17, 1}), little([]uint32{8000, 6_000_000}), little([]uint16{1, 4}), "data", little(uint32(6400)), filler[:6400]), 100},
		{"flac of a false length", packed("fLaC", []byte{0, 0, 0, 34}, make([]byte, 10), uint64(8_000)<<44|uint64(15)<<36|uint64(1), filler, filler), 2501},
		{"opus with a false end", packed("OggS", make([]byte, 24), "OpusHead", filler, "OggS", []byte{0, 4}, little(uint64(48)), filler[:20]), 313},
		{"mp3 with something between", append(append(bytes.Repeat(frame, 10), "\x00\xffTAG\xff"...), bytes.Repeat(frame, 30)...), 1044},
		{"flac", packed("fLaC", []byte{0, 0, 0, 34}, make([]byte, 10), uint64(44_100)<<44|uint64(66_150), filler), 1500},
		{"opus", packed("OggS", make([]byte, 24), "OpusHead", filler, "OggS", []byte{0, 4}, little(uint64(96_000)), filler[:20]), 2000},
		{"vorbis", packed("OggS", make([]byte, 24), "\x01vorbis", make([]byte, 5), little(uint32(22_050)), filler, "OggS", []byte{0, 4}, little(uint64(22_050)), filler[:20]), 1000},
		{"mp4", packed("\x00\x00\x00\x18ftypM4A ", filler, "mvhd", uint32(0), uint64(0), uint32(600), uint32(1500), filler[:40]), 2500},
		{"mp3", bytes.Repeat(frame, 40), 1044},
		{"mp3 behind a tag", packed("ID3\x04\x00\x00\x00\x00\x01\x00", filler[:128], bytes.Repeat(frame, 40)), 1044},
		{"unknown", packed("\x1aE\xdf\xa3", filler[:9996]), 10_000},
		{"nothing", nil, 0},
	} {
		body, r := recordingForm(t, tt.file)
		h, err := openai.ScanTranscription(body, r)
		if got := h.Units[llm.Milliseconds]; err != nil || got != tt.want || h.Model != "whisper-1" {
			t.Errorf("%s: got %d ms, %v; want %d", tt.name, got, err, tt.want)
		}
	}
}

// TestForms refuses what is no form.
func TestForms(t *testing.T) {
	t.Parallel()
	good, r := recordingForm(t, []byte("x"))
	for name, body := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)-10], "no parts": []byte("hello"), "head alone": good[:40],
		"too many": append(bytes.Repeat(good[:bytes.LastIndex(good, []byte("--"))-2-len(strings.TrimPrefix(r.Header.Get("Content-Type"), "multipart/form-data; boundary="))-4], 60), good...),
	} {
		if _, err := openai.ScanTranscription(body, r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := openai.ScanTranscription(good, &http.Request{Header: http.Header{}}); err == nil {
		t.Error("no boundary: no error")
	}
	h, err := openai.ScanTranscription(good, r)
	if err != nil {
		t.Fatal(err)
	}
	spliced := openai.SpliceForm(nil, good, &h, llm.Splice{Model: "large"}, nil)
	if want := strings.Replace(string(good), "whisper-1", "large", 1); string(spliced) != want {
		t.Errorf("spliced: %q, want %q", spliced, want)
	}
	h.ModelSpan = llm.Span{}
	added := openai.SpliceForm(nil, good, &h, llm.Splice{Model: "large"}, nil)
	if !strings.Contains(string(added), "name=\"model\"\r\n\r\nlarge\r\n--") || !bytes.HasSuffix(added, good) {
		t.Errorf("added: %q", added)
	}
}

// FuzzForm holds that whatever comes is parted or refused, and that a form that
// was parted keeps its length but for the model's name.
func FuzzForm(f *testing.F) {
	good, r := recordingForm(f, []byte("RIFF____WAVEfmt "))
	f.Add(good)
	f.Add(append(good[:60:60], "\xff\xfb\x90\x00 fLaC OggS ftyp mvhd"...))
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := openai.ScanTranscription(body, r)
		if err != nil {
			return
		}
		if ms := h.Units[llm.Milliseconds]; ms < 0 || ms > int64(len(body)) {
			t.Errorf("%d ms of %d bytes", ms, len(body))
		}
		if out := openai.SpliceForm(nil, body, &h, llm.Splice{Model: h.Model}, nil); h.ModelSpan.Present() && !bytes.Equal(out, body) {
			t.Errorf("got %q, want %q", out, body)
		}
	})
}

// FuzzRecording holds that no recording takes the reader out of its bounds.
func FuzzRecording(f *testing.F) {
	for _, magic := range []string{"RIFF____WAVEfmt ", "fLaC", "OggS", "\x00\x00\x00\x18ftypmvhd", "ID3\x04\x00\x00\x7f\x7f\x7f\x7f", "\xff\xfb\x90\x00"} {
		f.Add(packed(magic, make([]byte, 64)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		body, r := recordingForm(t, file)
		h, err := openai.ScanTranscription(body, r)
		if ms := h.Units[llm.Milliseconds]; err == nil && (ms < 0 || ms > int64(len(file))) {
			t.Errorf("%d ms of %d bytes", ms, len(file))
		}
	})
}

// TestSpeechUnits counts all that is read for a speech: how it is to be spoken,
// too.
func TestSpeechUnits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body              string
		characters, input int64
	}{
		{`{"model":"m","input":"Füße","voice":"alloy"}`, 4, 1},
		{`{"model":"m","input":"Füße","voice":"alloy","instructions":"Slowly, as if it were late."}`, 4, 8},
		{`{"model":"m","input":"Füße","instructions":null}`, 4, 1},
	} {
		h, err := openai.ScanSpeech([]byte(tt.body), nil)
		if got := h.Units; err != nil || got[llm.Characters] != tt.characters || got[llm.Input] != tt.input {
			t.Errorf("%s: got %v, %v; want %d characters, %d tokens", tt.body, got, err, tt.characters, tt.input)
		}
	}
	if _, err := openai.ScanSpeech([]byte(`{"model":"m","input":"x","instructions":"a","instructions":"b"}`), nil); err == nil {
		t.Error("instructions twice: no error")
	}
}

// What an image is stands in the request, and in some answers.
func TestImageModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ members, want string }{
		{``, "image::"},
		{`,"size":"auto","quality":"auto"`, "image::"},
		{`,"size":"1024x1024","quality":"hd"`, "image:1024x1024:hd"},
		{`,"resolution":"2K"`, "image:2k:"},
		{`,"quality":"` + strings.Repeat("x", 40) + `"`, "image::unknown"},
	} {
		h, err := openai.ScanImage([]byte(`{"model":"m","prompt":"p"`+tt.members+`}`), nil)
		if err != nil || h.Asked != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.members, h.Asked, err, tt.want)
		}
	}
	for body, want := range map[string]string{
		`{"data":[{"url":"u"}]}`:                                    "",
		`{"size":"1024x1024","quality":"low","data":[{"url":"u"}]}`: "image:1024x1024:low",
	} {
		if r, err := openai.DecodeImages([]byte(body), nil); err != nil || r.Tier != want {
			t.Errorf("%s: got %v, %v, want %q", body, r, err, want)
		}
	}
	events, err := openai.NewMediaDecoder(nil).Decode(nil, sse.Event{
		Data: []byte(`{"type":"image_generation.completed","size":"1024x1024","quality":"high","b64_json":"a"}`),
	})
	if err != nil || len(events) == 0 || events[0].Tier != "image:1024x1024:high" {
		t.Errorf("a stream: got %v, %v", events, err)
	}
}
