//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
)

// toolPrice is the price of a call of a tool.
const toolPrice = llm.USD / 2

// toolServer is an MCP server with one tool, which remembers the numbers of its calls.
type toolServer struct {
	*httptest.Server

	mu  sync.Mutex
	ran map[int]int // by number, how often
}

func newToolServer(t *testing.T) *toolServer {
	t.Helper()
	s := &toolServer{ran: map[int]int{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	type input struct {
		N int `json:"n"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (
		*mcp.CallToolResult, any, error,
	) {
		s.mu.Lock()
		s.ran[in.N]++
		s.mu.Unlock()
		time.Sleep(time.Duration(in.N%20) * time.Millisecond) // a kill meets calls at each stage
		return nil, map[string]int{"n": in.N}, nil
	})
	s.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(s.Close)
	return s
}

func (s *toolServer) yaml(string) string {
	return fmt.Sprintf("drain_timeout: 2s\nmcp_servers:\n  shop: {url: %q, allow_private: true, tools: [pay]}\n"+
		"prices:\n  mcp.shop/pay: {request: \"0.5\"}\n", s.URL)
}

// calls returns how many calls ran, and how many of them more than once.
func (s *toolServer) calls() (n, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.ran {
		if times > 1 {
			twice++
		}
	}
	return len(s.ran), twice
}

// pay calls the tool. It returns the answer, and whether that is a result.
func (h *testGateway) pay(base, token string, n int) (answer string, ok bool) {
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shop__pay","arguments":{"n":%d}}}`, n)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+base+"/mcp", strings.NewReader(body))
	if err != nil {
		return err.Error(), false
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}, llm.TagsHeader: {"call=" + strconv.Itoa(n)},
	}
	resp, err := h.client.Do(r)
	if err != nil {
		return err.Error(), false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err == nil && strings.Contains(string(text), `"result"`)
}

// toolKey creates a key that may call tools.
func (h *testGateway) toolKey(account string) string {
	h.t.Helper()
	return strings.TrimSpace(string(h.run("keys", "create", "--account", account, "--label", "tools", "--permission", "tools")))
}

// TestPaidCallsSurviveKills kills the gateway while clients call a paid tool: each call that ran is in the ledger once,
// and no call runs twice. A journal that loses records is the negative control.
func TestPaidCallsSurviveKills(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{"Whole": "", "FindsLoss": "journal.skip_write:3"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := deadline(t)
			defer cancel()
			h := bareGateway(ctx, t, seed(), build(t))
			defer h.close()
			h.constant = fault
			s := newToolServer(t)
			h.env = []string{"WEIR_DATA=" + h.dir + "/data"}
			h.configure(s.yaml(""))
			h.run("accounts", "create", "buyer")
			lost := h.callUnderKills(s, h.toolKey("buyer"))
			if name == "Whole" && lost > 0 {
				t.Errorf("%d calls are not in the ledger exactly as they were", lost)
			}
			if name != "Whole" && lost == 0 {
				t.Error("a journal that loses records was not found out")
			}
		})
	}
}

// callUnderKills calls the tool over some lives, and returns the number of calls that the ledger does not have as they
// were.
func (h *testGateway) callUnderKills(s *toolServer, token string) (lost int) {
	h.t.Helper()
	const kills, workers = 4, 8
	var number atomic.Int64
	var answered sync.Map
	for life := range kills + 1 {
		process := h.serve(plan{})
		ready := h.awaitReady(process, h.gate)
		if ready.IsZero() {
			h.t.Fatalf("the gateway does not start; its output:\n%s", process.LastLines())
		}
		base := h.gate.pass(h.ctx)
		working, rest := context.WithCancel(h.ctx)
		var running sync.WaitGroup
		for range workers {
			running.Go(func() {
				for working.Err() == nil {
					n := int(number.Add(1))
					if answer, ok := h.pay(base, token, n); ok {
						answered.Store(n, answer)
					}
				}
			})
		}
		process.EndsWithin(between(h.rng, 200*time.Millisecond, 500*time.Millisecond))
		if life < kills {
			process.Kill()
		}
		rest()
		running.Wait()
		h.gate.shut()
		process.Kill()
		h.ended(process, atMoment, ready)
	}
	return h.unpaid(s, &answered)
}

// unpaid compares the ledger with the server's calls and the clients' answers.
func (h *testGateway) unpaid(s *toolServer, answered *sync.Map) (lost int) {
	h.t.Helper()
	fault := h.constant
	h.constant = ""
	process := h.serve(plan{})
	if h.awaitReady(process, h.gate).IsZero() {
		h.t.Fatalf("the gateway does not start for the last time; its output:\n%s", process.LastLines())
	}
	h.gate.shut()
	must.Do(h.t, process.Stop())
	all, verified := h.exported(), h.verify(h.command("ledger", "verify", "--json"))
	rows := map[int][]row{}
	for _, r := range all {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.tags, "call=")) // of a row without the tag: 0
		rows[n] = append(rows[n], r)
	}
	ran, twice := s.calls()
	for n := range s.ran {
		of := rows[n]
		_, ok := answered.Load(n)
		known := len(of) == 1 && of[0].outcome == ledger.OutcomeOK && of[0].cost == toolPrice
		bounded := len(of) == 1 && of[0].cost+of[0].atMost >= toolPrice
		if ok && !known || !bounded {
			if lost++; lost <= mostShown {
				h.t.Logf("call %d, answered %t: rows %+v", n, ok, of)
			}
		}
	}
	differences := len(verified.Differences)
	h.t.Logf("%d calls ran, %d of them twice, %d rows, %d lost, %d differences", ran, twice, len(all), lost, differences)
	if twice > 0 || ran < 50 || fault == "" && differences > 0 {
		h.t.Errorf("%d calls ran, %d of them twice, %d differences: want at least 50, and none", ran, twice, differences)
	}
	return lost
}

// testTools checks that a budget for few calls of a paid tool holds on three nodes, at first all alive, then with one
// that is killed.
func testTools(ctx context.Context, t *testing.T, bin string) {
	s := newToolServer(t)
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: s.yaml})
	defer f.close()
	const most = 40
	for _, kills := range []int{0, 1} {
		before, _ := s.calls()
		m := f.wealthy(fmt.Sprintf("buyer-%d", kills), most*toolPrice)
		token := f.toolKey(m.name)
		var clients sync.WaitGroup
		var results atomic.Int64
		for i := range theForm().racers {
			base := f.nodes[i%len(f.nodes)].base()
			clients.Go(func() {
				if _, ok := f.pay(base, token, kills*1_000_000+i); ok {
					results.Add(1)
				}
			})
		}
		if kills > 0 {
			f.nodes[f.rng.IntN(len(f.nodes))].restart()
		}
		clients.Wait()
		f.settled(&m)
		after, twice := s.calls()
		spent, peak := f.spent(&m), f.peak(m.account)
		t.Logf("%d kills: %d calls ran, %d results, spent $%s of $%s, at most $%s settled and held", kills, after-before, results.Load(), spent, most*toolPrice, peak)
		if after-before > most || spent > most*toolPrice || peak > most*toolPrice || twice > 0 || kills == 0 && after-before < most/2 {
			t.Errorf("%d kills: %d calls ran, %d twice, spent $%s, want at most %d calls, each once, for $%s", kills, after-before, twice, spent, most, most*toolPrice)
		}
	}
	f.awaitQuiet()
	f.stopAll()
	f.sound()
}
