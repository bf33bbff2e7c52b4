package provider_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/worktest"
)

// TestSmallExchangeAllocations checks the allocation budget of a small exchange, from the call to the whole reply in
// memory.
func TestSmallExchangeAllocations(t *testing.T) { // not parallel: it counts the allocations of the process
	const budget = 8
	worktest.NotRaced(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		reply, buf := []byte(smallReply()), make([]byte, 4<<10)
		for err == nil { // every request arrives in one write
			if _, err = c.Read(buf); err == nil {
				_, err = c.Write(reply)
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
	p := newProvider(t, provider.Options{BaseURL: "http://" + ln.Addr().String()})
	t.Cleanup(func() {
		p.Close()
		_ = ln.Close()
		wg.Wait()
	})
	got := testing.AllocsPerRun(500, func() {
		if _, f := exchange(t.Context(), p, chat(false)); f != nil {
			t.Error(f)
		}
	})
	t.Logf("got %v allocations", got)
	if got > budget {
		t.Errorf("got %v allocations, want at most %d", got, budget)
	}
}

// smallReply returns the answer of a small chat.
func smallReply() string {
	body := `{"id":"chatcmpl-1","object":"chat.completion","created":1763640000,"model":"small","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"` + strings.Repeat("some words ", 30) + `"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":12,"completion_tokens":60,"total_tokens":72}}`
	return fmt.Sprintf("HTTP/1.1 200 OK\r\ndate: Fri, 20 Nov 2026 12:00:00 GMT\r\nserver: uvicorn\r\n"+
		"content-length: %d\r\ncontent-type: application/json\r\n\r\n%s", len(body), body)
}
