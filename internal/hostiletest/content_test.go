//go:build linux

package hostiletest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	oneBody      = 4 << 20 // bytes
	mostOfOne    = 250 << 20
	longestOfOne = 1500 * time.Millisecond
	overLimit    = 100 * time.Millisecond
)

// filled returns a request of 4 MB that repeats one element in place of %s.
func filled(form, element string) string {
	list := strings.Repeat(element+",", oneBody/(len(element)+1)-1) + element
	return strings.Replace(strings.Replace(form, "%s", list, 1), "MODEL", "foreign/chat:tokens=4", 1)
}

// elements returns requests of 4 MB of one kind of element. The provider has another wire format, so that they have to
// be decoded.
func elements() map[string]string {
	const text = `{"type":"text","text":"x"}`
	of := func(message string) string { return `{"model":"MODEL","messages":[` + message + `]}` }
	return map[string]string{
		"tool_calls of numbers":        filled(of(`{"role":"assistant","content":"x","tool_calls":[%s]},{"role":"user","content":"x"}`), "0"),
		"tool_calls":                   filled(of(`{"role":"assistant","content":"x","tool_calls":[%s]},{"role":"user","content":"x"}`), `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`),
		"thinking":                     filled(of(`{"role":"assistant","content":[{"type":"thinking","thinking":[%s]}]},{"role":"user","content":"x"}`), text),
		"reasoning_details":            filled(of(`{"role":"assistant","content":"x","reasoning_details":[%s]},{"role":"user","content":"x"}`), `{"type":"reasoning.text","text":"x"}`),
		"parts":                        filled(of(`{"role":"user","content":[%s]}`), text),
		"messages":                     filled(of(`%s`), `{"role":"user","content":"x"}`),
		"tools":                        filled(`{"model":"MODEL","tools":[%s],"messages":[{"role":"user","content":"x"}]}`, `{"type":"function","function":{"name":"f"}}`),
		"numbers in a field of nobody": filled(`{"model":"MODEL","x":[%s],"messages":[{"role":"user","content":"x"}]}`, "0"),
		"images":                       filled(of(`{"role":"user","content":[%s]}`), `{"type":"image_url","image_url":{"url":"https://x/"}}`),
	}
}

// largeBody is a request of nearly the greatest size. It is built once, because copies of it would stop the good
// clients, which are in this process.
var largeBody = sync.OnceValue(func() string {
	return `{"model":"house/chat:tokens=4","messages":[{"role":"user","content":"` + strings.Repeat("x", long(30<<20, 1<<20)) + `"}]}`
})

func contentAttacks() []attack {
	decoded := func(name string, bodies ...string) attack {
		return attack{name: name, held: "alone 250 MB and 1.5 s of a core at most", hostile: func(a *attacker) {
			a.many(1, 50*time.Millisecond, func(i int) { a.post(chatPath, strings.NewReader(bodies[i%len(bodies)])) })
		}, alone: func(t *testing.T, a *attacker) {
			for i := range bodies[:long(len(bodies), 1)] {
				a.costs(t, strings.NewReader(bodies[i]), name, mostOfOne, longestOfOne)
			}
		}}
	}
	all := elements()
	var rest []string
	for _, name := range []string{"tool_calls", "parts", "messages", "tools", "numbers in a field of nobody", "images"} {
		rest = append(rest, all[name])
	}
	return []attack{
		decoded("4 MB of tool_calls", all["tool_calls of numbers"]),
		decoded("4 MB of thinking", all["thinking"]),
		decoded("4 MB of reasoning_details", all["reasoning_details"]),
		decoded("4 MB of any other element", rest...),
		{name: "counts of tokens", held: "text is counted in turns, account by account", check: only("200"), hostile: func(a *attacker) {
			body := `{"model":"house/chat","messages":[{"role":"user","content":"` + strings.Repeat("ab c ", 12_700) + `"}]}`
			a.many(25, time.Millisecond, func(int) { a.post(countPath, strings.NewReader(body)) })
		}},
		{name: "bodies of 30 MB at once", held: "one account has its share of memory; 503 beyond it", check: only("200", "503"), alone: func(t *testing.T, a *attacker) {
			a.resetPeak(t)
			var all sync.WaitGroup
			for range long(24, 2) {
				all.Go(func() { a.post(chatPath, strings.NewReader(largeBody())) })
			}
			all.Wait()
			if _, peak := a.memory(t); peak > mostMemory {
				t.Errorf("24 bodies of one account at once: %d MB, want at most %d", peak>>20, mostMemory>>20)
			}
		}, hostile: func(a *attacker) {
			a.many(1, 500*time.Millisecond, func(int) { a.post(chatPath, strings.NewReader(largeBody())) })
		}},
		{name: "4 MB with a key over its limit", held: "429; alone 0.1 s of a core at most", check: only("200", "400", "429"), alone: func(t *testing.T, a *attacker) {
			a.key = a.limited[0]
			a.post(chatPath, strings.NewReader(`{"model":"house/chat:tokens=4","messages":[{"role":"user","content":"x"}]}`))
			for name, body := range all {
				a.costs(t, strings.NewReader(body), name+" over the limit", mostOfOne, overLimit)
			}
		}, hostile: func(a *attacker) {
			a.key = a.limited[a.number]
			a.many(1, 50*time.Millisecond, func(int) { a.post(chatPath, strings.NewReader(all["thinking"])) })
		}},
		{name: "floods of large reports", held: "read in turns, one of an account at a time; 429 beyond 16 that wait", alone: useModels, meets: "429", check: only("200", "429"), hostile: func(a *attacker) {
			if a.number == 0 { // another account, whose key the gateway has not seen
				a.many(1, 20*time.Millisecond, func(int) {
					if status := a.ask(http.MethodGet, "/v1/uses?limit=1", http.NoBody); status != http.StatusOK && status != 0 {
						a.wrong("a report of another account: status %d, want 200", status)
					}
				})
				return
			}
			a.key = a.bad[1] // of one account
			path := fmt.Sprintf("/v1/uses?limit=1000&offset=%d", modelsUsed()*9/10)
			a.many(22, time.Millisecond, func(int) { a.ask(http.MethodGet, path, http.NoBody) })
		}},
		{name: "floods of Idempotency-Keys", held: "what is kept has a quota", check: only("200", "503"), hostile: func(a *attacker) {
			a.many(4, 5*time.Millisecond, func(i int) {
				a.post(chatPath, strings.NewReader(`{"model":"house/chat:tokens=500","messages":[{"role":"user","content":"x"}]}`), "Idempotency-Key", fmt.Sprintf("%p-%d", a, time.Now().UnixNano()))
			})
		}},
		{name: "kept responses, named again and again", held: "one account has its share of memory; 503 beyond it", lasts: strict(5*time.Second, 3*time.Second), check: only("200", "503"), hostile: func(a *attacker) {
			a.key = a.bad[0] // of one account
			a.post(responsesPath, strings.NewReader(`{"model":"house/chat:tokens=4","input":[{"type":"message","id":"msg_kept","role":"user","content":"`+strings.Repeat("x", long(8<<20, 1<<20))+`"}]}`))
			a.many(10, 10*time.Millisecond, func(int) {
				const named = `{"type":"item_reference","id":"msg_kept"}`
				a.post(responsesPath, strings.NewReader(`{"model":"house/chat:tokens=4","store":false,"input":[`+named+`,`+named+`,`+named+`]}`))
			})
		}},
		{name: "switches that change the shape of an answer", held: "400, no circuit opens", model: "shared", hostile: func(a *attacker) {
			a.many(2, 20*time.Millisecond, func(i int) {
				a.post(chatPath, strings.NewReader(`{"model":"bad/shared","deferred":true,"messages":[{"role":"user","content":"x"}]}`))
			})
		}, check: only("400")},
		{name: "failures that a request brings about", held: "502; a circuit opens for that account alone", model: "shared", hostile: func(a *attacker) {
			a.key = a.bad[0] // a failure that two accounts meet counts as the provider's
			a.many(4, time.Millisecond, func(i int) {
				a.post(chatPath, strings.NewReader(`{"model":"bad/shared","messages":[{"role":"user","content":"`+oddly+`"}]}`))
			})
		}, check: only("502", "503")},
		{name: "hosts of others (DNS rebinding)", held: "421", check: only("421"), hostile: func(a *attacker) {
			a.many(2, 10*time.Millisecond, func(i int) {
				r, err := http.NewRequestWithContext(a.ctx, http.MethodGet, a.url([]string{"/metrics", "/readyz?verbose"}[i%2]), nil)
				if err != nil {
					panic(err) // the address is one that answered
				}
				r.Host = "evil.example"
				if resp, err := a.transport.RoundTrip(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					a.count(resp.StatusCode)
				}
			})
		}},
	}
}

// modelsUsed returns the number of models that an account uses before it requests reports.
func modelsUsed() int { return long(10_000, 100) }

// useModels uses that many, each once.
func useModels(t *testing.T, a *attacker) {
	a.key = a.bad[1]
	var all sync.WaitGroup
	for side := range 20 {
		all.Go(func() {
			for i := side; i < modelsUsed(); i += 20 {
				body := fmt.Sprintf(`{"model":"house/%d/chat:tokens=1","messages":[{"role":"user","content":"x"}]}`, i)
				if status := a.ask(http.MethodPost, chatPath, strings.NewReader(body)); status != http.StatusOK {
					t.Errorf("model %d: status %d, want 200", i, status)
					return
				}
			}
		})
	}
	all.Wait()
}

// costs sends a request to an idle gateway, and bounds its memory and processor time.
func (a *attacker) costs(t *testing.T, body io.Reader, what string, bytes int64, processor time.Duration) {
	t.Helper()
	a.resetPeak(t)
	resident, _ := a.memory(t)
	began := a.processor(t)
	a.post(chatPath, body)
	used := a.processor(t) - began
	_, peak := a.memory(t)
	t.Logf("%s, alone: %d MB, %s of a core", what, (peak-resident)>>20, used)
	if more := peak - resident; more > bytes {
		t.Errorf("%s: %d MB more resident, want at most %d", what, more>>20, bytes>>20)
	}
	if *strictFlag && used > processor {
		t.Errorf("%s: %s of a core, want at most %s", what, used, processor)
	}
}
