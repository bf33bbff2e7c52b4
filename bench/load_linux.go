package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// keyVariable holds the API key, so that it does not appear in the list of processes.
const keyVariable = "BENCH_KEY"

// rivalKeyVariable holds the key for the rival, if it needs one.
const rivalKeyVariable = "BENCH_RIVAL_KEY"

// loadOptions configure one run of the load.
type loadOptions struct {
	target    netip.AddrPort
	clientAPI string // one of clientAPIs
	path      string // empty means the client API's path
	model     string
	asked     string // the model as requests name it; empty for house/MODEL
	key       string
	stream    bool
	pieces    int // in a whole stream
	conns     int
	ramp      time.Duration // time in which the connections are opened
	warm      time.Duration // time before the window
	duration  time.Duration // of the window
	rate      int           // requests a second; 0 means as many as possible
	open      bool          // sends at that rate on all connections, independently of the answers; else on one
	batch     float64       // share of requests with the priority batch, 0 to 1
	ca        string        // file of certificates for TLS; empty for plain HTTP
	http2     bool          // over TLS, on one connection
	pid       int           // process to measure CPU time and memory of; 0 for none
}

// loadResult holds the measurements of one run. All counts are of the window.
type loadResult struct {
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests"` // complete answers with status 200
	Failures int64   `json:"failures"` // other statuses, lost connections, short streams
	Failure  string  `json:"failure,omitempty"`
	Pieces   int64   `json:"pieces,omitempty"`
	// Answers counts Requests and those that ended between the window and the time when the process was idle again: the
	// CPU time covers these.
	Answers int64 `json:"answers"`
	// Open is the number of streams that had a piece before the window.
	Open      int     `json:"open,omitempty"`
	CPU       float64 `json:"cpu_seconds,omitempty"`
	RSSBefore int64   `json:"rss_before_bytes,omitempty"`
	RSSAfter  int64   `json:"rss_after_bytes,omitempty"`
	Latency   spread  `json:"latency"`
	First     spread  `json:"first_piece"` // from the request to the first piece
	Piece     spread  `json:"piece"`       // from the mock's write to its arrival
}

func loadCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := loadFlags(args, stderr)
	if err != nil {
		return err
	}
	result, err := o.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result)
}

func loadFlags(args []string, stderr io.Writer) (*loadOptions, error) {
	var o loadOptions
	fs := flag.NewFlagSet("bench load", flag.ContinueOnError)
	target := fs.String("target", "", "loopback `address` to load")
	fs.StringVar(&o.clientAPI, "api", "completions",
		"completions, chat (the native dialect), messages, responses or responses-unkept (store: false)")
	fs.StringVar(&o.path, "path", "", "path, if it differs from the API's own")
	fs.StringVar(&o.model, "model", "small", "model; with --stream its shape, such as s50d10ms")
	fs.BoolVar(&o.stream, "stream", false, "request streams")
	fs.IntVar(&o.conns, "conns", 64, fmt.Sprintf("keep-alive connections, 1 to %d", mostConns))
	fs.DurationVar(&o.ramp, "ramp", 0, "time in which the connections are opened")
	fs.DurationVar(&o.warm, "warm", 200*time.Millisecond, "time before the window")
	fs.DurationVar(&o.duration, "duration", 3*time.Second, "the window, 1ms to 1m")
	fs.IntVar(&o.rate, "rate", 0,
		"requests a second on one connection, to 10000; with --open on all, to 100000 (default as many as possible)")
	fs.BoolVar(&o.open, "open", false, "send at the rate, at random times, independently of the answers")
	fs.Float64Var(&o.batch, "batch", 0, "with --open, the share of requests with X-Weir-Priority: batch, 0 to 1")
	fs.StringVar(&o.ca, "ca", "", "`file` of certificates to trust: load over TLS")
	fs.BoolVar(&o.http2, "http2", false, "with --ca, all requests on one connection of HTTP/2")
	fs.IntVar(&o.pid, "pid", 0, "process to measure CPU time and memory of")
	if err := parse(fs, args, stderr); err != nil {
		return nil, err
	}
	o.key = os.Getenv(keyVariable)
	var err error
	if o.target, err = loopback(*target); err != nil {
		return nil, err
	}
	return &o, o.check()
}

func (o *loadOptions) check() error {
	var err error
	switch {
	case !slices.Contains(clientAPIs(), o.clientAPI):
		err = fmt.Errorf("--api is %q, not one of %q", o.clientAPI, clientAPIs())
	case o.ca != "" && (o.stream || o.rate > 0), o.ca == "" && o.http2:
		err = errors.New("--ca excludes --stream and --rate, and --http2 requires --ca")
	case o.conns < 1 || o.conns > mostConns:
		err = fmt.Errorf("--conns must be 1 to %d", mostConns)
	case o.duration < time.Millisecond || o.duration > time.Minute:
		err = errors.New("--duration must be 1ms to 1m")
	case o.warm < 0 || o.ramp < 0 || o.warm+o.ramp > time.Minute:
		err = errors.New("--warm and --ramp together must be at most 1m")
	case o.open && (o.rate < 1 || o.rate > 100_000 || o.stream):
		err = errors.New("--open requires a --rate of 1 to 100000 and excludes --stream")
	case o.batch < 0 || o.batch > 1:
		err = errors.New("--batch must be 0 to 1")
	case !o.open && (o.rate < 0 || o.rate > 10_000):
		err = errors.New("--rate must be at most 10000")
	case o.rate > 0 && o.stream:
		err = errors.New("--rate and --stream exclude each other")
	}
	if err == nil && o.stream {
		o.pieces, _, err = parseShape(o.model)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return nil
}

const (
	askSystem = "You answer in short and plain sentences, name your sources, and say so when you do not know."
	askUser   = "A weir is a low dam across a river that raises the level of the water a little and lets it flow " +
		"over the top. Explain to a curious child of ten how people measure the flow of a whole river with a weir, " +
		"and why the height of the water is enough to know it."
)

// clientAPIs returns the client APIs that can be loaded.
func clientAPIs() []string {
	return []string{"completions", "chat", "messages", "responses", "responses-unkept"}
}

const mostConns = 16_384

// ask returns the request that a run repeats.
func (o *loadOptions) ask() (path string, header http.Header, body []byte) {
	header = http.Header{"User-Agent": {"bench"}, "Content-Type": {"application/json"}}
	if o.key != "" {
		header.Set("Authorization", "Bearer "+o.key)
	}
	shape, extra := `"messages":[{"role":"system","content":%q},{"role":"user","content":%q}]`, ""
	if o.stream {
		extra = `,"stream":true`
	}
	switch o.clientAPI {
	case "chat":
		path, extra = "/v1/chat", ""
		shape = strings.ReplaceAll(shape, "content", "prompt")
		if o.stream {
			header.Set("Accept", "text/event-stream")
		}
	case "messages":
		path, shape = "/v1/messages", `"system":%q,"messages":[{"role":"user","content":%q}],"max_tokens":1000`
	case "responses", "responses-unkept":
		path, shape = "/v1/responses", `"instructions":%q,"input":%q`
		if o.clientAPI == "responses-unkept" {
			extra += `,"store":false`
		}
	default:
		path = "/v1/chat/completions"
		if o.stream {
			extra += `,"stream_options":{"include_usage":true}`
		}
	}
	if o.path != "" {
		path = o.path
	}
	body = fmt.Appendf(nil, `{"model":%q,`+shape+`%s}`, cmp.Or(o.asked, "house/"+o.model), askSystem, askUser, extra)
	return path, header, body
}

// request returns the same as bytes, head and body.
func (o *loadOptions) request() []byte {
	path, header, body := o.ask()
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", path, o.target)
	_ = header.Write(&b) // a write to memory
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.Bytes()
}
