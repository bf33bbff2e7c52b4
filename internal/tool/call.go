package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/contentlog"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/ratelimit"
	"weir/internal/rawjson"
	"weir/internal/telemetry"
	"weir/internal/tracing"
)

// CodeFailed is the error code in the ledger of a call whose result says that the tool failed. The call itself is
// complete, and costs as any other.
const CodeFailed llm.Code = "TOOL_ERROR"

// maxArguments bounds the arguments of a call, in bytes.
const maxArguments = 4 << 20

// Call is one call of a tool.
type Call struct {
	Caller
	Tool      *Tool           // by List or Find; by FindPrompt or FindResource with Method
	Arguments json.RawMessage // an object; nil for none
	Meta      json.RawMessage // _meta of the client's request; nil for none
	Rest      json.RawMessage // other members of the client's params, as an object; nil for none
	// Method is empty for a call of a tool. Otherwise it is another method, with the client's Params.
	Method      string
	Params      json.RawMessage
	Attribution llm.Attribution
	// Request is the id of the client's request, and N the number of its attempt, from 1.
	Request uuid.UUID
	N       uint16
	// Arrived is when the client's request arrived, by the ledger's clock.
	Arrived time.Time
	// Admitted reports that the client's request is admitted by the rate limits and counted already: the call is a step
	// of its answer.
	Admitted bool
	Notify   func(text []byte) error // see mcp.Request
	// Ask and Abilities are for requests of the server: see mcp.Request.
	Ask       mcp.Ask
	Abilities string
	Client    string           // id of the client's session, which has the abilities
	Span      *tracing.Request // of the client's request; nil without traces
}

// Result is the result of a call.
type Result struct {
	JSON    json.RawMessage // as the server wrote it
	IsError bool            // the tool failed, as the result says
	Cost    *llm.Money      // nil if it is unknown
	Charge  *llm.Money      // the account's; nil if it is unknown
}

// Call calls a tool. Nothing is sent before the limits and budgets admit the call and the ledger has its record. After
// that there is a result with the cost, even if there is an error. The error is a *mcp.RPCError of the server, or has
// an *llm.Error for the client.
func (s *Service) Call(ctx context.Context, c *Call) (*Result, error) {
	if len(c.Arguments) > maxArguments || len(c.Params) > maxArguments {
		return nil, llm.Errorf(llm.CodeRequestTooLarge, "The arguments have more than %d bytes.", maxArguments)
	}
	var limited ratelimit.Reservation
	if !c.Admitted {
		caller := ratelimit.CallerOf(c.Principal)
		caller.Parts = c.Principal.PartLimits(&c.Attribution)
		if err := s.o.Limits.Reserve(ctx, &limited, caller, 0); err != nil {
			return nil, s.refused(c, err)
		}
	}
	defer limited.Settle(0)
	if err := s.connected(ctx, c); err != nil {
		return nil, err
	}
	record := s.record(c)
	if err := s.afford(ctx, c, &record); err != nil {
		return nil, s.refused(c, err)
	}
	hold, err := s.o.Ledger.Open(record)
	if err != nil {
		record.Reservation.Release()
		return nil, err
	}
	began := s.o.Now()
	capture := s.capture(c)
	of := c.Tool.source
	span := c.Span.ToolCall(hold.Attempt(), &tracing.ToolCall{Address: of.Client.URL, Revision: of.client.Revision()})
	text, err := s.send(ctx, c, hold, span)
	settlement := s.settlement(c, &record, text, err, s.o.Now().Sub(began))
	settlement.Sizes = ledger.Sizes{Arguments: int64(len(c.Arguments) + len(c.Params)), Result: int64(len(text))}
	cost, settleErr := hold.Settle(settlement) // an error is logged there, and the client gets its result
	_ = settleErr
	span.End(&settlement, cost, hold.Charge())
	s.count(c, hold, &settlement, cost, span.ID())
	if err == nil {
		capture.JSON(text)
	}
	capture.End()
	return &Result{JSON: text, IsError: err == nil && mcp.IsError(text), Cost: cost, Charge: charge(hold)}, err
}

// connected returns an error unless the caller has the access that the server of the tool needs.
func (s *Service) connected(ctx context.Context, c *Call) error {
	of := c.Tool.source
	if of.Connection == nil || s.o.Connections == nil {
		return nil
	}
	if of.PerPerson && c.person() == "" {
		return llm.Errorf(llm.CodeForbidden, "The MCP server %q needs the access of a person, and this API key "+
			"belongs to none. Use a key that a person has created and nobody else has rotated.", of.Name)
	}
	_, err := of.Client.Tokens.Token(ctx, c.person())
	return err
}

// person returns whose access the call needs: see mcp.Request. A key acts for a person only in its own account.
func (c *Call) person() string {
	person := c.Principal.Key().Person
	if !c.Tool.source.PerPerson || person == "" {
		return ""
	}
	return person + " " + c.Principal.Account().ID
}

// session names the callers that share a session of the server. A client that the server may ask has one of its own.
func (c *Call) session() string {
	session := cmp.Or(c.person(), c.Principal.Account().ID)
	if c.Abilities != "" {
		session += " " + c.Principal.Key().ID + " " + c.Client
	}
	return session
}

// charge returns the charge of a settled call; nil if it is unknown. A tool without any price is free.
func charge(h *ledger.Hold) *llm.Money {
	if a := h.Attempt(); !a.Price.Known() && !a.Terms.Own() && !a.BillByProvider {
		return new(llm.Money(0))
	}
	return h.Charge()
}

// refused reports an error of a limit or a budget.
func (s *Service) refused(c *Call, err error) error {
	e := llm.AsError(err)
	if e.Code == llm.CodeRateLimited || e.Code == llm.CodeBudgetExceeded {
		s.o.Refused(c.Principal, e)
	}
	return err
}

// record returns the ledger's record of the call.
func (s *Service) record(c *Call) ledger.Attempt {
	of := c.Tool.source
	a := ledger.Attempt{
		ID:      ledger.AttemptID{Request: c.Request, N: c.N},
		Account: c.Principal.Account().ID, Key: c.Principal.Key().ID,
		Requested: Prefix + of.Name + "/" + c.model(), Provider: Prefix + of.Name, Model: c.model(),
		Opened: s.o.Ledger.Now().UTC().Truncate(time.Microsecond), Arrived: c.Arrived,
		Attribution: c.Attribution, Parts: c.Principal.Parts(&c.Attribution),
		BillByProvider: of.CostMember != "",
	}
	a.Price = s.o.Price(a.Provider, a.Model, c.Arrived)
	a.Bound = usage(&a.Price, of.client.Timeout())
	a.Hold = min(llm.MaxCost, a.Price.Bound(&a.Bound))
	if of.CostMember != "" {
		a.Hold = max(a.Hold, of.CostAtMost)
	}
	if a.Terms = c.Principal.Terms(a.Provider, a.Model, c.Arrived); a.Terms != nil {
		a.ChargeHold = a.Terms.Bound(a.Hold, &a.Price, &a.Bound, "")
	}
	return a
}

// usage returns the usage of a call of that duration: one request, and the time if the price charges for it.
func usage(p *llm.Price, took time.Duration) (u llm.Usage) {
	u[llm.Requests] = 1
	if p.Rates[llm.Milliseconds].Known() {
		u[llm.Milliseconds] = max(1, took.Milliseconds())
	}
	return u
}

// afford reserves the most that the call can cost in the caller's budgets.
func (s *Service) afford(ctx context.Context, c *Call, a *ledger.Attempt) (err error) {
	budgets := c.Principal.Budgets(&c.Attribution)
	if len(budgets) == 0 {
		return nil
	}
	if c.isTool() && !a.Price.Known() && !a.Terms.Own() && !a.BillByProvider {
		return llm.Errorf(llm.CodeForbidden, "The tool %q has no price, and this account or key has a budget.",
			c.Tool.Name)
	}
	most := max(a.MostCharged(), 0)
	a.Reservation, err = s.o.Ledger.Reserve(ctx, ledger.Need{Need: budget.Need{
		Account: a.Account, Key: a.Key, Budgets: budgets, At: c.Arrived, Least: most, Most: most,
	}})
	return err
}

// send sends the call.
func (s *Service) send(ctx context.Context, c *Call, hold *ledger.Hold, span *tracing.Attempt) (
	json.RawMessage, error,
) {
	trace := ""
	if c.Tool.source.TraceContext {
		trace = span.Header().Get("Traceparent")
	}
	if !c.isTool() {
		r := c.request()
		r.Hold, r.Trace = hold, trace
		return c.Tool.source.client.Do(ctx, r)
	}
	return c.Tool.source.client.CallTool(ctx, &mcp.Call{
		Tool: &c.Tool.entry.tool, Arguments: c.Arguments, Meta: c.Meta, Rest: c.Rest, Hold: hold,
		Session: c.session(), Person: c.person(), Notify: c.Notify, Trace: trace,
		Ask: c.Ask, Abilities: c.Abilities,
	})
}

// settlement returns how the call ended.
func (s *Service) settlement(c *Call, a *ledger.Attempt, text []byte, err error, took time.Duration) ledger.Settlement {
	// A call may end after its timeout: some time later if the client is slow to take notifications.
	used := usage(&a.Price, min(took, c.Tool.source.client.Timeout()))
	e := ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Usage: used, Counts: !c.Admitted,
		Duration: max(took, time.Microsecond),
	}
	var failure *mcp.Failure
	var protocol *mcp.RPCError
	switch {
	case err == nil:
		e.Finish, e.Status = llm.FinishStop, statusOK
		e.ProviderCost = c.Tool.source.reported(text)
		if mcp.IsError(text) {
			e.Code = CodeFailed
		}
		return e
	case errors.As(err, &protocol) && protocol.Refuses():
		e.Outcome, e.Usage, e.Code, e.Status = ledger.OutcomeRejected, llm.Usage{}, llm.CodeInvalidRequest, statusOK
		return e
	case protocol != nil:
		failure = &mcp.Failure{Sent: true, Status: statusOK, Err: &llm.Error{Code: llm.CodeProviderError}}
	case !errors.As(err, &failure): // nothing was sent
		e.Outcome, e.Usage, e.Code, e.Counts = ledger.OutcomeRefused, llm.Usage{}, llm.CodeInternal, false
		return e
	}
	e.Code, e.Status = failure.Err.Code, failure.Status
	switch {
	case !failure.Sent:
		e.Outcome, e.Usage = ledger.OutcomeRefused, llm.Usage{}
	case failure.Status > statusOK && failure.Status < http.StatusInternalServerError: // the server refused the call
		e.Outcome, e.Usage = ledger.OutcomeRejected, llm.Usage{}
	case failure.Gone:
		e.Outcome, e.Provenance, e.AtMost = ledger.OutcomeClientGone, ledger.Estimated, a.Hold
		e.Code = ledger.CodeClientGone
	default: // it may have run, also where a proxy answers in the server's place
		e.Outcome, e.Provenance, e.AtMost = ledger.OutcomeFailed, ledger.Estimated, a.Hold
	}
	return e
}

// statusOK is the HTTP status of answers.
const statusOK = http.StatusOK

// unbelievable replaces a reported cost that is none: a negative amount, or a text. The true cost is then unknown.
const unbelievable = llm.MaxCost + 1

// reported returns the cost in US dollars that a result's _meta reports; nil for none. A cost above CostAtMost is
// unbelievable, because budgets have not reserved it: the log has it.
func (s *source) reported(result []byte) *llm.Money {
	if s.CostMember == "" {
		return nil
	}
	v := rawjson.Get(result, "_meta", s.CostMember)
	if !rawjson.Present(v) {
		return nil
	}
	told := amount(v)
	if told > s.CostAtMost {
		const most = 100 // bytes of the value in the log
		s.log("an MCP server reports no cost up to cost_at_most, so the cost is unknown",
			fmt.Errorf("it reports %.*s, and cost_at_most is %s", most, v, s.CostAtMost))
		return new(unbelievable)
	}
	return &told
}

// amount returns an amount of US dollars; unbelievable for another value. Programs write numbers such as 1e-05 and
// 0.30000000000000004, which are rounded to the nano-dollar.
func amount(v []byte) llm.Money {
	text := string(v)
	if rawjson.KindOf(v) == rawjson.String {
		text = rawjson.Text(v)
	}
	if m, err := llm.ParseMoney(text); err == nil && m >= 0 {
		return m
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= float64(llm.MaxCost/llm.USD)) { // NaN is neither
		return unbelievable
	}
	return llm.Money(math.Round(f * float64(llm.USD)))
}

// count counts the call in the metrics.
func (s *Service) count(c *Call, h *ledger.Hold, e *ledger.Settlement, cost *llm.Money, trace string) {
	if s.o.Metrics == nil {
		return
	}
	of, key := c.Principal.Account(), c.Principal.Key()
	s.o.Metrics.Attempt(telemetry.Ended{Attempt: h.Attempt(), Caller: telemetry.Caller{
		Account: of.Name, Key: key.ID, KeyLabel: key.Label,
	}, Trace: trace}, e, cost)
	s.o.Metrics.ToolCall(c.Tool.Server, outcomeOf(e), e.Duration, e.Sizes.Arguments, e.Sizes.Result, trace)
}

// outcomeOf returns the outcome of a call for the metrics.
func outcomeOf(e *ledger.Settlement) telemetry.ToolOutcome {
	switch {
	case e.Code == CodeFailed:
		return telemetry.ToolError
	case e.Outcome == ledger.OutcomeOK:
		return telemetry.ToolOK
	case e.Code == llm.CodeProviderTimeout:
		return telemetry.ToolTimeout
	case e.Outcome == ledger.OutcomeRejected:
		return telemetry.ToolProtocol
	case e.Outcome == ledger.OutcomeRefused:
		return telemetry.ToolUnreachable
	case e.Outcome == ledger.OutcomeClientGone:
		return telemetry.ToolGone
	}
	return telemetry.ToolFailed
}

// capture begins to collect the content of a call; nil unless the account and the key have that switched on. The calls
// in a loop are in the content of the client's request.
func (s *Service) capture(c *Call) *contentlog.Capture {
	percent := c.Principal.ContentPercent()
	if percent == 0 || s.o.Content == nil || c.Admitted || !contentlog.Sampled(c.Request, percent) {
		return nil
	}
	body := rawjson.AppendString(rawjson.AppendName(nil, "tool"), c.Tool.Name)
	if c.Arguments != nil {
		body = rawjson.AppendMember(body, "arguments", c.Arguments)
	}
	if !c.isTool() {
		body = rawjson.AppendString(rawjson.AppendName(body, "method"), c.Method)
		body = rawjson.AppendMember(body, "params", c.Params)
	}
	of := contentlog.Request{ID: c.Request, Account: c.Principal.Account().ID, Key: c.Principal.Key().ID}
	return s.o.Content.Begin(of, append(body, '}'), false)
}
