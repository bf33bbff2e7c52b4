package vocabularytest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"testing"

	"weir/internal/must"
)

// question holds a question to count.mjs: to list all tokens, to count a text, or to count a request.
type question struct {
	Tokens bool     `json:"tokens,omitempty"`
	Text   string   `json:"text"`
	In     []string `json:"in,omitempty"`
	Body   string   `json:"body,omitempty"`
}

// answer holds its answer.
type answer struct {
	Lists      map[string][]string `json:"lists"`
	Counts     map[string]int64    `json:"counts"`
	Renderings []rendering         `json:"renderings"`
}

// rendering holds a request in one template, and one vocabulary.
type rendering struct {
	By, In         string
	Tokens, Around int64
}

// longestAnswer bounds a line of Node's: the lists of all tokens have some megabytes.
const longestAnswer = 64 << 20

// counter is a Node that counts.
type counter struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startCounter(t *testing.T) *counter {
	t.Helper()
	node := exec.CommandContext(context.WithoutCancel(t.Context()), "node", "count.mjs")
	node.Stderr = t.Output()
	in := must.Get(node.StdinPipe())(t)
	out := must.Get(node.StdoutPipe())(t)
	must.Do(t, node.Start())
	t.Cleanup(func() {
		_ = in.Close()
		if err := node.Wait(); err != nil {
			t.Errorf("node count.mjs: %v", err)
		}
		t.Logf("node took %v of processor time", node.ProcessState.UserTime())
	})
	c := &counter{in: in, out: bufio.NewScanner(out)}
	c.out.Buffer(nil, longestAnswer)
	return c
}

// ask has all questions answered, in their order.
func (c *counter) ask(t *testing.T, questions []question) []answer {
	t.Helper()
	asked := make(chan error, 1)
	go func() {
		to := json.NewEncoder(c.in)
		for i := range questions {
			if err := to.Encode(questions[i]); err != nil {
				asked <- err
				return
			}
		}
		asked <- nil
	}()
	answers := make([]answer, len(questions))
	for i := range answers {
		if !c.out.Scan() {
			t.Fatalf("node gave %d answers to %d questions: %v", i, len(questions), c.out.Err())
		}
		must.Do(t, json.Unmarshal(c.out.Bytes(), &answers[i]))
	}
	must.Do(t, <-asked)
	return answers
}
