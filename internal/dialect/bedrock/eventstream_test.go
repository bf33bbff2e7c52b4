package bedrock_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bedrock/bedrocktest"
	"weir/internal/must"

	"weir/internal/worktest"
)

const bound = 1 << 20

type event struct{ Name, Data, Raw string }

// readAll reads a stream to its end; the error is nil for io.EOF.
func readAll(src io.Reader, bound int) (events []event, err error) {
	r := bedrock.NewReader(src, bound)
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			if _, again := r.Next(); !errors.Is(again, err) || r.Buffered() {
				return events, errors.New("the reader goes on behind an error")
			}
			return events, err
		}
		events = append(events, event{string(ev.Name), string(ev.Data), string(ev.Raw)})
	}
}

// encode writes a frame with the vendor's own encoder.
func encode(t testing.TB, m eventstream.Message) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, eventstream.NewEncoder().Encode(&b, m))
	return b.Bytes()
}

func text(name, value string) eventstream.Header {
	return eventstream.Header{Name: name, Value: eventstream.StringValue(value)}
}

// TestFramesByTheVendor reads frames of the vendor's encoder, with headers of every type.
func TestFramesByTheVendor(t *testing.T) {
	t.Parallel()
	odd := eventstream.Headers{
		{Name: "true", Value: eventstream.BoolValue(true)},
		{Name: "false", Value: eventstream.BoolValue(false)},
		{Name: "byte", Value: eventstream.Int8Value(-1)},
		{Name: "short", Value: eventstream.Int16Value(-1)},
		{Name: "integer", Value: eventstream.Int32Value(-1)},
		{Name: "long", Value: eventstream.Int64Value(-1)},
		{Name: "bytes", Value: eventstream.BytesValue("x")},
		{Name: ":event-type", Value: eventstream.BytesValue("not a string")},
		{Name: "time", Value: eventstream.TimestampValue{}},
		{Name: "uuid", Value: eventstream.UUIDValue{1}},
	}
	tests := []struct {
		message eventstream.Message
		want    event
		err     error
	}{
		{eventstream.Message{Headers: append(eventstream.Headers{text(":event-type", "a"), text(":message-type", "event")}, odd...), Payload: []byte(`{}`)}, event{Name: "a", Data: `{}`}, nil},
		{eventstream.Message{Headers: eventstream.Headers{text(":event-type", "a"), text(":message-type", "event")}}, event{Name: "a"}, nil},
		{eventstream.Message{Headers: eventstream.Headers{text(":exception-type", "throttlingException"), text(":message-type", "exception")}, Payload: []byte(`{"message":"m"}`)}, event{Name: "throttlingException", Data: `{"message":"m"}`}, nil},
		{eventstream.Message{Headers: eventstream.Headers{text(":exception-type", "Oops"), text(":message-type", "exception")}, Payload: []byte(`{}`)}, event{Name: "error", Data: `{}`}, nil},
		{eventstream.Message{Headers: eventstream.Headers{text(":error-code", `In"ternal`), text(":error-message", "m"), text(":message-type", "error")}}, event{Name: "error", Data: `{"__type":"In\"ternal","message":"m"}`}, nil},
		{eventstream.Message{Headers: eventstream.Headers{text(":message-type", "event")}}, event{}, bedrock.ErrHeaders},
		{eventstream.Message{Headers: eventstream.Headers{text(":message-type", "other"), text(":event-type", "a")}}, event{}, bedrock.ErrHeaders},
		{eventstream.Message{}, event{}, bedrock.ErrHeaders},
	}
	for _, tt := range tests {
		frame := encode(t, tt.message)
		got, err := readAll(bytes.NewReader(frame), bound)
		if !errors.Is(err, tt.err) {
			t.Errorf("%v: error %v, want %v", tt.message, err, tt.err)
		}
		if tt.err != nil {
			continue
		}
		tt.want.Raw = string(frame)
		must.Equal(t, got, []event{tt.want}, "%v", tt.message)
	}
}

// TestFramesForTheVendor has the vendor's decoder read frames of this encoder.
func TestFramesForTheVendor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, typed, message string }{
		{"contentBlockDelta", eventstreamapi.EventTypeHeader, eventstreamapi.EventMessageType},
		{"throttlingException", eventstreamapi.ExceptionTypeHeader, eventstreamapi.ExceptionMessageType},
	} {
		for _, data := range []string{"", `{"a":1}`, strings.Repeat("x", 100_000)} {
			frame := bedrocktest.AppendFrame([]byte("before"), tt.name, []byte(data))[len("before"):]
			got, err := eventstream.NewDecoder().Decode(bytes.NewReader(frame), nil)
			if err != nil || string(got.Payload) != data {
				t.Fatalf("%s: %v, %d bytes, want %d", tt.name, err, len(got.Payload), len(data))
			}
			for header, want := range map[string]string{
				tt.typed: tt.name, eventstreamapi.MessageTypeHeader: tt.message, eventstreamapi.ContentTypeHeader: "application/json",
			} {
				if v := got.Headers.Get(header); v == nil || v.String() != want {
					t.Errorf("%s: header %s is %v, want %s", tt.name, header, v, want)
				}
			}
			own, err := readAll(bytes.NewReader(frame), bound)
			if diff := cmp.Diff(own, []event{{tt.name, data, string(frame)}}); diff != "" || err != nil {
				t.Errorf("%s, read back (-got +want)\n%s%v", tt.name, diff, err)
			}
		}
	}
}

// stream builds three frames of growing length.
func stream() (b []byte, names []string) {
	for i, name := range []string{"a", "bb", "ccc"} {
		b = bedrocktest.AppendFrame(b, name, bytes.Repeat([]byte("x"), i*9000))
		names = append(names, name)
	}
	return b, names
}

func TestFramesInPieces(t *testing.T) {
	t.Parallel()
	b, names := stream()
	for what, src := range map[string]io.Reader{
		"whole": bytes.NewReader(b), "bytes": iotest.OneByteReader(bytes.NewReader(b)),
		"halves": iotest.HalfReader(bytes.NewReader(b)), "with the end": iotest.DataErrReader(bytes.NewReader(b)),
	} {
		got, err := readAll(src, bound)
		if err != nil || len(got) != len(names) {
			t.Fatalf("%s: %d frames, %v", what, len(got), err)
		}
		raw := ""
		for i, ev := range got {
			raw += ev.Raw
			if ev.Name != names[i] || len(ev.Data) != i*9000 {
				t.Errorf("%s: frame %d is %s of %d bytes", what, i, ev.Name, len(ev.Data))
			}
		}
		if raw != string(b) {
			t.Errorf("%s: the raw frames are not the stream", what)
		}
	}
}

func TestBufferedReportsWholeFrames(t *testing.T) {
	t.Parallel()
	one := bedrocktest.AppendFrame(nil, "a", []byte(`{}`))
	src := io.MultiReader(bytes.NewReader(append(append(bytes.Clone(one), one...), one[:20]...)), bytes.NewReader(one[20:]))
	r := bedrock.NewReader(src, bound)
	for i, want := range []bool{true, false, false} {
		if _, err := r.Next(); err != nil || r.Buffered() != want {
			t.Errorf("behind frame %d: %v, another one %v, want %v", i, err, r.Buffered(), want)
		}
	}
}

// TestBrokenFrames checks that every flipped bit and every missing byte is found, without a wait for more data.
func TestBrokenFrames(t *testing.T) {
	t.Parallel()
	frame := bedrocktest.AppendFrame(nil, "contentBlockDelta", []byte(`{"delta":{"text":"Hello"}}`))
	for i := range len(frame) * 8 {
		b := bytes.Clone(frame)
		b[i/8] ^= 1 << (i % 8)
		if got, err := readAll(bytes.NewReader(b), bound); !errors.Is(err, bedrock.ErrChecksum) {
			t.Fatalf("bit %d turned: %q, %v, want %v", i, got, err, bedrock.ErrChecksum)
		}
	}
	for n := 1; n < len(frame); n++ {
		if got, err := readAll(bytes.NewReader(frame[:n]), bound); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) > 0 {
			t.Fatalf("cut at %d: %q, %v, want %v", n, got, err, io.ErrUnexpectedEOF)
		}
	}
	if _, err := readAll(bytes.NewReader(frame), len(frame)-1); !errors.Is(err, bedrock.ErrTooLong) {
		t.Errorf("an additional byte: %v", err)
	}
	if _, err := readAll(bytes.NewReader(frame), len(frame)); err != nil {
		t.Errorf("as long as may be: %v", err)
	}
	if _, err := readAll(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(frame))), bound); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := readAll(silent{}, bound); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader without data: %v", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// seal corrects both checksums of a frame, whatever else is wrong with it.
func seal(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame[8:], crc32.ChecksumIEEE(frame[:8]))
	n := len(frame) - 4
	binary.BigEndian.PutUint32(frame[n:], crc32.ChecksumIEEE(frame[:n]))
	return frame
}

// TestAbsurdFrames checks that impossible lengths with valid checksums are found, and cost no memory.
func TestAbsurdFrames(t *testing.T) { // not parallel: it counts allocations
	made := func(total, headers uint32, rest string) []byte {
		b := make([]byte, 12, 64)
		binary.BigEndian.PutUint32(b, total)
		binary.BigEndian.PutUint32(b[4:], headers)
		return seal(append(append(b, rest...), 0, 0, 0, 0))
	}
	for _, tt := range []struct {
		name  string
		frame []byte
		want  error
	}{
		{"no length", made(0, 0, ""), bedrock.ErrLength},
		{"less than its own frame", made(15, 0, ""), bedrock.ErrLength},
		{"headers beyond the frame", made(20, 5, "abcd"), bedrock.ErrLength},
		{"headers of 4 GB", made(20, 1<<32-1, "abcd"), bedrock.ErrLength},
		{"4 GB", made(1<<32-1, 0, ""), bedrock.ErrTooLong},
		{"more than there is", made(bound, 0, ""), io.ErrUnexpectedEOF},
		{"a header without a type", made(18, 2, "\x01a"), bedrock.ErrHeaders},
		{"a header's name beyond", made(18, 2, "\x09a"), bedrock.ErrHeaders},
		{"a header's value beyond", made(19, 3, "\x01a\x07"), bedrock.ErrHeaders},
		{"a header's text beyond", made(21, 5, "\x01a\x07\x00\x05"), bedrock.ErrHeaders},
		{"a header of no type", made(19, 3, "\x01a\x0a"), bedrock.ErrHeaders},
	} {
		var err error
		if n := testing.AllocsPerRun(1, func() { _, err = readAll(bytes.NewReader(tt.frame), bound) }); !errors.Is(err, tt.want) || n > 10 {
			t.Errorf("%s: %v after %v allocations, want %v", tt.name, err, n, tt.want)
		}
	}
}

// FuzzFrames checks that no bytes make the reader panic, and that it reads the same as the vendor's decoder.
func FuzzFrames(f *testing.F) {
	b := bedrocktest.AppendFrame(bedrocktest.AppendFrame(nil, "a", []byte(`{}`)), "bException", nil)
	f.Add(b)
	f.Add(encode(f, eventstream.Message{Headers: eventstream.Headers{text(":message-type", "error")}}))
	f.Add(b[:40])
	f.Fuzz(func(t *testing.T, in []byte) {
		worktest.Check(t, in, func(in []byte) { _, _ = readAll(bytes.NewReader(in), 8<<20) })
		got, err := readAll(iotest.OneByteReader(bytes.NewReader(in)), bound)
		whole, wholeErr := readAll(bytes.NewReader(in), bound)
		if diff := cmp.Diff(got, whole); diff != "" || !errors.Is(err, wholeErr) {
			t.Fatalf("byte by byte and whole differ: %v, %v\n%s", err, wholeErr, diff)
		}
		src, vendor := bytes.NewReader(in), eventstream.NewDecoder()
		for i, ev := range got {
			m, err := vendor.Decode(src, nil)
			if err != nil || ev.Name != "error" && string(m.Payload) != ev.Data {
				t.Fatalf("frame %d: the vendor's decoder returns %v, %q; want %q", i, err, m.Payload, ev.Data)
			}
		}
	})
}

// TestFramesAtRandom flips bits of frames in all ways that one seed finds.
func TestFramesAtRandom(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	good, _ := stream()
	for range 2000 {
		b := bytes.Clone(good)
		for range 1 + random.IntN(3) {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		if got, err := readAll(bytes.NewReader(b), bound); err == nil && !bytes.Equal(b, good) {
			t.Fatalf("%d frames of a broken stream, and no error", len(got))
		}
	}
}
