package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
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
				return r.Requests > 0 && r.Requests < 200 && r.Seconds > 0.19 && r.Latency.P99 >= r.Latency.P50
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
				t.Errorf("load %v: got the inconsistent %+v", c.args, r)
			}
		})
	}
}

// TestLoadCountsFailures has streams refused, because the model name is not a shape, or ended too early.
func TestLoadCountsFailures(t *testing.T) {
	t.Parallel()
	addr := must.Get(loopback(startTestMock(t)))(t)
	for model, want := range map[string]string{"small": "status 400", "s3d0": "a stream of 3 pieces, not 4"} {
		// On a busy machine no answer may come in the first window.
		var r *loadResult
		for window := 30 * time.Millisecond; window < 30*time.Second; window *= 2 {
			o := &loadOptions{
				target: addr, clientAPI: "completions", model: model, stream: true, pieces: 4, conns: 1, duration: window,
			}
			got, err := o.run(t.Context())
			if err != nil {
				t.Fatalf("%s: got %v, want failures that are counted", model, err)
			}
			if r = got.(*loadResult); r.Requests+r.Failures > 0 {
				break
			}
		}
		if r.Requests != 0 || r.Failures == 0 || r.Failure != want {
			t.Errorf("%s: got %+v, want failures alone: %s", model, r, want)
		}
	}
}

func TestCommandRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"", "name a command: run, turns, frames, charts, mock, load, flood, seed, reports or pages"},
		{"walk", `unknown command "walk"`},
		{"load", "must be 127.0.0.1:PORT"},
		{"load --target 192.0.2.1:80", "must be 127.0.0.1:PORT"},
		{"mock --listen 0.0.0.0:80", "must be 127.0.0.1:PORT"},
		{"load --target 127.0.0.1:1 --api back", "not one of"},
		{"load --target 127.0.0.1:1 --conns 0", "--conns must be"},
		{"load --target 127.0.0.1:1 --duration 2m", "--duration must be"},
		{"load --target 127.0.0.1:1 --ramp 2m", "--warm and --ramp"},
		{"load --target 127.0.0.1:1 --rate -1", "--rate must be"},
		{"load --target 127.0.0.1:1 --stream --rate 1 --model s1d0", "exclude each other"},
		{"load --target 127.0.0.1:1 --stream", "does not describe a stream"},
		{"run now", `unexpected argument "now"`},
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
	for _, api := range clientAPIs() {
		for _, stream := range []bool{false, true} {
			o := loadOptions{clientAPI: api, model: "s1d0", stream: stream, key: "wk_x"}
			in := bufio.NewReader(bytes.NewReader(o.request()))
			h := must.Get(readHead(in))(t)
			body := must.Get(io.ReadAll(in))(t)
			if h.length != int64(len(body)) || !json.Valid(body) || len(body) < 390 || len(body) > 600 {
				t.Errorf("%s: got length %d and body %s, want JSON of about 500 bytes", api, h.length, body)
			}
		}
	}
}

func TestParseShape(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"s50d10ms", "house/s50d10ms", "a/b/s50d10ms"} {
		if n, d, err := parseShape(model); err != nil || n != 50 || d != 10*time.Millisecond {
			t.Errorf("parseShape(%q): got %d, %v, %v, want 50 and 10ms", model, n, d, err)
		}
	}
	for _, model := range []string{"", "small", "s0d0", "sd", "50d0", "s50", "s50d-1s", "s50d2h", "s9999999d0", "s50d0/"} {
		if n, d, err := parseShape(model); err == nil {
			t.Errorf("parseShape(%q): got %d and %v, want an error", model, n, d)
		}
	}
}

// TestMockSpeaksHTTP sends requests to the mock like any client.
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
		{`{"model":"small","stream":true}`, 400, 0, "does not describe a stream"},
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

func TestReadAnswers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nRetry-After: 1\r\n\r\nhello":                                     `200 true "hello" <nil>`,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nB;name=x\r\n, the weir.\r\n0\r\n\r\n": `200 false "hello, the weir." <nil>`,
		"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n":                                                            `503 false "" <nil>`,
		"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n":                                                            `0 false "" <nil>`,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n":                                              `200 false "" the answer has neither Content-Length nor chunks`,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nmore\r\n":                            `200 false "a" "more\r\n" follows the last chunk`,
	} {
		in, body := bufio.NewReader(iotest.OneByteReader(strings.NewReader(text))), []byte(nil)
		h := must.Get(readHead(in))(t)
		err := h.readBody(in, func(r io.Reader) (err error) { body, err = io.ReadAll(r); return err })
		if got := fmt.Sprintf("%d %v %q %v", h.status(), h.retry, body, err); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if h, err := readHead(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"))); err == nil {
		t.Errorf("a length below zero: got %+v, want an error", h)
	}
}

func TestReadPieces(t *testing.T) {
	t.Parallel()
	text := `{"content":"t=0000000000000000042 "}` + "\n" + `{"content":"t=12"}` + "\n\n" + `{"content":"t=1234567890123456789 "}` + "\n" +
		`{"type":"response.output_text.done","text":"t=1234567890123456789 t=1234567890123456799 "}`
	var got []int64
	must.Do(t, readPieces(iotest.OneByteReader(strings.NewReader(text)), func(at int64) { got = append(got, at) }))
	must.Equal(t, got, []int64{42, 1234567890123456789}, "times")
}

func TestSpreadOfDurations(t *testing.T) {
	t.Parallel()
	var d durations
	must.Equal(t, d.spread(), spread{}, "spread of nothing")
	for us := range 10_000 {
		d = append(d, time.Duration(10_000-us)*time.Microsecond)
	}
	must.Equal(t, d.spread(), spread{10_000, 5000, 9900, 10_000}, "spread")
}

// TestOpenLoop runs an open loop on a server that answers, refuses, or breaks off: every request is counted once, by
// its outcome.
func TestOpenLoop(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "2")
		switch {
		case r.URL.Path == "/broken":
			panic(http.ErrAbortHandler)
		case r.Header.Get("X-Weir-Priority") == "batch":
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	o := loadOptions{
		target: must.Get(loopback(strings.TrimPrefix(server.URL, "http://")))(t), clientAPI: "completions",
		open: true, rate: 400, batch: 0.5, conns: 64, duration: 500 * time.Millisecond,
	}
	r := must.Get(o.run(t.Context()))(t).(*openResult)
	i, b := r.Interactive, r.Batch
	if i.Sent < 40 || i.OK != i.Sent || i.Latency.Count != i.OK || r.LastRefusal != 0 {
		t.Errorf("interactive: got %+v, want about 100, all answered", i)
	}
	if b.Sent < 40 || b.Refused != b.Sent || r.Refusal.Count != b.Sent || r.Unsaid != 0 {
		t.Errorf("batch: got %+v of %+v, want about 100, all refused with Retry-After", b, r)
	}
	o.path, o.batch = "/broken", 0
	r = must.Get(o.run(t.Context()))(t).(*openResult)
	if i := r.Interactive; i.Sent == 0 || i.Failed != i.Sent || r.Failure == "" || r.LastRefusal == 0 {
		t.Errorf("a server that breaks off: got %+v, want all failed", r)
	}
}

// TestSecureLoad loads over TLS, on connections of their own and, by HTTP/2, on one.
func TestSecureLoad(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	must.Do(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	for _, http2 := range []string{"false", "true"} {
		r, err := runLoad(t, "--target", strings.TrimPrefix(server.URL, "https://"), "--ca", ca, "--http2="+http2, "--conns", "4", "--duration", "300ms")
		if err != nil || r.Requests == 0 || r.Failures > 0 {
			t.Errorf("HTTP/2 %s: got %+v, %v, want answers alone", http2, r, err)
		}
	}
}

func TestProcessFigures(t *testing.T) {
	t.Parallel()
	pid := os.Getpid()
	before := must.Get(cpuOf(pid))(t)
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; { // CPU time has to be used before it can be measured
	}
	after, err := cpuOf(pid)
	if err != nil || after <= before {
		t.Errorf("CPU time: got %v then %v, %v, want it to grow", before, after, err)
	}
	if got, err := residentOf(pid); err != nil || got < 1<<20 || got > 1<<32 {
		t.Errorf("resident memory: got %d, %v, want 1 MiB to 4 GiB", got, err)
	}
	if _, err := cpuOf(1 << 30); err == nil {
		t.Error("CPU time of a process that is not: got no error, want one")
	}
	if cores := must.Get(allowedCores())(t); len(cores) == 0 {
		t.Error("allowedCores: got none, want at least one")
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
