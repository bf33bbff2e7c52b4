package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/mcp/stdio"
)

// role is the variable that makes the test binary a server, or a child of one.
const role = "WEIR_STDIO_ROLE"

func TestMain(m *testing.M) {
	switch as, rest, _ := strings.Cut(os.Getenv(role), " "); as {
	case "":
		os.Exit(m.Run())
	case "official":
		serveOfficial()
	case "child": // holds a connection, and the pipes
		connection, err := net.Dial("tcp", rest)
		if err == nil {
			_, _ = io.Copy(io.Discard, connection)
		}
	case "parent": // is killed
		c, err := mcp.New(mcp.Options{Name: "peer", Through: stdio.New(stdio.Options{
			Command: []string{os.Args[0]}, Env: []llm.Secret{llm.NewSecret(role + "=child " + rest)}, Log: slog.Default(),
		})})
		if err == nil {
			_, _ = c.ListTools(context.Background(), "")
		}
	case "failing":
		os.Exit(3)
	default:
		p := &peer{at: as, out: bufio.NewWriter(os.Stdout)}
		p.serve()
	}
}

// serveOfficial serves a tool by the official SDK.
func serveOfficial() {
	server := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "sum"}, func(_ context.Context, _ *sdk.CallToolRequest, in map[string]int) (*sdk.CallToolResult, any, error) {
		return nil, map[string]int{"sum": in["a"] + in["b"]}, nil
	})
	_ = server.Run(context.Background(), &sdk.StdioTransport{})
}

// peer is a server of revision 2025-11-25 that misbehaves on request. At says how it answers server/discover.
type peer struct {
	at           string
	out          *bufio.Writer
	begun, ready int // initialize and its notification
	declined     []string
	muted        int      // requests that are never answered
	cancelled    int      // of them
	held         *message // request that is answered later
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	Error  *struct{ Message string }
}

func (p *peer) serve() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		p.take(&m)
		_ = p.out.Flush()
	}
}

func (p *peer) take(m *message) {
	switch m.Method {
	case "":
		if m.Error != nil {
			p.declined = append(p.declined, m.Error.Message)
		}
	case "server/discover":
		switch p.at {
		case "exits":
			os.Exit(1)
		case "refuses":
			p.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.ID)
		case "ignores":
		}
	case "initialize":
		p.begun++
		p.answer(m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"peer","version":"1"}}`)
	case "notifications/initialized":
		p.ready++
	case "notifications/cancelled":
		p.cancelled++
	default:
		p.misbehave(m)
	}
}

func (p *peer) misbehave(m *message) {
	switch m.Method {
	case "test/state":
		p.answer(m, fmt.Sprintf(`{"pid":%d,"begun":%d,"ready":%d,"declined":%q,"muted":%d,"cancelled":%d,"environment":%q}`, os.Getpid(), p.begun, p.ready,
			strings.Join(p.declined, ","), p.muted, p.cancelled, strings.Join(os.Environ(), ",")))
	case "test/params":
		p.answer(m, string(m.Params))
	case "test/exit":
		os.Exit(1)
	case "test/closed":
		_ = os.Stdout.Close()
	case "test/endless":
		_ = p.out.Flush()
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	case "test/long":
		p.answer(m, `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
	case "test/unended":
		_, _ = fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		_ = p.out.Flush()
		os.Exit(0)
	case "test/stray":
		for i := range 100 {
			p.write(`{"jsonrpc":"2.0","id":%d,"result":{"stray":true}}`, 1_000_000+i)
			p.write(`no message %d`, i)
			p.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		}
		p.answer(m, `{}`)
	case "test/notify": // to a caller, about a line that is too long, and to nobody
		var of struct {
			Meta struct {
				ProgressToken json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &of)
		p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, of.Meta.ProgressToken)
		p.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}`, strings.Repeat("x", 40<<10))
		p.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":2}}`)
		p.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"one"}}`)
		p.answer(m, `{}`)
	case "test/flood":
		for i := range 500 {
			p.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%d}}`, i)
		}
		p.answer(m, `{}`)
	case "test/changed":
		p.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		p.write(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"doc://readme"}}`)
		p.answer(m, `{}`)
	case "test/half": // a message, and no result
		p.muted++
		p.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"half"}}`)
	case "test/hold":
		p.held = m
	case "test/release":
		if p.held != nil {
			p.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"held"}}`)
			p.answer(p.held, `{}`)
		}
		p.answer(m, `{}`)
	case "resources/subscribe":
		p.answer(m, `{}`)
	case "test/ask":
		p.write(`{"jsonrpc":"2.0","id":"a","method":"sampling/createMessage","params":{}}`)
		p.answer(m, `{}`)
	case "test/mute":
		p.muted++
	case "test/stderr":
		for range 5000 {
			_, _ = fmt.Fprintf(os.Stderr, "the token is %s\n", os.Getenv("TOKEN"))
		}
		p.answer(m, `{}`)
	case "test/fork":
		p.fork(m)
	}
}

// fork starts a child that holds a connection to the address in the params, and the pipes of the server.
func (p *peer) fork(m *message) {
	var at struct{ Address string }
	_ = json.Unmarshal(m.Params, &at)
	child := exec.CommandContext(context.Background(), os.Args[0])
	child.Env, child.Stdin, child.Stdout, child.Stderr = []string{role + "=child " + at.Address}, os.Stdin, os.Stdout, os.Stderr
	if child.Start() == nil {
		p.answer(m, `{}`)
	}
}

func (p *peer) answer(m *message, result string) {
	p.write(`{"jsonrpc":"2.0","result":%s,"id":%s}`, result, m.ID)
}

func (p *peer) write(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format+"\n", args...) }
