package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
)

// startTestMock serves the mock until the test ends.
func startTestMock(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serveMock(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serveMock: got %v, want nil", err)
		}
	})
	return l.Addr().String()
}

func runLoad(t *testing.T, args ...string) (*loadResult, error) {
	t.Helper()
	var out, said strings.Builder
	if err := dispatch(t.Context(), append([]string{"load"}, args...), &out, &said); err != nil {
		return nil, err
	}
	var r loadResult
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("load %v: got %q: %v", args, out.String(), err)
	}
	return &r, nil
}

func TestLoadOnMock(t *testing.T) {
	t.Parallel()
	addr := startTestMock(t)
	for _, c := range []struct {
		name string
		args []string
		fits func(*loadResult) bool
	}{
		{
			"closed loop",
			[]string{"--conns", "4", "--duration", "1s", "--warm", "10ms"},
			func(r *loadResult) bool { return r.Requests > 0 && r.Answers >= r.Requests && r.Latency.P50 > 0 },
		},
		{
			"native API",
			[]string{"--api", "chat", "--conns", "1", "--duration", "1s"},
			func(r *loadResult) bool { return r.Requests > 0 },
		},
		{
			"paced",
			[]string{"--rate", "200", "--duration", "200ms", "--warm", "10ms"},
			func(r *loadResult) bool {
				return r.Requests == 40 && r.Seconds > 0.19 && r.Latency.P99 >= r.Latency.P50
			},
		},
		{
			"streams",
			[]string{"--stream", "--model", "s50d0", "--conns", "3", "--duration", "1s"},
			func(r *loadResult) bool {
				return r.Requests > 0 && r.Pieces >= 25*r.Requests && r.First.P50 > 0 && r.Piece.P50 > 0
			},
		},
		{
			"held streams",
			[]string{"--stream", "--model", "s600d1s", "--conns", "20", "--ramp", "20ms", "--duration", "50ms"},
			func(r *loadResult) bool { return r.Open == 20 && r.Requests == 0 },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := runLoad(t, append(c.args, "--target", addr)...)
			if err != nil {
				t.Fatalf("load %v: got %v", c.args, err)
			}
			if r.Failures != 0 || !c.fits(r) {
				t.Errorf("load %v: got %+v, which does not fit", c.args, r)
			}
		})
	}
}

func TestLoadCountsFailures(t *testing.T) {
	t.Parallel()
	addr := startTestMock(t)
	// The mock refuses a stream of a model that names no shape, and closes.
	o := &loadOptions{clientAPI: "completions", model: "small", stream: true, pieces: 1, conns: 1, duration: 50 * time.Millisecond}
	var err error
	if o.target, err = loopback(addr); err != nil {
		t.Fatal(err)
	}
	r, err := runLoop(t.Context(), o)
	switch {
	case err != nil && !strings.Contains(err.Error(), "over 1000 failures"):
		t.Errorf("refused streams: got %v, want failures counted", err)
	case err == nil && (r.Failures == 0 || r.Requests != 0 || r.Failure == ""):
		t.Errorf("refused streams: got %+v, want failures alone", r)
	}
}

func TestLoadWantsWholeStreams(t *testing.T) {
	t.Parallel()
	addr := startTestMock(t)
	o := &loadOptions{clientAPI: "completions", model: "s3d0", stream: true, pieces: 4, conns: 1, duration: 20 * time.Millisecond}
	var err error
	if o.target, err = loopback(addr); err != nil {
		t.Fatal(err)
	}
	r, err := runLoop(t.Context(), o)
	switch {
	case err != nil && !strings.Contains(err.Error(), "a stream of 3 pieces, not 4"):
		t.Errorf("streams that lack a piece: got %v", err)
	case err == nil && (r.Requests != 0 || r.Failure != "a stream of 3 pieces, not 4"):
		t.Errorf("streams that lack a piece: got %+v, want failures alone", r)
	}
}

func TestCommandRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"", "say run, charts, mock, load, seed or reports"},
		{"walk", `there is no "walk"`},
		{"load", "must be 127.0.0.1:PORT"},
		{"load --target 192.0.2.1:80", "must be 127.0.0.1:PORT"},
		{"mock --listen 0.0.0.0:80", "must be 127.0.0.1:PORT"},
		{"load --target 127.0.0.1:1 --api back", "not one of"},
		{"load --target 127.0.0.1:1 --conns 0", "--conns must be"},
		{"load --target 127.0.0.1:1 --duration 2m", "--duration must be"},
		{"load --target 127.0.0.1:1 --ramp 2m", "--warm and --ramp"},
		{"load --target 127.0.0.1:1 --rate -1", "--rate must be"},
		{"load --target 127.0.0.1:1 --stream --rate 1 --model s1d0", "exclude each other"},
		{"load --target 127.0.0.1:1 --stream", "names no stream"},
		{"run now", `"now" is too much`},
	} {
		var out, said strings.Builder
		err := dispatch(t.Context(), strings.Fields(c.line), &out, &said)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("bench %s: got %v, want wrong usage with %q", c.line, err, c.want)
		}
	}
}

func TestRequestBodies(t *testing.T) {
	t.Parallel()
	for _, o := range []loadOptions{
		{clientAPI: "chat", model: "small", key: "wk_x"},
		{clientAPI: "chat", model: "s1d0", stream: true},
		{clientAPI: "completions", model: "small"},
		{clientAPI: "completions", model: "s1d0", stream: true, path: "/stream/v1/chat/completions"},
	} {
		head, body, _ := bytes.Cut(o.request(), headEnd)
		length, err := contentLength(head)
		if err != nil || length != len(body) || !json.Valid(body) {
			t.Errorf("request of %+v: got length %d (%v) and body %s, want %d and JSON", o, length, err, body, len(body))
		}
		if len(body) < 400 || len(body) > 600 {
			t.Errorf("request of %+v: got a body of %d bytes, want about 500", o, len(body))
		}
		if got := modelOf(body); got != "house/"+o.model {
			t.Errorf("model of %s: got %q, want house/%s", body, got, o.model)
		}
	}
}

func TestParseShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model string
		want  shape
	}{
		{"s50d0", shape{50, 0}},
		{"house/s600d1s", shape{600, time.Second}},
		{"a/b/s1d10ms", shape{1, 10 * time.Millisecond}},
	} {
		if got, err := parseShape(c.model); err != nil || got != c.want {
			t.Errorf("parseShape(%q): got %v, %v, want %v", c.model, got, err, c.want)
		}
	}
	for _, model := range []string{"", "small", "s0d0", "sd", "50d0", "s50", "s50d-1s", "s50d2h", "s9999999d0", "s50d0/"} {
		if got, err := parseShape(model); err == nil {
			t.Errorf("parseShape(%q): got %v, want an error", model, got)
		}
	}
}

// TestMockSpeaksHTTP asks the mock as any client would.
func TestMockSpeaksHTTP(t *testing.T) {
	t.Parallel()
	addr := startTestMock(t)
	for _, c := range []struct {
		body   string
		status int
		size   int
		want   string
	}{
		{`{"model":"small"}`, 200, replyBytes, `"usage":{"prompt_tokens":110`},
		{`{"model":"s2d1ms","stream":true}`, 200, 0, "data: [DONE]\n\n"},
		{`{"model":"small","stream":true}`, 400, 0, "names no stream"},
		{strings.Repeat("x", 10<<10), 200, replyBytes, `"object":"chat.completion"`},
		{strings.Repeat("x", maxRequest+1), 400, 0, "at most 65536"},
	} {
		resp, err := http.Post("http://"+addr+"/v1/chat/completions", "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Errorf("%.40s: %v", c.body, err)
			continue
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(got), c.want) || c.size > 0 && len(got) != c.size {
			t.Errorf("%.40s: got %d, %d bytes, %v: %s\nwant %d with %q", c.body, resp.StatusCode, len(got), err, got, c.status, c.want)
		}
	}
}

func FuzzRequestReader(f *testing.F) {
	f.Add([]byte("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := requestReader{conn: bytes.NewReader(text), buf: make([]byte, 16)}
		total := 0
		for {
			body, err := r.next()
			if err != nil {
				break
			}
			total += len(body) + len(headEnd)
		}
		if total > len(text) {
			t.Errorf("%q: got %d bytes of requests, want at most %d", text, total, len(text))
		}
	})
}

func TestProcessFigures(t *testing.T) {
	t.Parallel()
	pid := os.Getpid()
	before := must.Get(cpuOf(pid))(t)
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; { // CPU time has to be used to be seen
	}
	after, err := cpuOf(pid)
	if err != nil || after <= before {
		t.Errorf("CPU time: got %v then %v, %v, want it to grow", before, after, err)
	}
	ticks, err := ticksOf(pid)
	if err != nil || ticks > after+time.Second || ticks < before-time.Second {
		t.Errorf("CPU time in ticks: got %v, %v, want about %v", ticks, err, after)
	}
	if got, err := residentOf(pid); err != nil || got < 1<<20 || got > 1<<32 {
		t.Errorf("resident memory: got %d, %v, want 1 MiB to 4 GiB", got, err)
	}
	if _, err := cpuOf(1 << 30); err == nil {
		t.Error("CPU time of a process that is not: got no error, want one")
	}
}

func TestAllowedCores(t *testing.T) {
	t.Parallel()
	cores, err := allowedCores()
	if err != nil || len(cores) == 0 {
		t.Fatalf("allowedCores: got %v, %v, want at least one", cores, err)
	}
}

func TestMeterResults(t *testing.T) {
	t.Parallel()
	got := meterResults("goos: linux\nBenchmarkMeter/batched         \t  120000\t      4591 ns/op\t     512 B/op\t      3 allocs/op\n" +
		"BenchmarkMeter/batched-2 \t 1\t 4000.5 ns/op\nBenchmarkMeter/strict\t 9\t 13780 ns/op\nPASS\n")
	want := map[string][]float64{"batched": {4.591, 4.0005}, "strict": {13.78}}
	must.Equal(t, got, want, "meterResults")
}

func TestFirstKey(t *testing.T) {
	t.Parallel()
	key := "wk_" + strings.Repeat("aZ", 20) + "012345"
	file := t.TempDir() + "/log"
	for _, c := range []struct{ text, want string }{
		{"listening on http://127.0.0.1:" + strconv.Itoa(1) + "\n", ""},
		{"Your first API key, shown this once:\n  " + key + "\n", key},
	} {
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
		if got := firstKey(file); got != c.want {
			t.Errorf("firstKey of %q: got %q, want %q", c.text, got, c.want)
		}
	}
	if got := firstKey(file + ".not"); got != "" {
		t.Errorf("firstKey of no file: got %q, want none", got)
	}
}
