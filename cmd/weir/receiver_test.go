package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// received is a request to a receiver, a line of its file.
type received struct {
	Path, ID, Timestamp, Signatures, Body string
}

// receiver starts a receiver of webhooks on loopback, until the script ends. It writes its requests to a file, answers
// with the status in the path, and has its address in $HOOK: receiver hooks.jsonl.
func receiver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: receiver FILE")
	}
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	var turn sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // signed finds missing bytes
		h := r.Header
		turn.Lock()
		defer turn.Unlock()
		_ = json.NewEncoder(out).Encode(received{r.URL.Path, h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), h.Get("Webhook-Signature"), string(body)}) // signed finds a missing line
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.WriteHeader(max(status, http.StatusOK))
		if status >= http.StatusMultipleChoices {
			_, _ = io.WriteString(w, "no, \x1b[31mthank you\n") // the script checks that it arrived
		}
	}))
	ts.Defer(func() {
		server.Close()
		out.Close()
	})
	ts.Setenv("HOOK", server.URL)
}

// signed checks that the last request in a receiver's file is signed with a secret, by
// https://www.standardwebhooks.com, and has no signature of other secrets than the named ones: signed hooks.jsonl
// $SECRET $FORMER.
func signed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: signed FILE SECRET [SECRET]")
	}
	var last received
	for lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0]))); lines.Scan(); {
		last = received{}
		ts.Check(json.Unmarshal(lines.Bytes(), &last))
	}
	var want []string
	for _, secret := range args[1:] {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		ts.Check(err)
		mac := hmac.New(sha256.New, key)
		mac.Write(bytes.Join([][]byte{[]byte(last.ID), []byte(last.Timestamp), []byte(last.Body)}, []byte(".")))
		want = append(want, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if all := strings.Join(want, " "); last.Signatures != all {
		ts.Fatalf("%+v: got the signatures %q, want %q", last, last.Signatures, all)
	}
}
