package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	maxPieces  = 100_000
	maxDelay   = time.Minute
	replyBytes = 1100 // of a whole reply
)

// shape is what a model's name asks of a stream: "s50d10ms" is 50 pieces, 10 ms
// apart.
type shape struct {
	pieces int
	delay  time.Duration
}

// parseShape reads the name of a model, whatever stands before its last slash.
func parseShape(model string) (shape, error) {
	name := model[strings.LastIndexByte(model, '/')+1:]
	count, delay, ok := strings.Cut(strings.TrimPrefix(name, "s"), "d")
	n, err := strconv.Atoi(count)
	d, derr := time.ParseDuration(delay)
	if !ok || err != nil || derr != nil || name[0] != 's' || n < 1 || n > maxPieces || d < 0 || d > maxDelay {
		return shape{}, fmt.Errorf("the model %.40q names no stream: write s<pieces>d<delay> such as s50d10ms", model)
	}
	return shape{pieces: n, delay: d}, nil
}

const (
	// The head of a stream carries nothing that a real provider does not send.
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunkFront = `data: {"id":"chatcmpl-bench0123456789","object":"chat.completion.chunk","created":1760000000,"model":"bench","choices":`
	mockUsage  = `{"prompt_tokens":110,"completion_tokens":50,"total_tokens":160}`
)

// mockReplies are the bytes that the mock sends, made once.
type mockReplies struct {
	whole  []byte // head and body of a whole reply
	begin  []byte // head of a stream and its first event, which names the role
	piece  []byte // one piece, with room for the stamp
	stamp  int    // where that room is
	finish []byte
	usage  []byte
	done   []byte
}

func newMockReplies() *mockReplies {
	body := wholeBody()
	r := &mockReplies{
		whole:  fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		begin:  append([]byte(streamHead), chunk(choice(`{"role":"assistant","content":""}`, "null"))...),
		piece:  chunk(choice(`{"content":"t=`+strings.Repeat("0", stampDigits)+` "}`, "null")),
		finish: chunk(choice(`{}`, `"stop"`)),
		usage:  chunk(chunkFront + `[],"usage":` + mockUsage + "}\n\n"),
		done:   append(chunk("data: [DONE]\n\n"), "0\r\n\r\n"...),
	}
	r.stamp = bytes.Index(r.piece, stampMark) + len(stampMark)
	return r
}

func wholeBody() string {
	const front = `{"id":"chatcmpl-bench0123456789","object":"chat.completion","created":1760000000,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"`
	const back = `"},"finish_reason":"stop"}],"usage":` + mockUsage + "}"
	text := strings.Repeat("A weir measures a river without stopping it. ", replyBytes/40)
	return front + text[:replyBytes-len(front)-len(back)] + back
}

func choice(delta, finish string) string {
	return chunkFront + `[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

// chunk frames data for Transfer-Encoding: chunked.
func chunk(data string) []byte {
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data)
}
