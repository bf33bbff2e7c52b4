// Package toolloop runs the tools of MCP servers for a model: it offers them to the model as functions, calls those
// that the model chooses, and asks the model again with their results, until it answers. A request names the servers
// by the operator's labels (https://developers.openai.com/api/docs/guides/tools-remote-mcp.md). Each request to a
// model passes through the whole pipeline, with its own limits, budgets and rows, and each call of a tool has its
// own, so that a loop never exceeds a budget.
package toolloop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/idempotency"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxRounds bounds the requests to models of one loop. The last one offers no tools.
	maxRounds = 16
	// maxCalls bounds the calls of tools of one loop.
	maxCalls = 64
	// maxTools bounds the tools of all servers of a request.
	maxTools = 512
	// maxServers bounds the servers of a request, and maxServer the bytes that describe one.
	maxServers, maxServer = 32, 64 << 10
	// maxTotal bounds the bytes of all answers and results of a loop.
	maxTotal = 32 << 20
	// copies is how often a loop holds each answer and result: for the model, and for the client.
	copies = 2
	// maxTime bounds a loop.
	maxTime = 10 * time.Minute
)

// Tool is a tool of a server that the caller may call.
type Tool struct {
	Name       string // as the server has it
	Definition []byte // as in tools/list, with description, inputSchema and annotations
	// Call calls the tool, as the attempt of that number. The model gets the text of an error, unless it could only
	// repeat the call. A call that failed after it was sent has a result with its charge.
	Call func(ctx context.Context, arguments []byte, n int) (*Result, error)
}

// Result is the result of a call.
type Result struct {
	JSON    []byte // as in tools/call
	IsError bool
	Charge  *llm.Money // nil if it is unknown
}

// Caller is the sender of a request.
type Caller struct {
	Principal   *account.Principal
	Token       string // the API key; empty for a request of the dashboard
	Attribution llm.Attribution
	Request     uuid.UUID
	Arrived     time.Time
}

// Options configures a Loop. All are required.
type Options struct {
	// Tools returns the tools of a server that the caller may call. The error is for the client.
	Tools func(ctx context.Context, c *Caller, server string) ([]Tool, error)
	// Once records the approvals that were used.
	Once idempotency.Store
	Now  func() time.Time
}

// Loop runs tools for models. Its methods may be called concurrently.
type Loop struct{ o Options }

// New returns a loop.
func New(o Options) *Loop { return &Loop{o} }

// Answer is a model's answer in the client's format.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Ask sends a request to a model, and returns the answer whole.
type Ask func(ctx context.Context, body []byte) (*Answer, error)

// Request is a request that offers tools of servers.
type Request struct {
	Caller
	Dialect string // of the client API
	Body    []byte
	Stream  bool
	Ask     Ask
	// Reserve reserves memory for bytes of answers and results until the request ends; nil to reserve none.
	Reserve func(bytes int64) error
	// Next returns the number of the next attempt in the ledger.
	Next func() int
}

// function is a tool under the name that the model knows.
type function struct {
	Tool
	label    string
	name     string
	approved bool // called without asking
}

// call is a model's call of a tool.
type call struct {
	of        *function
	id        string // by which the model knows the call
	item      string // id of the item for the client
	approval  string // id of the approval by which it is made; empty for none
	arguments []byte // the text
	output    string
	failed    bool
}

// run is one loop.
type run struct {
	loop      *Loop
	ctx       context.Context //nolint:containedctx // a run is one request
	request   *Request
	functions map[string]*function
	labels    []string
	made      int // calls
	ran       int // of these, those whose result the client has to get
	most      int // calls that the request permits
	read      int // bytes of answers and results
	usage     usage
	asked     bool  // a model has answered
	broken    error // an approved call could not be made, after others were; nil for none
	stream    stream
}

// functionName returns the name of a tool as a function. Names of functions have fewer characters than those of tools,
// and are shorter (https://platform.openai.com/docs/api-reference/chat/create, undated copy).
func functionName(label, tool string) string {
	const most = 64
	name := label + "__" + tool
	safe := strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, name)
	if safe == name && len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := hex.EncodeToString(sum[:5])
	return safe[:min(len(safe), most-1-len(digest))] + "_" + digest
}

// offer adds the tools of a server, those that its members allow. At is the place of the server in the request.
func (r *run) offer(at string, server []byte) ([]*function, error) {
	label, ok := rawjson.AsString(rawjson.Get(server, "server_label"))
	if !ok || label == "" {
		return nil, llm.Invalid(at+".server_label", "server_label must be the name of a configured MCP server.")
	}
	for _, name := range []string{"authorization", "headers"} {
		if rawjson.Present(rawjson.Get(server, name)) {
			return nil, llm.Invalidf(at+"."+name, "The gateway authenticates to the MCP server %q itself, and passes "+
				"no credentials of clients on. Leave %s out.", label, name)
		}
	}
	if err := checkServer(at, server); err != nil {
		return nil, err
	}
	allowed, approval := rawjson.Get(server, "allowed_tools"), rawjson.Get(server, "require_approval")
	if err := checkApproval(at, approval); err != nil {
		return nil, err
	}
	allows, approves := newFilter(allowed), newApprover(approval)
	return r.offerTools(at+".server_label", label, func(t *Tool) (bool, bool) {
		return allows == nil || allows.selects(t), approves(t)
	})
}

// checkServer bounds the description of a server.
func checkServer(at string, server []byte) error {
	if len(server) > maxServer {
		return llm.Invalidf(at, "The tool has more than %d bytes. Shorten its lists of tools.", maxServer)
	}
	return nil
}

// offerTools adds the tools of a server that choose selects, with whether they are called without asking. At is the
// place of the server's name in the request.
func (r *run) offerTools(at, label string, choose func(*Tool) (selected, approved bool)) ([]*function, error) {
	if r.labels = append(r.labels, label); len(r.labels) > maxServers {
		return nil, llm.Invalidf(at, "A request can offer at most %d MCP servers.", maxServers)
	}
	tools, err := r.loop.o.Tools(r.ctx, &r.request.Caller, label)
	if err != nil {
		if e := llm.AsError(err); e.Param == "" && e.Code.Status() < http.StatusInternalServerError {
			return nil, e.At(at)
		}
		return nil, err
	}
	var added []*function
	for _, t := range tools {
		selected, approved := choose(&t)
		if !selected {
			continue
		}
		f := &function{t, label, functionName(label, t.Name), approved}
		if _, twice := r.functions[f.name]; twice {
			continue
		}
		if len(r.functions) == maxTools {
			return nil, llm.Invalidf(at, "The servers of a request have more than %d tools. Select some by "+
				"allowed_tools.", maxTools)
		}
		r.functions[f.name] = f
		added = append(added, f)
	}
	return added, nil
}

// execute makes a call, and records its result.
func (r *run) execute(c *call) error {
	if r.made >= r.most {
		c.failed, c.output = true, "The call was not made: the request permits no more calls of tools."
		return nil
	}
	r.made++
	arguments := c.arguments
	if rawjson.Validate(arguments, maxDepth) != nil || rawjson.KindOf(arguments) != rawjson.Object {
		c.failed, c.output = true, "The call was not made: the arguments are not a JSON object."
		return nil
	}
	result, err := c.of.Call(r.ctx, arguments, r.request.Next())
	if result != nil {
		r.usage.addCost(result.Charge)
	}
	if err != nil {
		if r.ctx.Err() != nil {
			return err
		}
		e := llm.AsError(err)
		if e.Code == llm.CodeBudgetExceeded || e.Code == llm.CodeRateLimited || e.Code == llm.CodeOverloaded {
			return err // the model could only try again
		}
		c.failed, c.output = true, e.Message
		r.ran++
		return nil
	}
	r.ran++
	c.failed, c.output = result.IsError, textOf(result.JSON)
	if kind := rawjson.Text(rawjson.Get(result.JSON, "resultType")); kind != "" && kind != "complete" {
		c.failed, c.output = true, "The tool asks for input of a person, which a model cannot give."
	}
	return r.grow(len(c.output))
}

// grow counts bytes of answers and results.
func (r *run) grow(n int) error {
	if r.read += n; r.read > maxTotal {
		return llm.Errorf(llm.CodeProviderError, "The answers and the results of tools have more than %d bytes.",
			maxTotal)
	}
	if r.request.Reserve == nil {
		return nil
	}
	return r.request.Reserve(int64(n) * copies)
}

// maxDepth bounds the nesting of arguments.
const maxDepth = 100

// textOf returns the result of a tool as a text: its texts, and other content as JSON.
func textOf(result []byte) string {
	var parts []string
	for _, part := range rawjson.Elements(rawjson.Get(result, "content")) {
		if rawjson.Text(rawjson.Get(part, "type")) == "text" {
			parts = append(parts, rawjson.Text(rawjson.Get(part, "text")))
		} else {
			parts = append(parts, string(part))
		}
	}
	if structured := rawjson.Get(result, "structuredContent"); len(parts) == 0 && rawjson.Present(structured) {
		return string(structured)
	}
	return strings.Join(parts, "\n")
}
