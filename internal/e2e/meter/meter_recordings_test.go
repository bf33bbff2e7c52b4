package meter_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// mp4Box builds a box of an MP4 file.
func mp4Box(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+8)), kind...), body...)
}

// bigEndian encodes numbers of four bytes.
func bigEndian(all ...uint32) (b []byte) {
	for _, n := range all {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// lyingM4A builds a recording of 27,129 frames of AAC at 22.05 kHz, 21 minutes. Its headers claim told milliseconds,
// and the one in the box before the real one claims one.
func lyingM4A(told uint32) []byte {
	header := func(kind string, ms uint32) []byte {
		return mp4Box(kind, bigEndian(0, 0, 0, 1000, ms), make([]byte, 76))
	}
	esds := mp4Box("esds", []byte("\x00\x00\x00\x00\x03\x19\x00\x01\x00\x04\x11\x40\x15"), make([]byte, 11), []byte("\x05\x02\x13\x88"))
	tables := mp4Box("stbl", mp4Box("stsd", bigEndian(0, 1), mp4Box("mp4a", make([]byte, 28), esds)), mp4Box("stsz", bigEndian(0, 4, 27_129)))
	track := mp4Box("trak", mp4Box("mdia", header("mdhd", told), mp4Box("hdlr", bigEndian(0, 0), []byte("soun")), mp4Box("minf", tables)))
	return slices.Concat(mp4Box("ftyp", []byte("M4A ")), mp4Box("free", header("mvhd", 1)), mp4Box("moov", header("mvhd", told), track), mp4Box("mdat", make([]byte, 4*27_129)))
}

// lyingWAV builds a recording of 21 minutes whose first chunk of data has one byte.
func lyingWAV() []byte {
	b := harness.WAV(0)
	binary.LittleEndian.PutUint32(b[24:], 1000) // samples a second
	binary.LittleEndian.PutUint32(b[28:], 1000)
	binary.LittleEndian.PutUint32(b[40:], 2)
	b = append(b, "xxdata"...)
	return append(binary.LittleEndian.AppendUint32(b, 1_260_000), make([]byte, 1_260_000)...)
}

// lyingOgg builds a recording of 21,000 packets of Opus of 60 ms. The last one claims that it ends at the first
// millisecond.
func lyingOgg() []byte {
	page := func(flags byte, position byte, packets int, packet string) []byte {
		head := append([]byte("OggS\x00"), flags, position, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(packets))
		return slices.Concat(head, bytes.Repeat([]byte{byte(len(packet))}, packets), bytes.Repeat([]byte(packet), packets))
	}
	return append(page(2, 0, 1, "OpusHead"), bytes.Repeat(page(0, 48, 210, "\x18abcd"), 100)...)
}

// lyingMP3 builds a recording of 17,500 frames of 8 kbit/s, of 72 ms. The first one claims to be the only one.
func lyingMP3() []byte {
	frame := append([]byte{0xff, 0xe3, 0x18, 0xc4}, make([]byte, 68)...)
	first := slices.Clone(frame)
	copy(first[13:], "Xing\x00\x00\x00\x01\x00\x00\x00\x01")
	return append(first, bytes.Repeat(frame, 17_499)...)
}

// TestLyingRecordings sends recordings of 21 minutes whose containers claim less to a provider that charges for all of
// them, 1.26 dollars: none exceeds a budget of half of that, and under a large one the provider's report counts, or
// without a report no less than that.
func TestLyingRecordings(t *testing.T) {
	t.Parallel()
	const cost = 1_260_000_000
	var asked atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte("\r\nsilent\r\n")) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "Hi\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":"Hi","usage":{"type":"duration","seconds":1260}}`)
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", ts.URL) + "prices:\n  house/*: {second: \"0.001\"}\n"})
	all := map[string][]byte{
		"WAV with two chunks of data": lyingWAV(), "M4A behind a free box that lies": lyingM4A(1_259_873), "M4A of false headers": lyingM4A(1),
		"Ogg of a false position": lyingOgg(), "MP3 of a false header": lyingMP3(), "another container": make([]byte, 70_000),
	}
	h.SetBudget(cost/2, budget.PeriodDay)
	for name, file := range all {
		for _, model := range []string{"told", "silent"} {
			if r := h.Transcribe("/v1/audio/transcriptions", file, "model", "house/"+model); r.Status != http.StatusTooManyRequests || !strings.Contains(r.Body, "insufficient_quota") {
				t.Errorf("%s, %s: got %d %s, want a refusal", name, model, r.Status, r.Body)
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the provider got %d requests, want none", n)
	}
	h.SetBudget(1000*llm.USD, budget.PeriodDay)
	for name, file := range all {
		r := h.Transcribe("/v1/audio/transcriptions", file, "model", "house/told")
		if got := h.Entry(t, r.Header.Get("X-Request-Id")); got.Cost != cost || got.Provenance != ledger.Exact || got.AtMost != 0 || got.Hold < got.Cost {
			t.Errorf("%s, reported: got %+v of a hold of $%s", name, got.Settlement, got.Hold)
		}
		r = h.Transcribe("/v1/audio/transcriptions", file, "model", "house/silent")
		if got := h.Entry(t, r.Header.Get("X-Request-Id")); got.Provenance != ledger.Estimated || got.Charged() < cost || got.AtMost > 4*cost {
			t.Errorf("%s, silent: got %+v of a hold of $%s", name, got.Settlement, got.Hold)
		}
	}
	h.Verify(t)
}

// TestProviderBeatsRecording checks that the provider's seconds count if a recording claims, and seems, to be far
// shorter.
func TestProviderBeatsRecording(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":"Hi","usage":{"type":"duration","seconds":12600}}`)
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", ts.URL) + "prices:\n  house/*: {second: \"0.0001\"}\n"})
	r := h.Transcribe("/v1/audio/transcriptions", harness.WAV(1), "model", "house/m")
	if got := h.Entry(t, r.Header.Get("X-Request-Id")); got.Cost.String() != "1.26" || got.Provenance != ledger.Exact {
		t.Errorf("got %+v, want $1.26, as the provider reports", got.Settlement)
	}
}
